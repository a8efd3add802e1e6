r"""Both relative entropies and the total variation on the line, by quadrature between the kinks of the density."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from ..schedules import Schedule
from .laws import Line

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
TAIL_CELLS = 100  # beyond the last kink, each one longer than the one before
LEVELS = ndtr(np.linspace(-6, 0, 49))


class LineDivergences(NamedTuple):
    """$KL(\\rho_*|\\rho_T)$, $KL(\\rho_T|\\rho_*)$, the total variation, and the mass of $\\rho_T$ that was seen."""

    kl: float
    reverse_kl: float
    tv: float
    mass: float


def line_divergences(schedule: Schedule, base: Line, target: Line, kinks: np.ndarray) -> LineDivergences:
    """A rule of 20 points between neighbouring kinks, which are cut at quantiles of both laws, and on cells of growing
    length beyond. A rule that does not see the kinks is wrong in the fifth digit.
    """
    return _over(_cells(schedule, base, target, kinks), schedule, base, target)


def truncated_kl(
    schedule: Schedule, base: Line, target: Line, kinks: np.ndarray, radii: np.ndarray
) -> list[tuple[float, float]]:
    """The part of $KL(\\rho_*|\\rho_T)$ between -R and R, for some R."""
    edges = _cells(schedule, base, target, kinks, radii.max())
    return [(float(R), _over(np.unique(np.clip(edges, -R, R)), schedule, base, target).kl) for R in radii]


def _cells(schedule: Schedule, base: Line, target: Line, kinks: np.ndarray, radius: float = 0.0) -> np.ndarray:
    span = kinks[-1] - kinks[0]
    growing = np.geomspace(1e-3 * span, max(1e6 * span, 4 * radius), TAIL_CELLS)
    beyond = np.concatenate([kinks[0] - growing[::-1], kinks, kinks[-1] + growing])
    of_base = schedule.forward(np.concatenate([base.quantile(LEVELS), base.upper_quantile(LEVELS)])[:, None])[:, 0]
    of_target = np.concatenate([target.quantile(LEVELS), target.upper_quantile(LEVELS)])
    return np.unique(np.concatenate([beyond, of_base, of_target]))


def _over(edges: np.ndarray, schedule: Schedule, base: Line, target: Line) -> LineDivergences:
    half = np.diff(edges)[:, None] / 2
    y = ((edges[:-1, None] + half) + half * NODES).ravel()
    weight = (half * WEIGHTS).ravel()
    ours = schedule.log_density(y[:, None], lambda x: base.log_density(x[:, 0]))
    theirs = target.log_density(y)
    p, q = np.exp(theirs) * weight, np.exp(ours) * weight
    with np.errstate(invalid="ignore"):
        kl = np.where(p > 0, p * (theirs - ours), 0).sum()
        reverse = np.where(q > 0, q * (ours - theirs), 0).sum()
    return LineDivergences(float(kl), float(reverse), float(abs(p - q).sum() / 2), float(q.sum()))
