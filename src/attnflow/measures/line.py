r"""On the line the best plan is monotone: the $u$-quantile of one law goes to the $u$-quantile of the other.

$$ W_p(\mu, \nu)^p = \int_0^1 |F^{-1}(u) - G^{-1}(u)|^p\, du . $$
"""

import numpy as np

from .._linear_algebra import finite_array
from ..errors import InputError
from ..spaces import Numbers
from ._checked import Real, exponent, masses


def wasserstein_1d(
    x: Numbers, y: Numbers, p: float | int = 2, wx: Numbers | None = None, wy: Numbers | None = None
) -> Real:
    r"""$W_p$ of two laws on the line, exactly.

    **Arguments:** `x (..., n)` and `y (..., m)`, numbers with leading axes that broadcast; `p` at least 1; masses
    `wx (n,)`, `wy (m,)`, `None` for equal ones.

    Time is that of sorting, memory linear. Rounding of unequal masses by $\epsilon$ moves $W_p$ by up to
    $\epsilon^{1/p}$ of the diameter, which matters only for laws that nearly coincide.

    >>> float(wasserstein_1d([0.0, 1.0], [3.0, 5.0]))  # the square root of (3² + 4²)/2
    3.5355339059327378
    """
    first, second, p = finite_array("x", x), finite_array("y", y), exponent(p)
    for name, values in (("x", first), ("y", second)):
        if values.ndim < 1 or values.shape[-1] == 0:
            raise InputError(f"{name} has shape {values.shape}; give numbers as (..., n), at least one.")
    n, m = first.shape[-1], second.shape[-1]
    if n == m and wx is None and wy is None:  # no mass is split: nothing is rounded but the numbers
        cost = np.mean(np.abs(np.sort(first) - np.sort(second)) ** p, axis=-1)
    else:
        first, a = ordered(first, masses(wx, n))
        second, b = ordered(second, masses(wy, m))
        cost = monotone_cost(first, a, second, b, p)
    return cost ** (1 / p)


def ordered(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values in ascending order and the mass up to each of them, which ends with 1."""
    order = np.argsort(x, axis=-1, kind="stable")
    level = np.cumsum(w[order], axis=-1)
    level[..., -1] = 1.0
    return np.take_along_axis(x, order, axis=-1), np.minimum(level, 1.0)


def monotone_cost(x: np.ndarray, a: np.ndarray, y: np.ndarray, b: np.ndarray, p: float) -> Real:
    r"""$\int_0^1 |F^{-1}(u) - G^{-1}(u)|^p du$: `x`, `y` ascending, `a`, `b` the levels in $[0, 1]$ where they end.

    The levels of both cut [0, 1] in intervals, on which both quantile functions are constant.
    """
    batch = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    x, a, y, b = (np.broadcast_to(v, (*batch, v.shape[-1])) for v in (x, a, y, b))
    n, m = x.shape[-1], y.shape[-1]
    levels = np.concatenate([a, b], axis=-1)
    order = np.argsort(levels, axis=-1, kind="stable")
    levels = np.take_along_axis(levels, order, axis=-1)
    width = np.diff(levels, axis=-1, prepend=0.0)
    # An interval belongs to the first value whose level is not below its end: as many as levels came before.
    of_x = order < n
    i = np.minimum(np.cumsum(of_x, axis=-1) - of_x, n - 1)
    j = np.minimum(np.cumsum(~of_x, axis=-1) - (~of_x), m - 1)
    apart = np.take_along_axis(x, i, axis=-1) - np.take_along_axis(y, j, axis=-1)
    return np.sum(width * np.abs(apart) ** p, axis=-1)
