"""The network that `interpolate` returns: a list of blocks that can be called, traced, verified and saved."""

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import flag
from ...errors import InputError
from ...spaces import Number, Numbers
from ._arithmetic import RATIONALS, Arithmetic
from ._blocks import Block
from ._cloud import Cloud, gathered
from ._data import Sequences, problem, sequence, sequences
from ._json import read, written
from ._report import InterpolationReport, counts, largest_distance, plateau
from ._softmax import SoftmaxThreshold, softmax_threshold


@dataclass(frozen=True, eq=False, repr=False)
class InterpolatingTransformer:
    """A transformer with explicit weights, and the data it was built for.

    `network(x)` maps a sequence `(n, d)`; the result has a token for each one given, in the same order. With a finite
    `beta` attention is a softmax. A list of sequences gives a list. The blocks are in `blocks`, each with a
    `feed_forward` (`eta`, `U`, `b`, `W`), an `attention` (`rho`, `Q`, `K`, `V` as `multiple`, `left`, `right`; or
    `None`, the identity) and the `role` it plays.
    """

    blocks: list[Block]
    arithmetic: Arithmetic
    inputs: list[np.ndarray] | None = None
    outputs: list[np.ndarray] | None = None
    kappa: float | None = None
    isolation: float | None = None

    @property
    def d(self) -> int:
        """The dimension of tokens."""
        return self.blocks[0].feed_forward.W.shape[0]

    def __call__(self, x: Sequences, beta: Number = math.inf) -> Any:
        """The image of one sequence `(n, d)`, or of a list of them, in one pass."""
        many = _many(x)
        given = self._checked(x if many else [x])
        cloud = self._run(gathered(given), _temperature(beta, self.arithmetic))
        images = np.split(cloud.x[cloud.back], np.cumsum([len(one) for one in given])[:-1])
        return images if many else images[0]

    def trace(self, x: Numbers, beta: Number = math.inf) -> np.ndarray:
        """The states of one sequence `(n, d)` before, between and after the blocks: `(L + 1, n, d)`."""
        cloud, beta = gathered(self._checked([x])), _temperature(beta, self.arithmetic)
        states = [cloud.x[cloud.back]]
        for block in self.blocks:
            cloud = block(cloud, beta)
            states.append(cloud.x[cloud.back])
        return np.stack(states)

    def verify(
        self, inputs: Sequences | None = None, outputs: Sequences | None = None, beta: Number = math.inf
    ) -> InterpolationReport:
        """Run the network on the data it was built for, or on those given, and compare with what is wanted."""
        x, y = self._data(inputs, outputs)
        known = problem(x, y)
        error = largest_distance(self._run(known.cloud, _temperature(beta, self.arithmetic)), known.outputs)
        size = max(abs(one).max() for one in known.outputs)
        N, M = len(known.outputs), sum(map(len, known.outputs))
        parameters = sum(block.parameters for block in self.blocks)
        return InterpolationReport(
            error=error,
            relative_error=error / size if size > 0 else error,
            sequences=N,
            points=M,
            blocks=len(self.blocks),
            bound=2 * M + 2 * N + 1,
            roles=counts(self.blocks),
            parameters=parameters,
            per_point=parameters / (self.d * M),
            kappa=self.kappa,
            isolation=self.isolation,
            plateau=plateau(self.blocks),
        )

    def softmax(
        self, tol: float = 1e-9, inputs: Sequences | None = None, outputs: Sequences | None = None
    ) -> SoftmaxThreshold:
        """From which `beta` on softmax attention interpolates, too: a sufficient bound, and by bisection.

        On the data the network was built for, or on those given, as in `verify`.
        """
        if self.arithmetic.exact:
            raise InputError("a network of fractions has no softmax; build it with exact=False.")
        known = problem(*self._data(inputs, outputs))
        return softmax_threshold(self.blocks, known.cloud, known.outputs, tol)

    def save(self, path: str | os.PathLike, *, data: bool = True) -> None:
        """Write the network as JSON, to the last digit, with the data it was built for (`data=False`: without)."""
        known = {"kappa": self.kappa, "isolation": self.isolation}
        if flag("data", data):
            known |= {"inputs": self.inputs, "outputs": self.outputs}
        written(path, self.blocks, self.arithmetic, known)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "InterpolatingTransformer":
        """Read what `save` wrote: a network that does all that the first one did."""
        return cls(*read(path))

    def __repr__(self) -> str:
        return f"InterpolatingTransformer: {len(self.blocks)} blocks in R^{self.d}, {self.arithmetic.name}"

    def _run(self, cloud: Cloud, beta: float) -> Cloud:
        for block in self.blocks:
            cloud = block(cloud, beta)
        return cloud

    def _checked(self, xs: Any) -> list[np.ndarray]:
        checked = [sequence(f"x[{j}]" if len(xs) > 1 else "x", x, self.arithmetic) for j, x in enumerate(xs)]
        for x in checked:
            self._check_dimension("x", x)
        return checked

    def _check_dimension(self, name: str, x: np.ndarray) -> None:
        if x.shape[1] != self.d:
            raise InputError(f"{name} has dimension {x.shape[1]} and the network {self.d}; give tokens as rows (n, d).")

    def _data(self, inputs: Any, outputs: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
        if (inputs is None) != (outputs is None):
            raise InputError("inputs or outputs alone cannot be verified; give both, or none.")
        if inputs is not None:
            x, y = (sequences(*named, self.arithmetic) for named in (("inputs", inputs), ("outputs", outputs)))
            self._check_dimension("inputs[0]", x[0])
            return x, y
        if self.inputs is None or self.outputs is None:
            raise InputError("this network was saved without its data; give inputs and outputs.")
        return self.inputs, self.outputs


def _many(x: Any) -> bool:
    """Whether this is a list of sequences, and not one sequence."""
    if isinstance(x, (list, tuple)) and len(x) > 0:
        first = x[0]
        return getattr(first, "ndim", 0) == 2 or (isinstance(first, (list, tuple)) and any(map(np.iterable, first)))
    return getattr(x, "ndim", 0) == 3


def _temperature(beta: Any, arithmetic: Arithmetic) -> float:
    try:
        value = float(beta)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"beta = {beta!r} is no number; take a number >= 0, or infinity for hardmax.") from None
    if not value >= 0:
        raise InputError(f"beta = {beta!r}; take a number >= 0, or infinity for hardmax.")
    if arithmetic is RATIONALS and value < math.inf:
        raise InputError("a network of fractions has no softmax; build it with exact=False.")
    return value
