"""The contract of engines of trajectories: the problem that one is chosen by, and its inputs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..engines import AbstractEngine
from ..models import AbstractModel
from ..pairsums import DENSE_PAIRS
from ._force_shape import traced_force
from .steps import State

# Up to this dimension, elementwise products over the innermost axis, and sums by the kernel for this processor, beat
# batched matrix products.
FEW_DIMENSIONS = 8
# From so many tokens on they fill the vectors of that kernel: for whole trajectories, and for single sums.
TRAJECTORY_TOKENS, SUM_TOKENS = 8, 16
# Bytes that the pairs of a chunk may take: a quarter of the second-level cache of one core.
CHUNK_BYTES = 1 << 18
# Bytes of observed values that a portion may take.
PORTION_BYTES = 1 << 26
# Roughly, by docs/speed.md, what a pair of one realisation costs in batched products.
BATCHED_PAIR = 1e-9


@dataclass(frozen=True)
class Ensemble:
    """The trajectories of an ensemble, as data.

    `x0` and `w` are the tokens (only their shape and dtype matter) and weights of one realisation. `known`: no
    transformation, such as a derivative, is tracing the values.
    """

    model: AbstractModel
    x0: Float[Array, "n d"]
    w: Float[Array, " n"] | None = None
    known: bool = True
    backend: str = field(default_factory=jax.default_backend)

    @property
    def n(self) -> int:
        return self.x0.shape[0]

    @property
    def d(self) -> int:
        return self.x0.shape[1]

    @property
    def dtype(self) -> Any:
        return self.x0.dtype

    @property
    def itemsize(self) -> int:
        return jnp.dtype(self.dtype).itemsize

    @property
    def batched_seconds(self) -> float:
        """Roughly, for one step of one realisation, by batched products."""
        return self.n**2 * BATCHED_PAIR

    @property
    def sums_fill_vectors(self) -> bool:
        """Whether the clouds are such that the kernel for this processor sums them well one by one."""
        return self.d <= FEW_DIMENSIONS and self.n >= SUM_TOKENS

    def summed_by(self, kernel: str) -> bool:
        """Whether the forces of the model are summed by a kernel, by default."""
        names = traced_force("auto", self.model, 0.0, self.x0, self.w, None).engines
        return names is not None and kernel in names.split("+")


class Interval(NamedTuple):
    """The integration of a chunk of realisations from one observation to the next: `steps` steps of size `h`."""

    model: Any
    h: Float[Array, ""]
    steps: Array
    w: Float[Array, " n"] | None
    solver: str
    advance: Callable[[Array, State], State]  # step `k`, by operations of XLA


class AbstractTrajectoryEngine(AbstractEngine):
    """An engine of `ensemble(..., engine=)`: `run(interval, state)` returns the state at the end of the interval.

    A state is what the steps in `steps.py` carry, `(x, nearest points)`, realisations first, or last where they are
    `innermost`.
    """

    kind = "trajectory engine"
    argument = "engine"
    noun = "ensemble"
    innermost = False

    def kernel(self, problem: Ensemble) -> str:
        """The engine of the pair sums where single steps are taken."""
        if problem.sums_fill_vectors:
            return "auto"
        return "dense" if problem.n**2 <= DENSE_PAIRS else "blocked"

    def chunk(self, problem: Ensemble, realizations: int) -> int:
        """How many realisations go together: as many as keep their tokens in the cache."""
        return int(np.clip(CHUNK_BYTES // (problem.n * problem.d * problem.itemsize), 1, realizations))

    def run(self, problem: Interval, inputs: State, /) -> State:
        return jax.lax.fori_loop(0, problem.steps, problem.advance, inputs)
