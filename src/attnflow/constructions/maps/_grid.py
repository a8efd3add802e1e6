"""The grid of a construction, from what a user gives."""

from typing import Any

import numpy as np

from ...checks import finite_array, number, whole
from ...errors import InputError, shown
from ..schedules.folding import Box, Grid

CELLS = 2**20  # of a permutation that is given
UNITS = 64  # of rounding, in the width of a ramp: fewer, and its two ends would become one number


def checked_grid(n: Any, d: Any, eta: Any, box: Any) -> Grid:
    """A grid of `n` cells along each of at least two axes, with ramps that float64 can hold."""
    n, eta = whole("n", n, least=2, most=CELLS), number("eta", eta)
    corners = None if box is None else _corners(box)
    of_box = 2 if corners is None else len(corners[0])
    d = of_box if d is None else whole("d", d, most=20)
    if corners is not None and d != of_box:
        raise InputError(f"d = {d} and the box has dimension {of_box}; leave out d.")
    if d < 2:
        raise InputError(
            "d = 1 leaves no direction to shear along; take d >= 2, or a MonotonePL for a map of the line."
        )
    if n**d > CELLS:
        raise InputError(
            f"n = {n} in dimension {d} are {n**d} cells; take at most {CELLS}, n <= {int(CELLS ** (1 / d))}."
        )
    grid = Grid(n, d, eta, corners)
    least = UNITS * np.finfo(float).eps * (abs(grid.lower).max() + grid.cells * grid.h.max()) / grid.h.min()
    if not least <= eta <= 0.5:
        raise InputError(f"eta = {eta:g}, the width of ramps in parts of a cell; take it from {least:.1g} to 0.5.")
    return grid


def _corners(box: Any) -> Box:
    try:
        lower, upper = box
    except (TypeError, ValueError):
        raise InputError(
            f"box = {shown(box)} is no pair; give two corners (lower, upper), such as ([0, 0], [2, 1])."
        ) from None
    lower, upper = (finite_array(f"box[{k}]", corner) for k, corner in enumerate((lower, upper)))
    if lower.ndim != 1 or lower.shape != upper.shape or not (lower < upper).all():
        raise InputError(
            f"box = ({lower.tolist()}, {upper.tolist()}); give two corners of one dimension, the lower one first."
        )
    return lower, upper
