r"""The distance to two antipodal points: the points are assigned in order.

Moving $x$ to $e$ instead of $-e$ saves $|x + e|^p - |x - e|^p$, which increases with $\langle x, e\rangle$ among points
of one length. So the points that save most go to $e$ until its mass is full; one point may be split.
"""

import numpy as np

from ..checks import finite_array
from ..errors import InputError
from ..spaces import Numbers
from ._checked import Real, cloud, exponent, masses, moves
from ._lengths import norms, power_mean, to_order_one


def two_diracs(
    x: Numbers, e: Numbers, other_weights: Numbers, p: float | int = 2, weights: Numbers | None = None
) -> Real:
    r"""$W_p$ between a cloud and $m_+\delta_e + m_-\delta_{-e}$, exactly, in any dimension.

    **Arguments:** points `x (..., n, d)`, leading axes such as time; `e (d,)`, of any length; `other_weights`,
    the masses $(m_+, m_-)$, which sum to one; `p` at least 1; `weights (n,)` of the points, `None` for equal ones.

    Distances are chordal. Time is that of sorting, memory linear.

    >>> float(two_diracs([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0], (0.5, 0.5)).round(12))  # the second goes to (-1, 0)
    1.0
    """
    points, centre, p = cloud("x", x), finite_array("e", e), exponent(p)
    if centre.shape != points.shape[-1:]:
        raise InputError(f"e has shape {centre.shape} and the points {points.shape[-1]} coordinates; they must agree.")
    first, _ = masses(other_weights, 2)
    w = masses(weights, points.shape[-2])
    scale, (points, centre) = to_order_one(points, centre)
    here, there = norms(points - centre), norms(points + centre)
    order = _by_saving(here, there, points @ centre, p)
    mass = w[order]
    here, there = (np.take_along_axis(v, order, axis=-1) for v in (here, there))
    taken = np.clip(first - (np.cumsum(mass, axis=-1) - mass), 0, mass)
    both = np.stack([taken, mass - taken], axis=-1)
    both = np.where(moves(both, np.minimum(mass[..., None], [first, 1 - first])), both, 0.0)
    flat = (*here.shape[:-1], -1)
    return scale * power_mean(np.stack([here, there], axis=-1).reshape(flat), both.reshape(flat), p)


def _by_saving(here: np.ndarray, there: np.ndarray, inner: np.ndarray, p: float) -> np.ndarray:
    r"""The order of $|x - e|^p - |x + e|^p$, by its sign and its logarithm: of powers of 1000 most would be zero.

    Of the two lengths let $L$ be the longer; the shorter is $L\sqrt{1 - 4|\langle x, e\rangle|/L^2}$.
    """
    longer = np.maximum(here, there)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log1p(-np.minimum(4 * np.abs(inner) / longer / longer, 1)) / 2
        size = p * np.log(longer) + np.log(-np.expm1(p * ratio))
    sign = np.where(np.isfinite(size), np.sign(-inner), 0.0)
    return np.lexsort((sign * np.where(sign == 0, 0.0, size), sign), axis=-1)
