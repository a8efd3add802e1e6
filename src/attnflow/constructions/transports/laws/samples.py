"""A law known by points alone."""

from typing import NamedTuple, final

import numpy as np

from ....errors import InputError
from ....spaces import Numbers
from ...schedules.checked import doubles
from .law import AbstractLaw

LEAST = 50  # points for each dimension


class Shares(NamedTuple):
    """Points to fit, to choose between fits, and to judge the one that was chosen; none belongs to two of them."""

    fit: "Samples"
    choose: "Samples"
    judge: "Samples"


@final
class Samples(AbstractLaw):
    """The law that points `(n, d)` were drawn from, independently; its density is not known.

    `draw` takes them again, with repetitions.
    """

    def __init__(self, x: Numbers):
        given = doubles("samples", x)
        given = given[:, None] if given.ndim == 1 else given
        if given.ndim != 2 or 0 in given.shape:
            raise InputError(f"samples have shape {given.shape}; give points as rows (n, d), at least one.")
        self.x: np.ndarray = given

    @property
    def d(self) -> int:
        return self.x.shape[1]

    @property
    def n(self) -> int:
        """How many points are known."""
        return len(self.x)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.x[rng.integers(self.n, size=n)]

    def shares(self, rng: np.random.Generator) -> Shares:
        """Three fifths to fit, a fifth to choose, a fifth to judge, in an order drawn by `rng`."""
        if self.n < LEAST * self.d:
            raise InputError(f"{self.n} samples are too few in dimension {self.d}; give at least {LEAST * self.d}.")
        order = rng.permutation(self.n)
        first, second = 3 * self.n // 5, 4 * self.n // 5
        return Shares(*(Samples(self.x[part]) for part in np.split(order, [first, second])))

    def __repr__(self) -> str:
        return f"Samples: {self.n} points of R^{self.d}"
