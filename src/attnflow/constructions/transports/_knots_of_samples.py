r"""The increasing piecewise linear map of K knots that brings samples on the line closest to N(0, 1).

A map T with the empirical distribution function at its knots gains $E[\log T'(s) - T(s)^2/2 + s^2/2]$: by exactly this
much it lowers $KL(\cdot|N(0, 1))$. On an interval where T is linear the sum over samples follows from the sums of $1,
s, s^2$, so that of all choices of K knots among the candidates the best is found by dynamic programming. The slopes
beyond the first and the last knot are those of largest likelihood.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

CANDIDATES = 64
REACH, LEAST = 3.2, 5  # standard deviations where candidates end, and samples that must be beyond
APART = 1e-3  # least distance of images of candidates


@dataclass(frozen=True)
class SampleKnots:
    """Knots, their images, slopes beyond; the gain, of the samples."""

    x: np.ndarray
    y: np.ndarray
    left_slope: float
    right_slope: float
    gain: float


def best_knots(s: np.ndarray, K: int) -> SampleKnots:
    """At most K knots for samples `s (n,)`."""
    table = _table(np.sort(s))
    value, back = table.left.copy(), []
    for _ in range(min(K, len(value)) - 1):
        through = value[:, None] + table.inside
        best = through.argmax(axis=0)
        back.append(best)
        value = through[best, np.arange(len(best))]
    at = [int((value + table.right).argmax())]
    for best in reversed(back):
        at.append(int(best[at[-1]]))
    first, last, chosen = at[-1], at[0], at[::-1]
    return SampleKnots(
        x=table.x[chosen],
        y=table.y[chosen],
        left_slope=float(table.left_slopes[first]),
        right_slope=float(table.right_slopes[last]),
        gain=float((value + table.right).max() - table.before),
    )


@dataclass(frozen=True)
class _Table:
    """Candidates x and images y; the mean of log T' - T^2/2 on left of each, between two, on right; slopes beyond."""

    x: np.ndarray
    y: np.ndarray
    left: np.ndarray
    inside: np.ndarray
    right: np.ndarray
    left_slopes: np.ndarray
    right_slopes: np.ndarray
    before: float


def _table(s: np.ndarray) -> _Table:
    n = len(s)
    x, y, i = _candidates(s)
    sums = [np.concatenate([[0.0], np.cumsum(s**p)]) for p in (1, 2)]
    upto = [i.astype(float), *(c[i] for c in sums)]
    total = [float(n), *(float(c[-1]) for c in sums)]
    N, S, Q = (c[None, :] - c[:, None] for c in upto)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = (y[None, :] - y[:, None]) / (x[None, :] - x[:, None])
        shift = y[:, None] - slope * x[:, None]
        inside = (N * np.log(slope) - (N * shift**2 + 2 * shift * slope * S + slope**2 * Q) / 2) / n
    inside[np.tril_indices(len(x))] = -np.inf
    left, left_slopes = _beyond(x, y, *upto)
    right, right_slopes = _beyond(x, y, *(whole - part for whole, part in zip(total, upto, strict=True)))
    return _Table(x, y, left / n, inside, right / n, left_slopes, right_slopes, -total[2] / n / 2)


def _beyond(x: np.ndarray, y: np.ndarray, N: np.ndarray, S: np.ndarray, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sum of log m - (y + m(s - x))^2/2 over N samples on one side of x, and the slope m that makes it largest."""
    U, R = S - N * x, np.maximum(Q - 2 * x * S + N * x**2, 1e-300)
    m = (-y * U + np.sqrt((y * U) ** 2 + 4 * N * R)) / (2 * R)
    m = np.where((N > 0) & np.isfinite(m) & (m > 0), m, 1.0)
    return N * np.log(m) - (N * y**2 + 2 * y * m * U + m**2 * R) / 2, m


def _candidates(s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Half of them at Gaussian quantiles, half at equal distances; images by the share of samples on the left."""
    n = len(s)
    reach = min(REACH, float(-ndtri(min(LEAST / n, 0.4))))
    low, high = np.quantile(s, ndtr([-reach, reach]))
    quantiles = np.quantile(s, ndtr(np.linspace(-reach, reach, CANDIDATES // 2)))
    x = np.unique(np.concatenate([quantiles, np.linspace(low, high, CANDIDATES // 2)]))
    i = np.searchsorted(s, x, side="right")
    y = ndtri(np.clip(i / n, 0.5 / n, 1 - 0.5 / n))
    kept = [0]
    for k in range(1, len(x)):
        if y[k] - y[kept[-1]] > APART and x[k] - x[kept[-1]] > 1e-9 * (x[-1] - x[0]):
            kept.append(k)
    return x[kept], y[kept], i[kept]
