r"""Unfold a box of $n^d$ cells into a strip, permute the cells of the strip, fold it again: shears with steps.

The cell with the columns $c_0, \dots, c_{d-1}$ along the axes has the index $i = \sum_j c_j n^j$, and lies in the strip
$[0, n^d h_0] \times [0, h_1] \times \dots \times [0, h_{d-1}]$ between $ih_0$ and $(i + 1)h_0$ (in the plane
$i = rn + c$, row r, column c). A `Steps` is a shear by whole numbers of cells. Its jumps become ramps of the width
$\eta h$, centred on the edges of the cells: points in them are the only ones that do not move with their cells.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from .shear_profile import ShearProfile

Box = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Grid:
    """A box in $R^d$ with `n` cells along every axis; `eta` is the width of a ramp in parts of a cell."""

    n: int
    d: int
    eta: float
    box: Box | None = None  # the lower and the upper corner; None: the unit cube

    @property
    def lower(self) -> np.ndarray:
        return np.zeros(self.d) if self.box is None else self.box[0]

    @property
    def upper(self) -> np.ndarray:
        return np.ones(self.d) if self.box is None else self.box[1]

    @property
    def sides(self) -> np.ndarray:
        """Of the box."""
        return self.upper - self.lower

    @property
    def h(self) -> np.ndarray:
        """The sides of a cell."""
        return self.sides / self.n

    @property
    def cells(self) -> int:
        return self.n**self.d

    @property
    def columns(self) -> np.ndarray:
        """Of every cell, its number along each axis: `(n^d, d)`."""
        return np.arange(self.cells)[:, None] // self.n ** np.arange(self.d) % self.n

    @property
    def centres(self) -> np.ndarray:
        return self.lower + (self.columns + 0.5) * self.h

    def parts(self, q: int) -> np.ndarray:
        """Midpoints of $q^d$ equal parts of a cell, in units of its sides."""
        return (np.indices((q,) * self.d).reshape(self.d, -1).T + 0.5) / q

    def midpoints(self, q: int) -> np.ndarray:
        """Those of all cells: `(n^d, q^d, d)`."""
        return self.lower + (self.columns[:, None] + self.parts(q)) * self.h

    def cell(self, x: np.ndarray) -> np.ndarray:
        """The index of the cell that holds each of the points `(m, d)`."""
        columns = np.clip((x - self.lower) // self.h, 0, self.n - 1).astype(int)
        return columns @ self.n ** np.arange(self.d)


@dataclass(frozen=True, eq=False)
class Steps:
    """A shear that moves the axis `moves` by `levels[k]` cells, where the axis `reads` is in its k-th interval.

    Intervals have the length of `every` cells, and the first begins at the corner of the box; beyond the first and the
    last one the level is constant.
    """

    reads: int
    moves: int
    every: int
    levels: np.ndarray

    @property
    def inverse(self) -> "Steps":
        return Steps(self.reads, self.moves, self.every, -self.levels)

    @property
    def trivial(self) -> bool:
        return not self.levels.any()


def unfolding(grid: Grid) -> list[Steps]:
    """Axis after axis, rows are moved apart and then down beside each other."""
    n, rows = grid.n, np.arange(grid.n)
    pairs = [(Steps(j, 0, 1, rows * n**j), Steps(0, j, n**j, -rows)) for j in range(1, grid.d)]
    return [shear for pair in pairs for shear in pair]


def folding(grid: Grid) -> list[Steps]:
    """The inverse of `unfolding`."""
    return [shear.inverse for shear in reversed(unfolding(grid))]


def permuting(tau: np.ndarray, grid: Grid) -> list[Steps]:
    """Cell k of the strip goes to the place `tau[k]`: cells are lifted to heights of their own, moved, and let down."""
    k, up = np.arange(grid.cells), grid.d - 1
    return [Steps(0, up, 1, k), Steps(up, 0, 1, tau - k), Steps(0, up, 1, -np.argsort(tau))]


def merged(shears: Iterable[Steps]) -> list[Steps]:
    """Neighbours along the same axes become one."""
    return [_sum(list(same)) for _, same in groupby(shears, lambda s: (s.reads, s.moves))]


def _sum(shears: Sequence[Steps]) -> Steps:
    """Intervals of one shear are unions of those of the other: beyond its last level a coarse one is constant."""
    fine = min(s.every for s in shears)
    length = max(len(s.levels) * s.every for s in shears) // fine
    levels = [np.repeat(s.levels, s.every // fine) for s in shears]
    total = sum(np.pad(one, (0, length - len(one)), mode="edge") for one in levels)
    return Steps(shears[0].reads, shears[0].moves, fine, np.asarray(total))


def profile(shear: Steps, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Knots and values: a ramp where the level changes. A shear that is a translation has one knot."""
    width, height = grid.h[shear.reads], grid.h[shear.moves]
    jump = np.flatnonzero(np.diff(shear.levels))
    edges = grid.lower[shear.reads] + shear.every * width * (jump + 1)
    if not len(jump):
        return grid.lower[[shear.reads]], height * shear.levels[:1]
    knots = edges[:, None] + grid.eta * width / 2 * np.array([-1, 1])
    return knots.ravel(), height * np.stack([shear.levels[jump], shear.levels[jump + 1]], axis=1).ravel()


def pieces(shears: Iterable[Steps], grid: Grid) -> tuple[ShearProfile, ...]:
    """The shears as pieces of a schedule; those that move nothing are left out."""
    axis = np.eye(grid.d)
    moving = (shear for shear in shears if not shear.trivial)
    return tuple(ShearProfile(axis[s.reads], axis[s.moves], *profile(s, grid)) for s in moving)


def unfold(n: int, d: int, eta: float, *, box: Box | None = None) -> tuple[ShearProfile, ...]:
    """The shears that lay the cells of a box beside each other, in $2(d - 1)$ pieces of a schedule."""
    grid = Grid(n, d, eta, box)
    return pieces(unfolding(grid), grid)


def fold(n: int, d: int, eta: float, *, box: Box | None = None) -> tuple[ShearProfile, ...]:
    """The inverse of `unfold`."""
    grid = Grid(n, d, eta, box)
    return pieces(folding(grid), grid)
