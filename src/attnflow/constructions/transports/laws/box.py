r"""Laws on a box: the uniform one, and densities that are constant on the cells of a grid."""

from collections.abc import Sequence
from functools import cached_property
from typing import final

import numpy as np

from ....errors import InputError
from ....spaces import Count, Numbers
from ...schedules.checked import doubles, points, vector
from .law import AbstractLaw, Box
from .line import Line
from .tail import COMPACT, Tails


class AbstractBoxLaw(AbstractLaw):
    """A law that lives on a box, `_box`."""

    _box: Box

    @property
    def d(self) -> int:
        return len(self._box.low)

    @property
    def box(self) -> Box:
        return self._box

    @property
    def tails(self) -> Tails:
        return Tails(COMPACT, COMPACT)


@final
class UniformBox(AbstractBoxLaw):
    r"""The uniform law on $\{\text{low} \le x \le \text{high}\}$, by default the unit square."""

    def __init__(self, low: Numbers = (0.0, 0.0), high: Numbers = (1.0, 1.0)):
        self._box = checked_box(low, high)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(*self._box, size=(n, self.d))

    def log_density(self, x: Numbers) -> np.ndarray:
        """The log density at points `(n, d)`, minus infinity outside."""
        return np.where(self._box.contains(points("x", x, self.d)), -np.log(self._box.sides).sum(), -np.inf)

    @property
    def line(self) -> Line | None:
        if self.d > 1:
            return None
        low, side = self._box.low[0], self._box.sides[0]
        return Line(
            log_density=lambda y: self.log_density(y[:, None]),
            cdf=lambda y: np.clip((y - low) / side, 0, 1),
            sf=lambda y: np.clip((low + side - y) / side, 0, 1),
            quantile=lambda p: low + p * side,
            upper_quantile=lambda p: low + side - p * side,
            score=np.zeros_like,
        )

    def __repr__(self) -> str:
        return f"UniformBox({self._box.low.tolist()}, {self._box.high.tolist()})"


@final
class GridDensity(AbstractBoxLaw):
    r"""A law on a box that is uniform on every cell of a grid: `weights (n_1, ..., n_d)`, divided by their sum.

    The first axis belongs to the first coordinate.
    """

    def __init__(self, weights: Numbers, low: Numbers = (0.0, 0.0), high: Numbers = (1.0, 1.0)):
        self._box = checked_box(low, high)
        p = doubles("weights", weights)
        if p.ndim != self.d or not p.size or (p < 0).any() or not p.sum() > 0:
            raise InputError(
                f"weights have shape {p.shape} and the sum {p.sum():g} and the box has {self.d} sides; give one axis "
                "for each side, and weights that are not negative, not all zero."
            )
        self.weights = p / p.sum()

    @cached_property
    def cell_sides(self) -> np.ndarray:
        """The lengths of the sides of a cell."""
        return self._box.sides / self.weights.shape

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        cells = rng.choice(self.weights.size, n, p=self.weights.ravel())
        corner = np.stack(np.unravel_index(cells, self.weights.shape), axis=1)
        return self._box.low + (corner + rng.uniform(size=(n, self.d))) * self.cell_sides

    def log_density(self, x: Numbers) -> np.ndarray:
        """The log density at points `(n, d)`, minus infinity outside and on empty cells."""
        x = points("x", x, self.d)
        cell = np.floor((x - self._box.low) / self.cell_sides).astype(int)
        inside = self._box.contains(x)
        cell = np.where(inside[:, None], np.minimum(cell, np.array(self.weights.shape) - 1), 0)
        with np.errstate(divide="ignore"):
            known = np.log(self.weights[tuple(cell.T)]) - np.log(self.cell_sides).sum()
        return np.where(inside, known, -np.inf)

    def __repr__(self) -> str:
        return f"GridDensity: {' x '.join(map(str, self.weights.shape))} cells on {self._box.low} to {self._box.high}"


def checked_box(low: Numbers | Sequence[Count], high: Numbers | Sequence[Count]) -> Box:
    """A box with sides longer than zero."""
    box = Box(vector("low", low), vector("high", high))
    if box.low.shape != box.high.shape or (box.sides <= 0).any():
        raise InputError(f"the box from {box.low.tolist()} to {box.high.tolist()} is none; take low < high everywhere.")
    return box
