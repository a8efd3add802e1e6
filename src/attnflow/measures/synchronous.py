r"""Point by point: the plan that moves $x_i$ to $y_i$."""

from ..errors import InputError
from ..spaces import Numbers
from ._checked import Real, exponent, masses, pair
from ._lengths import norms, power_mean, to_order_one
from .line import batch


def synchronous(x: Numbers, y: Numbers, p: float | int = 2, weights: Numbers | None = None) -> Real:
    r"""$\big(\sum_i w_i |x_i - y_i|^p\big)^{1/p}$, an upper bound of $W_p$: one plan of many.

    **Arguments:** points `x`, `y (..., n, d)` in the same order, leading axes broadcast; `p` at least 1; masses
    `weights (n,)` of the pairs, `None` for equal ones. Distances are chordal. Time and memory are linear.
    """
    first, second = pair(x, y)
    if first.shape[-2] != second.shape[-2]:
        raise InputError(f"x has {first.shape[-2]} points and y {second.shape[-2]}; point i is compared with point i.")
    p, w = exponent(p), masses(weights, first.shape[-2])
    batch(first[..., 0], second[..., 0])
    scale, (first, second) = to_order_one(first, second)
    return scale * power_mean(norms(first - second), w, p)
