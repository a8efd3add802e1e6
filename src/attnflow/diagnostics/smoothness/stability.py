r"""Consequences of the bounds for the flow: the ball of its tokens, and the distance of two of its laws.

Attention reads from the convex hull of the values, so that tokens which start in a ball of radius $R_0$ stay in one of
radius $R(t) = R_0e^{\|V\|t}$. If $\Lambda(R)$ bounds the norm of the derivative in the ball of radius $R$ for every
number of tokens, then

$$ W_2(\mu_t, \nu_t) \le W_2(\mu_0, \nu_0)\,\exp\int_0^t \Lambda(R(s))\,ds , $$

and the same for masked attention in the conditional distance $d_2$ (docs/theory/smoothness.md, Stability).
"""

from typing import Any

import numpy as np

from ...checks import finite_array, flag, number, whole
from ...errors import InputError, shown
from ...spaces import Numbers
from ._norms import matrix_norms
from .bounds import UNIFORM, columns, product

Real = np.ndarray | np.floating | float  # a number, or one for every time
DEFAULT = {False: "kantorovich", True: "hardy"}


def support_radius(t: Numbers, *, radius: Numbers, V: Numbers | None = None) -> Real:
    r"""$R_0e^{\|V\|t}$: no token is farther from the origin at time `t`, if none was farther than `radius` at zero.

    `V` is `None` for the identity; a number is a 1 x 1 matrix.

    It holds for maps whose weights sum to one or less: softmax, L2, hardmax, Sinkhorn, sigmoid; masked or not.
    """
    R, (v, _) = number("radius", radius, 0), matrix_norms(V, None, 1.0)
    with np.errstate(over="ignore"):
        return product(R, np.exp(v * _times(t)))


def stability_factor(
    t: Numbers,
    *,
    radius: Numbers,
    V: Numbers | None = None,
    B: Numbers | None = None,
    beta: Numbers = 1.0,
    masked: bool = False,
    bound: Any = None,
    n: Any = None,
) -> Real:
    r"""$\exp\int_0^t\Lambda(R(s))\,ds$: by what factor the distance of two laws may grow until the times `t`.

    **Arguments:** `radius`, of the ball in which both start; `V`, `B`, `None` for the identity; `masked`, for
    `pairs=Causal()` and `measures.conditional_wasserstein` in place of $W_2$; `bound`, which $\Lambda$ of `bounds` is
    integrated: `"kantorovich"` (the default), `"wasserstein"`, `"hardy"` (the default for masked attention), or
    `"columns"`, which is smaller; `n`, for `"columns"`: how many tokens at most, `None` for any law.

    The factor is an upper bound and grows like the exponential of an exponential; where it overflows it is `inf`.
    """
    R, (v, alpha) = number("radius", radius, 0), matrix_norms(V, B, beta)
    masked = flag("masked", masked)
    name = DEFAULT[masked] if bound is None else bound
    there = ["columns", *(key for key, entry in UNIFORM.items() if entry[0] == masked)]
    if not isinstance(name, str) or name not in there:
        raise InputError(f"bound {shown(name)} is none of those that hold here; choose one of {', '.join(there)}.")
    if name == "columns" and masked and n is None:
        raise InputError("the bound 'columns' of masked attention grows with the number of tokens; give n, or 'hardy'.")
    if name != "columns" and n is not None:
        raise InputError(f"n = {shown(n)} is for the bound 'columns'; {name!r} holds for every number of tokens.")
    n = None if n is None else whole("n", n)
    times = _times(t)[..., None]
    nodes, weights = np.polynomial.legendre.leggauss(200)  # the integrand is analytic: convergence is geometric
    s = times * (nodes + 1) / 2
    with np.errstate(over="ignore", invalid="ignore"):
        reach = product(R, np.exp(v * s))
        if name == "columns":
            rates = columns(alpha, reach, 2 * reach, n, masked)
        else:
            rates = UNIFORM[name][1](product(alpha, reach**2))
        return np.exp(np.sum(product(v * times / 2 * weights, rates), axis=-1))


def _times(t: Numbers) -> np.ndarray:
    times = finite_array("t", t)
    if (times < 0).any():
        raise InputError(f"t = {times.min():g} is negative; bounds are for the flow forward in time.")
    return times
