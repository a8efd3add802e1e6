"""A continuous function of one variable that is linear between knots."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Lines:
    """Values at increasing knots, and the slopes beyond the first and the last."""

    knots: np.ndarray
    values: np.ndarray
    left_slope: float
    right_slope: float

    @property
    def slopes(self) -> np.ndarray:
        """From left to right, one more than knots."""
        between = np.diff(self.values) / np.diff(self.knots)
        return np.concatenate([[self.left_slope], between, [self.right_slope]])

    def __call__(self, s: np.ndarray) -> np.ndarray:
        """Exact at the knots, and constant where slopes are 0."""
        y = np.interp(s, self.knots, self.values)
        if self.left_slope:
            y += self.left_slope * np.minimum(s - self.knots[0], 0)
        if self.right_slope:
            y += self.right_slope * np.maximum(s - self.knots[-1], 0)
        return y

    def slope_at(self, s: np.ndarray) -> np.ndarray:
        """The slope at points, at a knot that on its left."""
        return self.slopes[np.searchsorted(self.knots, s)]

    @property
    def neurons(self) -> tuple[float, np.ndarray]:
        """The weight of a first neuron, on left of the first knot, and that of one for every knot, on right of it.

        Jumps that are rounding are 0: a slope is known to some units of the last place of its two values and knots.
        """
        slopes = self.slopes
        jumps = np.diff(np.concatenate([[0.0], slopes[1:]]))
        return -slopes[0], np.where(abs(jumps) > self._rounding, jumps, 0.0)

    @property
    def _rounding(self) -> np.ndarray:
        gaps, rises = np.diff(self.knots), abs(np.diff(self.values))
        of_slope = np.finfo(float).eps * (_larger(self.values) + _larger(self.knots) * rises / gaps) / gaps
        padded = np.concatenate([[0.0], of_slope, [0.0]])
        return 2 * np.maximum(padded[1:], padded[:-1])


def _larger(x: np.ndarray) -> np.ndarray:
    """The larger size of every two neighbours."""
    return np.maximum(abs(x[1:]), abs(x[:-1]))


def along(x: np.ndarray, a: np.ndarray) -> np.ndarray:
    r"""$\langle a, x\rangle$ of rows, summed in one order wherever a row stands; a coordinate vector reads exactly."""
    s = np.zeros(len(x))
    for j in np.flatnonzero(a):
        s += a[j] * x[:, j]
    return s


def moved_along(x: np.ndarray, f: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Rows $x + fw$; coordinates where w is 0 are the same numbers."""
    y = x.copy()
    for j in np.flatnonzero(w):
        y[:, j] += w[j] * f
    return y
