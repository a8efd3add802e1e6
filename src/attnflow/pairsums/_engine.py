"""The contract of engines of sums over pairs: the problem that one is chosen by, and its inputs."""

import abc
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..engines import AbstractEngine, Choice, choose
from ._pairs import AbstractPairs, Full
from ._reductions import Hardmax, Sums
from ._scores import Projected

# Roughly, by docs/speed.md, what one pair costs XLA, and our kernel for this processor.
XLA_PAIR = {"cpu": 1e-9, "gpu": 1e-11}
NATIVE_PAIR = 0.4e-9
# From here on n-by-m arrays leave the caches, and tiles are at least as fast.
DENSE_PAIRS = 1024 * 1024


class Accuracy(NamedTuple):
    """How exact the sums of a run must be: their errors move tokens for a time `span`, by at most `tolerance`.

    `weights` are those of the tokens (`None`: equal), `V` is the matrix of values (`None`: the identity).
    """

    span: Any
    tolerance: Any
    weights: Float[Array, " m"] | None
    V: Float[Array, "p d"] | None


@dataclass(frozen=True)
class Problem:
    """One sum over pairs, or those of a run, as data.

    - `n`, `m`, `d`, `p`: how many queries and keys, the dimension of tokens, the width of the values; `width` is the
      dimension of queries and keys after the projection of the score.
    - `score`, `pairs`, `reduction`, `selection`: what is summed. No score: `model` does not say, and each of its sums
      chooses for itself.
    - `exact`: errors must be as small as rounding. Otherwise `accuracy` says how small, or the user vouches for it.
    - `constant`: parameters do not change with time. `unit`: tokens are known to be unit vectors, or may be.
    - `devices`: how many may share the queries. `partitioned`: XLA cuts the cloud into parts for a mesh of devices.
    """

    n: int
    m: int
    d: int
    p: int
    width: int
    dtype: Any
    score: Any
    reduction: Any = None
    selection: Hardmax | None = None
    pairs: AbstractPairs = field(default_factory=Full)
    model: str = ""
    exact: bool = True
    accuracy: Accuracy | None = None
    constant: bool = True
    unit: bool = True
    devices: int = 1
    partitioned: bool = False
    backend: str = field(default_factory=jax.default_backend)

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return self.n * self.m

    @property
    def small(self) -> bool:
        """Whether all pairs may be in memory at once."""
        return self.count <= DENSE_PAIRS

    @property
    def xla_seconds(self) -> float:
        """Roughly, what XLA takes for the sum by its better engine."""
        return self.count * XLA_PAIR.get(self.backend, XLA_PAIR["gpu"])

    @property
    def exponential(self) -> bool:
        """Whether the weights are exponentials of the score, of all keys."""
        return self.reduction.exponential and self.selection is None

    @property
    def summed(self) -> tuple[Any, AbstractPairs, Any, Hardmax | None]:
        """The parts that hold arrays: score, pairs, reduction and selection."""
        return self.score, self.pairs, self.reduction, self.selection

    def summing(self, score: Any, pairs: AbstractPairs, reduction: Any, selection: Hardmax | None) -> "Problem":
        """The problem with what is `summed` in the form of a transformation."""
        return replace(self, score=score, pairs=pairs, reduction=reduction, selection=selection)

    @property
    def silent(self) -> str:
        """Why a model that does not declare its sums is refused."""
        return f"{self.model} does not say what it sums"


class Inputs(NamedTuple):
    """The arrays of a sum; `tile` is what the score makes of the tokens, `log_w=None` counts every key once.

    The queries of the tile may be a part of those that the problem describes: their numbers are `rows`, else in order.
    """

    x: Float[Array, "n d"]
    y: Float[Array, "m e"]
    tile: Projected
    values: Float[Array, "m p"]
    log_w: Float[Array, " m"] | None
    rows: Int[Array, " r"] | None = None

    @property
    def numbers(self) -> Int[Array, " r"]:
        """The numbers of the queries."""
        return jnp.arange(self.tile.queries.shape[0]) if self.rows is None else self.rows


class AbstractPairSumEngine(AbstractEngine):
    """An engine of `pair_sums(..., kernel=)`: `run(problem, inputs)` returns `(num, log_z)`, as the reduction ends."""

    kind = "pair-sum engine"
    argument = "kernel"
    noun = "sums"
    looks_at_pairs = True  # it takes time in proportion to them
    on_all_devices = False  # `simulate` puts what it is given on all devices

    @abc.abstractmethod
    def run(self, problem: Problem, inputs: Inputs, /) -> Sums: ...


def choose_sums(problem: Problem, kernel: Any = "auto") -> Choice:
    """The engine for a sum over pairs.

    A user who names an engine vouches for its accuracy, unless the problem states one, and for its partition by XLA.
    """
    if not (isinstance(kernel, str) and kernel == "auto"):
        problem = replace(problem, exact=False, partitioned=False)
    return choose("pair-sum engine", problem, kernel)
