r"""Cells of the strip are stretched along the first axis so that each gets the volume of its image.

Slopes are the determinants of the cells, scaled row by row: the cells of a row get a whole number of cells of the
stretched strip, so that none of these mixes two rows, whose images may be far apart.
"""

import numpy as np

from ..schedules import MonotonePL
from ..schedules.folding import Grid


def slopes(volumes: np.ndarray, grid: Grid) -> np.ndarray:
    """By how much each cell is stretched `(n^d,)`, in sum n^d, in every row a whole number."""
    rows = volumes.reshape(-1, grid.n)
    given = rows.sum(axis=1)
    return (rows * (whole_numbers(given, grid.cells) / given)[:, None]).ravel()


def whole_numbers(shares: np.ndarray, total: int) -> np.ndarray:
    """Whole numbers >= 1 near the shares, of a given sum: those with the largest remainders are rounded up."""
    many = np.maximum(np.floor(shares), 1.0)
    while (left := int(total - many.sum())) != 0:
        sign = 1 if left > 0 else -1
        room = np.flatnonzero(many + sign >= 1)
        chosen = room[np.argsort(sign * (many - shares)[room], kind="stable")[: abs(left)]]
        many[chosen] += sign
    return many


def knots(stretch: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Where the cells of the strip begin and end, before and after; rows end at whole numbers, without rounding."""
    rows = stretch.reshape(-1, grid.n)
    ends = np.cumsum(np.round(rows.sum(axis=1)))
    inside = np.cumsum(rows, axis=1) + np.concatenate([[0.0], ends[:-1]])[:, None]
    inside[:, -1] = ends
    after = np.concatenate([[0.0], inside.ravel()])
    return grid.lower[0] + grid.h[0] * np.arange(grid.cells + 1), grid.lower[0] + grid.h[0] * after


def compression(stretch: np.ndarray, grid: Grid) -> MonotonePL:
    """A monotone map along the first axis, with one slope for every cell of the strip."""
    return MonotonePL(np.eye(grid.d)[0], *knots(stretch, grid))
