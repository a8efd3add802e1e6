"""Where points go and come from, by arithmetic with the cells alone: no shear, no schedule."""

from typing import NamedTuple

import numpy as np

from ..schedules.folding import Grid
from ._compression import knots


class CellMoves(NamedTuple):
    """Points `(m, d)` after or before the cells moved, and by how much volume grows at each `(m,)`."""

    x: np.ndarray
    growth: np.ndarray


def cell_moves(x: np.ndarray, grid: Grid, tau: np.ndarray, stretch: np.ndarray | None) -> CellMoves:
    """The place in the strip is stretched, the cell there is found, and put where `tau` says."""
    first = grid.cell(x)
    inside = (x - grid.lower) / grid.h - grid.columns[first]
    if stretch is None:
        growth, k = np.ones(len(x)), first
    else:
        after = (knots(stretch, grid)[1] - grid.lower[0]) / grid.h[0]
        growth, place = stretch[first], after[first] + stretch[first] * inside[:, 0]
        k = np.clip(place.astype(int), 0, grid.cells - 1)
        inside[:, 0] = place - k
    return CellMoves(grid.lower + (grid.columns[tau[k]] + inside) * grid.h, growth)


def unstretched(k: np.ndarray, inside: np.ndarray, grid: Grid, stretch: np.ndarray) -> CellMoves:
    """Where places `inside (m, d)` of the cells `k (m,)` of the stretched strip come from, and the growth there."""
    begin, end = ((one - grid.lower[0]) / grid.h[0] for one in knots(stretch, grid))
    place = np.interp(k + inside[:, 0], end, begin)
    cell = np.clip(place.astype(int), 0, grid.cells - 1)
    inside = np.concatenate([(place - cell)[:, None], inside[:, 1:]], axis=1)
    return CellMoves(grid.lower + (grid.columns[cell] + inside) * grid.h, stretch[cell])
