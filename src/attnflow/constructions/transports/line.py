r"""One dimension: the monotone map between two laws, linear between knots that are placed best.

$T = F_*^{-1}\circ F_B$ and $g = \log T'$. A map that is linear between K knots has, to leading order,
$KL \approx C/(K - 1)^2$ with $C = \frac1{24}\big(\int(\rho_B g'^2)^{1/3}\,dx\big)^3$ if the density of knots is
proportional to $(\rho_B g'^2)^{1/3}$, and no other density of knots does better.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from ...checks import whole
from ...errors import InputError
from ...spaces import Count
from ..schedules import MonotonePL, Schedule
from .laws import Law, Line, as_law

EDGE = float(ndtr(-5.0))  # mass of the base beyond the first knot, and beyond the last one
DIGITS = 1e8  # the largest distance over the shortest interval
FLOOR = 1e-6  # of the largest density of knots
GRID, LARGEST, ROUNDS = 4001, 60_000, 12  # points of the first grid, and of one that was refined
RESOLVED = 0.02  # the change of g from one point to the next


@dataclass(frozen=True)
class Knots:
    """`x (K,)` and their images `y (K,)`; the slopes beyond; `constant`, the C of KL = C/(K - 1)^2."""

    x: np.ndarray
    y: np.ndarray
    left_slope: float
    right_slope: float
    constant: float

    @property
    def schedule(self) -> Schedule:
        """The map as a schedule of K + 2 pieces, one less if the first knot stays."""
        return Schedule([MonotonePL([1.0], self.x, self.y, left_slope=self.left_slope, right_slope=self.right_slope)])


def transport_1d(base: Law, target: Law, K: Count = 64) -> Schedule:
    r"""The schedule of K + 2 pieces from a law on the line to another one whose K knots are placed best.

    $KL(\rho_*|\rho_T)$ and $KL(\rho_T|\rho_*)$ are both $C/(K - 1)^2$ to leading order; `optimal_knots` gives C.

    The paper, Alvarez-Lopez, Geshkovski, Ruiz-Balet, arXiv:2412.19366, bounds switches by the error in relative
    entropy; this construction is ours and is derived in docs/theory/relu-transport.md.
    """
    return optimal_knots(base, target, K).schedule


def optimal_knots(base: Law, target: Law, K: Count = 64) -> Knots:
    r"""Knots of the monotone map from `base` to `target` with density proportional to $(\rho_B g'^2)^{1/3}$."""
    K = whole("K", K, least=2)
    start, goal = (_line(name, law) for name, law in (("base", base), ("target", target)))
    grid = _refined(start, goal)
    wanted = np.linspace(0, 1, K)
    x = np.interp(wanted, grid.knots_up_to / grid.knots_up_to[-1], grid.x)
    x[0], x[-1] = grid.x[0], grid.x[-1]
    y = pushed(start, goal, x)
    size, least = max(abs(x).max(), abs(y).max()), min(np.ptp(x), np.ptp(y))
    if not size < DIGITS * least:
        raise InputError(
            f"the laws live between {x[0]:.2g} and {x[-1]:.2g} and between {y[0]:.2g} and {y[-1]:.2g}, too far apart "
            "for float64; shift and rescale one."
        )
    if (np.diff(x) <= 0).any() or (np.diff(y) <= 0).any():
        raise InputError(f"K = {K} knots are more than float64 can tell apart; take fewer.")
    slopes = np.exp(start.log_density(x[[0, -1]]) - goal.log_density(y[[0, -1]]))
    return Knots(x, y, float(slopes[0]), float(slopes[1]), grid.constant)


def pushed(start: Line, goal: Line, x: np.ndarray) -> np.ndarray:
    """T at x: by the mass on the left, or that on the right, whichever is smaller."""
    left, right = start.cdf(x), start.sf(x)
    on_left = left < right
    return np.where(
        on_left, goal.quantile(np.where(on_left, left, 0.5)), goal.upper_quantile(np.where(on_left, 0.5, right))
    )


@dataclass(frozen=True)
class _Grid:
    """x, y = T(x), the integral of the density of knots up to there, and the constant C."""

    x: np.ndarray
    y: np.ndarray
    knots_up_to: np.ndarray
    constant: float


def _refined(start: Line, goal: Line) -> _Grid:
    """A grid that is uniform in x and in y, and finer where g changes: a valley of the target is narrow in x."""
    x, y = _first(start, goal)
    for _ in range(ROUNDS):
        g = start.log_density(x) - goal.log_density(y)
        known = np.isfinite(g)
        x, y, g = x[known], y[known], g[known]
        coarse = np.flatnonzero(abs(np.diff(g)) > RESOLVED)
        if not len(coarse) or len(x) > LARGEST:
            break
        between = (y[coarse] + y[coarse + 1]) / 2
        x, y = _increasing(np.append(x, pushed(goal, start, between)), np.append(y, between))
    return _integrated(start, goal, x, y)


def _first(start: Line, goal: Line) -> tuple[np.ndarray, np.ndarray]:
    edge = np.array([EDGE])
    x0, x1 = float(start.quantile(edge)[0]), float(start.upper_quantile(edge)[0])
    y0, y1 = pushed(start, goal, np.array([x0, x1]))
    if not (np.isfinite([x0, x1, y0, y1]).all() and x0 < x1 and y0 < y1):
        raise InputError(f"the laws have the quantiles {x0:g} to {x1:g} and {y0:g} to {y1:g}; give others.")
    x, y = np.linspace(x0, x1, GRID), np.linspace(y0, y1, GRID)[1:-1]
    return _increasing(np.append(x, pushed(goal, start, y)), np.append(pushed(start, goal, x), y))


def _increasing(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs in their order, without those that are the same in x or in y."""
    order = np.argsort(y, kind="stable")
    x, y = np.maximum.accumulate(x[order]), y[order]
    new = np.concatenate([[True], (np.diff(x) > 0) & (np.diff(y) > 0)])
    return x[new], y[new]


def _integrated(start: Line, goal: Line, x: np.ndarray, y: np.ndarray) -> _Grid:
    log_goal = goal.log_density(y)
    g = start.log_density(x) - log_goal
    dg = start.score(x) * np.exp(-g) - goal.score(y)  # by y
    density = np.cbrt(np.exp(log_goal) * dg**2)
    steps = (density[1:] + density[:-1]) / 2 * np.diff(y)
    floor = FLOOR * (density * np.exp(g)).max()
    up_to = np.concatenate([[0.0], np.cumsum(steps + floor * np.diff(x))])
    return _Grid(x, y, up_to, float(steps.sum() ** 3 / 24))


def _line(name: str, given: Law) -> Line:
    law = as_law(name, given)
    if law.line is None:
        why = f"lives in dimension {law.d}" if law.d > 1 else "has no distribution functions"
        raise InputError(f"{name} {why}; on the line give a law of scipy.stats, a mixture, or a density with a box.")
    return law.line
