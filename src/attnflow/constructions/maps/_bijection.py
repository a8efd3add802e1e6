r"""Whether a map can be a flow: $\det D\varphi > 0$, and the box goes onto itself.

If determinants are positive, and the boundary goes to the boundary, then all points of the box have equally many
preimages: as many as the mean of the determinant says.
"""

import numpy as np

from ...errors import InputError
from ..schedules.folding import Grid
from ._given import GivenMap

BOUNDARY = 1e-6  # in parts of a side: how far from the boundary the image of a boundary point may be
PARTS = {2: 6, 3: 4}  # of a cell along each axis, at whose midpoints determinants are taken; 2 in higher dimensions


def cell_volumes(given: GivenMap) -> np.ndarray:
    """The share of the box that the image of each cell takes, times their number; a map that is no flow is refused."""
    grid = given.grid
    x = grid.midpoints(PARTS.get(grid.d, 2))
    J = given.determinants(x.reshape(-1, grid.d))
    _check_signs(J, x.reshape(-1, grid.d))
    _check_boundary(given)
    if (times := round(float(J.mean()))) != 1:
        raise InputError(
            f"phi covers the box {times} times (the mean of its determinants is {J.mean():.3g}); give a bijection."
        )
    return (J / J.mean()).reshape(grid.cells, -1).mean(axis=1)


def _check_signs(J: np.ndarray, x: np.ndarray) -> None:
    if (J < 0).all():
        raise InputError(
            "phi reverses orientation, and no flow does: its determinants are negative; compose it with a reflection."
        )
    if (k := int(J.argmin()), J[k])[1] <= 0:
        raise InputError(
            f"phi folds: its determinant is {J[k]:.3g} at {x[k].round(4).tolist()}; a flow needs one > 0 everywhere."
        )


def _check_boundary(given: GivenMap) -> None:
    grid = given.grid
    x = boundary(grid)
    y = (given.images(x) - grid.lower) / grid.sides
    outside = np.maximum(-y, y - 1).max(axis=1)  # < 0 inside
    k = int(abs(outside).argmax())
    if abs(outside[k]) > BOUNDARY:
        where, image = (p.round(6).tolist() for p in (x[k], grid.lower + y[k] * grid.sides))
        raise InputError(
            f"phi does not map the box onto itself: it sends {where} on the boundary to {image}; "
            "give a map that does, or as box= the one that it maps onto itself."
        )


def boundary(grid: Grid) -> np.ndarray:
    """Points on all faces of the box."""
    many = {2: 64, 3: 12}.get(grid.d, 3)
    face = (np.indices((many,) * (grid.d - 1)).reshape(grid.d - 1, -1).T + 0.5) / many
    faces = [np.insert(face, j, side, axis=1) for j in range(grid.d) for side in (0.0, 1.0)]
    return grid.lower + np.concatenate(faces) * grid.sides
