r"""On the line the best plan is monotone: the $u$-quantile of one law goes to the $u$-quantile of the other.

$$ W_p(\mu, \nu)^p = \int_0^1 |F^{-1}(u) - G^{-1}(u)|^p\, du . $$
"""

from typing import NamedTuple

import numpy as np

from ..checks import finite_array
from ..errors import InputError
from ..spaces import Numbers
from ._checked import Real, exponent, masses, moves
from ._lengths import power_mean, to_order_one


def wasserstein_1d(
    x: Numbers, y: Numbers, p: float | int = 2, wx: Numbers | None = None, wy: Numbers | None = None
) -> Real:
    r"""$W_p$ of two laws on the line, exactly.

    **Arguments:** `x (..., n)` and `y (..., m)`, numbers with leading axes that broadcast; `p` at least 1; masses
    `wx (n,)`, `wy (m,)`, `None` for equal ones.

    Time is that of sorting, memory linear. Sums of masses are known to rounding: a part of the mass below 4e-15 that
    would be split from a point stays where it is.

    >>> float(wasserstein_1d([0.0, 1.0], [3.0, 5.0]))  # the square root of (3² + 4²)/2
    3.5355339059327378
    """
    first, second, p = finite_array("x", x), finite_array("y", y), exponent(p)
    for name, values in (("x", first), ("y", second)):
        if values.ndim < 1 or values.shape[-1] == 0:
            raise InputError(f"{name} has shape {values.shape}; give numbers as (..., n), at least one.")
    batch(first, second)
    scale, (first, second) = to_order_one(first, second)
    a, b = masses(wx, first.shape[-1]), masses(wy, second.shape[-1])
    return scale * monotone_mean(ordered(first, a), ordered(second, b), p)


class Ordered(NamedTuple):
    """Values in ascending order, the mass of each, and the level, the mass up to each, which ends with 1."""

    x: np.ndarray
    mass: np.ndarray
    level: np.ndarray


def ordered(x: np.ndarray, w: np.ndarray) -> Ordered:
    """The law of values `(..., n)` with masses `(n,)`."""
    order = np.argsort(x, axis=-1, kind="stable")
    n, mass = len(w), w[order]
    if np.ptp(w) == 0:  # i/n and j/m are equal to the last digit where they are equal
        level = np.broadcast_to(np.arange(1, n + 1) / n, x.shape)
    else:
        level = np.minimum(np.cumsum(mass, axis=-1, dtype=np.longdouble).astype(float), 1.0)
        level[..., -1] = 1.0
    return Ordered(np.take_along_axis(x, order, axis=-1), mass, level)


def batch(x: np.ndarray, y: np.ndarray) -> tuple[int, ...]:
    """The common leading axes of values `(..., n)`."""
    try:
        return np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    except ValueError:
        raise InputError(f"x and y have the shapes {x.shape} and {y.shape}; leading axes must agree.") from None


def monotone_mean(first: Ordered, second: Ordered, p: float) -> Real:
    r"""$\big(\int_0^1 |F^{-1}(u) - G^{-1}(u)|^p du\big)^{1/p}$, levels in $[0, 1]$.

    The levels of both cut [0, 1] in intervals, on which both quantile functions are constant.
    """
    shape = batch(first.x, second.x)
    x, wx, a, y, wy, b = (np.broadcast_to(v, (*shape, v.shape[-1])) for v in (*first, *second))
    n, m = x.shape[-1], y.shape[-1]
    levels = np.concatenate([a, b], axis=-1)
    order = np.argsort(levels, axis=-1, kind="stable")
    width = np.diff(np.take_along_axis(levels, order, axis=-1), axis=-1, prepend=0.0)
    # An interval belongs to the first value whose level is not below its end: as many as levels came before.
    of_x = order < n
    i = np.minimum(np.cumsum(of_x, axis=-1) - of_x, n - 1)
    j = np.minimum(np.cumsum(~of_x, axis=-1) - (~of_x), m - 1)
    least = np.minimum(np.take_along_axis(wx, i, axis=-1), np.take_along_axis(wy, j, axis=-1))
    apart = np.take_along_axis(x, i, axis=-1) - np.take_along_axis(y, j, axis=-1)
    return power_mean(np.abs(apart), np.where(moves(width, least), width, 0.0), p)
