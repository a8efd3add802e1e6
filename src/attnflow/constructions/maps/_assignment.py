"""Where the cells go: an optimal assignment of images to the centres of cells."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from ...checks import finite_array
from ...errors import InputError
from ..schedules.folding import Grid

CELLS = 2**13  # a matrix of half a GiB


def assignment(images: np.ndarray, grid: Grid) -> np.ndarray:
    """The permutation of cells for which the squared distances of `images (n^d, d)` to the centres are least."""
    return linear_sum_assignment(cdist(images, grid.centres, "sqeuclidean"))[1]


def check_cells(grid: Grid) -> None:
    """An assignment takes the square of their number."""
    if grid.cells > CELLS:
        most = int(CELLS ** (1 / grid.d) + 1e-9)
        raise InputError(
            f"n = {grid.n} in dimension {grid.d} are {grid.cells} cells, too many to assign; take n <= {most}, or give "
            "permutation_flow the permutation itself."
        )


def permutation(name: str, values: Any, grid: Grid) -> np.ndarray:
    """A permutation that is given: cell k goes to the place of cell `tau[k]`."""
    tau = finite_array(name, values)
    if tau.shape != (grid.cells,):
        raise InputError(f"{name} has shape {tau.shape}; give {grid.cells} whole numbers, the places where cells go.")
    if not np.array_equal(np.sort(tau), np.arange(grid.cells)):
        raise InputError(
            f"{name} is no permutation of 0, ..., {grid.cells - 1}: some number is missing or comes twice."
        )
    return tau.astype(np.int64)
