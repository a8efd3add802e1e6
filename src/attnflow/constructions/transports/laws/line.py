"""A law on the line by its distribution functions, on arrays `(n,)`."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Function = Callable[[np.ndarray], np.ndarray]
STEPS = 200  # of a bisection; it ends when the last bit is known


@dataclass(frozen=True)
class Line:
    r"""`cdf` and `sf`, the masses on left and on right, each exact where it is small, and their inverse functions
    `quantile` and `upper_quantile`; the `score` is the derivative of `log_density`.
    """

    log_density: Function
    cdf: Function
    sf: Function
    quantile: Function
    upper_quantile: Function
    score: Function


def line_by_bisection(log_density: Function, cdf: Function, sf: Function, score: Function, low: float, high: float):
    """A line whose quantiles are found by bisection, in an interval that is made wider where it is too short."""
    return Line(
        log_density=log_density,
        cdf=cdf,
        sf=sf,
        quantile=lambda p: root(lambda y: cdf(y) >= p, p.shape, low, high),
        upper_quantile=lambda p: root(lambda y: sf(y) < p, p.shape, low, high),
        score=score,
    )


def root(reached: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...], low: float, high: float) -> np.ndarray:
    """The points from which on `reached` is true, to the last bit."""
    below, above = np.full(shape, low), np.full(shape, high)
    for _ in range(60):
        width = above - below
        too_high, too_low = reached(below), ~reached(above)
        if not (too_high.any() or too_low.any()):
            break
        below, above = np.where(too_high, below - width, below), np.where(too_low, above + width, above)
    for _ in range(STEPS):
        middle = (below + above) / 2
        if ((middle <= below) | (middle >= above)).all():
            break
        right = reached(middle)
        below, above = np.where(right, below, middle), np.where(right, middle, above)
    return (below + above) / 2


def differentiated(f: Function, y: np.ndarray, scale: float) -> np.ndarray:
    """The derivative by differences, one-sided where f ends, for functions that are smooth at `scale`."""
    h = 1e-5 * scale
    behind, here, ahead = f(y - h), f(y), f(y + h)
    with np.errstate(invalid="ignore"):
        slopes = np.stack([(ahead - behind) / 2, ahead - here, here - behind]) / h
    known = np.isfinite(slopes)
    return np.where(known.any(axis=0), np.take_along_axis(slopes, known.argmax(axis=0)[None], axis=0)[0], 0.0)
