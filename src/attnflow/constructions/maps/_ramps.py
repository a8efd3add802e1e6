"""Points in ramps: few of them, but they may land far away, and random points of the box would never show it."""

from typing import NamedTuple

import numpy as np

from ..schedules import Schedule, ShearProfile
from ..schedules.folding import Grid
from ._cells import unstretched


class EdgePoints(NamedTuple):
    """Random points near edges of cells, `(m, d)`, and the share of the box that each one stands for."""

    x: np.ndarray
    mass: np.ndarray


def meets_ramp(schedule: Schedule, x: np.ndarray) -> np.ndarray:
    """Which points are on a ramp of some shear on their way."""
    met = np.zeros(len(x), bool)
    for block in schedule.blocks:
        if isinstance(block, ShearProfile):
            met |= block.lines.slope_at(x @ block.a) != 0
        x = block.forward(x)
    return met


def edge_points(grid: Grid, stretch: np.ndarray | None, each: int, rng: np.random.Generator) -> EdgePoints:
    """`each` points within half a ramp of the faces along each axis, and as many along edges of the stretched strip.

    The faces along one axis take the share `eta` of the box. What is near two faces is counted twice: a share of
    `eta**2`.
    """
    sets = [_near_faces(grid, j, each, rng) for j in range(grid.d)]
    near = [
        EdgePoints(grid.lower + (grid.columns[k] + inside) * grid.h, np.full(each, grid.eta / each))
        for k, inside in sets
    ]
    if stretch is not None:
        k, inside = _near_faces(grid, 0, each, rng)
        x, slope = unstretched(k, inside, grid, stretch)
        near.append(EdgePoints(x, grid.eta / (slope * each)))
    return EdgePoints(*map(np.concatenate, zip(*near, strict=True)))


def _near_faces(grid: Grid, axis: int, many: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random cells, and places inside them: within half a ramp of one of the two faces along `axis`."""
    inside = rng.random((many, grid.d))
    depth = inside[:, axis] * grid.eta / 2
    inside[:, axis] = np.where(rng.random(many) < 0.5, depth, 1 - depth)
    return rng.integers(0, grid.cells, many), inside
