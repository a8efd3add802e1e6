"""The distribution functions of a density on an interval, from a table of its integrals."""

from collections.abc import Callable

import numpy as np

from ....errors import InputError
from .line import Line, differentiated

CELLS, NODES = 20_000, 6


def line_from_table(log_density: Callable[[np.ndarray], np.ndarray], low: float, high: float) -> Line:
    """Gauss-Legendre on equal cells; between their ends the mass is interpolated by the density there."""
    edges = np.linspace(low, high, CELLS + 1)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = (high - low) / CELLS / 2
    at = (edges[:-1, None] + half * (1 + nodes)).ravel()
    values = log_density(at).reshape(CELLS, NODES)
    top = values.max()
    if not np.isfinite(top):
        raise InputError(f"the density is zero between {low:g} and {high:g}; give a box that holds its mass.")
    masses = np.exp(values - top) @ weights * half
    log_mass = np.log(masses.sum()) + top
    masses = masses / masses.sum()
    left = np.concatenate([[0.0], np.cumsum(masses)])
    right = np.concatenate([np.cumsum(masses[::-1])[::-1], [0.0]])
    rising = np.concatenate([[True], np.diff(left) > 0])
    falling = np.concatenate([np.diff(right) < 0, [True]])

    def density(y: np.ndarray) -> np.ndarray:
        return log_density(y) - log_mass

    return Line(
        log_density=density,
        cdf=lambda y: np.interp(y, edges, left),
        sf=lambda y: np.interp(y, edges, right),
        quantile=lambda p: np.interp(p, left[rising], edges[rising]),
        upper_quantile=lambda p: np.interp(p, right[falling][::-1], edges[falling][::-1]),
        score=lambda y: differentiated(density, np.clip(y, low + half, high - half), (high - low) * 1e-2),
    )
