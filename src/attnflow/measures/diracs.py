r"""To two antipodal points: whose mass goes where is a matter of order.

Moving $x$ to $e$ instead of $-e$ saves $|x + e|^p - |x - e|^p$, which increases with $\langle x, e\rangle$ among points
of one length. So the points that save most go to $e$ until its mass is full; one point may be split.
"""

import numpy as np

from .._linear_algebra import finite_array
from ..errors import InputError
from ..spaces import Numbers
from ._checked import Real, cloud, exponent, masses


def two_diracs(x: Numbers, e: Numbers, m: Numbers, p: float | int = 2, w: Numbers | None = None) -> Real:
    r"""$W_p$ between a cloud and $m_+\delta_e + m_-\delta_{-e}$, exactly, in any dimension.

    **Arguments:** points `x (..., n, d)`, leading axes such as time; `e (d,)`, of any length; `m`, the masses
    $(m_+, m_-)$, which sum to one; `p` at least 1; masses `w (n,)` of the points, `None` for equal ones.

    Distances are chordal. Time is that of sorting, memory linear.

    >>> two_diracs(np.array([[1.0, 0.0], [0.0, 1.0]]), [1.0, 0.0], (0.5, 0.5))  # the second goes to (-1, 0)
    np.float64(1.0)
    """
    points, centre, p = cloud("x", x), finite_array("e", e), exponent(p)
    if centre.shape != points.shape[-1:]:
        raise InputError(f"e has shape {centre.shape} and the points {points.shape[-1]} coordinates; they must agree.")
    first, _ = masses(m, 2)
    w = masses(w, points.shape[-2])
    here, there = (np.linalg.norm(points - s * centre, axis=-1) ** p for s in (1.0, -1.0))
    order = np.argsort(here - there, axis=-1, kind="stable")
    mass = w[order]
    here, there = (np.take_along_axis(v, order, axis=-1) for v in (here, there))
    taken = np.clip(first - (np.cumsum(mass, axis=-1) - mass), 0, mass)
    return np.sum(taken * here + (mass - taken) * there, axis=-1) ** (1 / p)
