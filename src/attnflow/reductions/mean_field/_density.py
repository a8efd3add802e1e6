"""The initial density, a function or values on cells, as masses of cells."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...checks import finite_array, whole
from ...errors import InputError
from ...spaces import Numbers
from ._chart import TURN, AbstractChart

CELLS, FEWEST, MOST = 256, 8, 65_536
NODES = 5  # of Gauss and Legendre, for the average of a function over a cell: exact for polynomials of degree nine

Density = Callable[[np.ndarray], Any] | Numbers


def initial_masses(density: Any, ends: np.ndarray, cells: Any) -> np.ndarray:
    """The mass of every cell; they sum to one."""
    if callable(density):
        masses = _averages(density, ends, whole("cells", CELLS if cells is None else cells, FEWEST, MOST))
    else:
        masses = finite_array("density", density)
        if masses.ndim != 1:
            raise InputError(
                f"density has shape {masses.shape}; mean_field solves on the circle and on the line, where a density "
                "is one value for each cell, or a function of one number."
            )
        if cells is not None and whole("cells", cells, FEWEST, MOST) != masses.size:
            raise InputError(f"density has {masses.size} values and cells = {cells}; leave cells out.")
        whole("cells", masses.size, FEWEST, MOST)
    if masses.min() < 0:
        raise InputError(f"the density has the value {masses.min():g}; a density is not negative.")
    total = masses.sum()
    if not 0 < total < np.inf:
        raise InputError(f"the density has the integral {total:g}; it must be positive, and finite.")
    return masses / total


def checked_interval(chart: AbstractChart, interval: Any) -> np.ndarray:
    """The two ends of the grid."""
    if chart.periodic:
        if interval is not None:
            raise InputError("the circle has no interval: its grid is all angles from 0 to 2 pi; leave interval out.")
        return np.array([0.0, TURN])
    if interval is None:
        raise InputError("on the line the grid needs an interval that contains the density, interval=(-8.0, 8.0).")
    ends = finite_array("interval", interval)
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise InputError(f"interval = {interval!r} is no interval; give two increasing numbers.")
    return ends


def _averages(density: Callable[[np.ndarray], Any], ends: np.ndarray, cells: int) -> np.ndarray:
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    width = (ends[1] - ends[0]) / cells
    at = ends[0] + width * (np.arange(cells)[:, None] + (1 + nodes[None, :]) / 2)
    try:
        samples = density(at)
    except TypeError as error:
        raise InputError(f"the density does not take an array ({error}); write it with NumPy.") from error
    values = finite_array("density", samples)
    if values.shape not in ((), at.shape):
        raise InputError(f"the density returned shape {values.shape} for numbers of shape {at.shape}; one value each.")
    values = np.broadcast_to(values, at.shape)
    if values.min() < 0:
        where = at[np.unravel_index(np.argmin(values), at.shape)]
        raise InputError(f"the density is {values.min():g} at {where:.6g}; a density is not negative.")
    return values @ weights / 2
