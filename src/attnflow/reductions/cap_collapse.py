r"""How fast tokens of one cap come together: the scalar lemma of arXiv:2410.06833, section 2.

The least inner product $u$ within a cap is bounded from below by the solution of

$$ \dot u = u(1 - u)e^{\beta(u - 1)}, \qquad u(0) = u_0 \in (0, 1), $$

for which $1 - u \le e^{-c\beta}$ from the time $e^{\beta(1 - u_0)}/u_0 + e\,c\,\beta^2/(\beta - 1)$ on, for
$\beta > 1$. The exact time follows by quadrature in $s = -\log(1 - u)$, where nothing is singular:

$$ t = \int_{-\log(1 - u_0)}^{c\beta} \frac{e^{\beta e^{-s}}}{1 - e^{-s}}\, ds . $$
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..checks import reals
from ._accelerating import scaled_time
from ._scalar import check_beta, check_each, each, together, written_time

DIGITS = 40.0  # e^-40 is below the rounding of 1


def collapse_time(beta: Any, *, u0: Any, c: Any, log: bool = False) -> Float[Array, "..."]:
    r"""The time at which $1 - u = e^{-c\beta}$, by quadrature; zero if it is so from the start.

    `log=True` gives the natural logarithm, for times that overflow. Broadcast over all arguments.
    """
    beta, u0, c = _checked(beta, u0, c)
    log_unit = -_log_rate(-jnp.log1p(-u0), beta)
    return written_time(_quadrature(beta, u0, c), log_unit, log)


def collapse_bound(beta: Any, *, u0: Any, c: Any, log: bool = False) -> Float[Array, "..."]:
    r"""The lemma's bound of `collapse_time`, broadcast over all arguments."""
    beta, u0, c = _checked(beta, u0, c)
    first, second = beta * (1 - u0) - jnp.log(u0), 1 + jnp.log(c) + 2 * jnp.log(beta) - jnp.log(beta - 1)
    return written_time(jnp.ones_like(beta), jnp.logaddexp(first, second), log)


@eqx.filter_jit
def _quadrature(beta: Array, u0: Array, c: Array) -> Array:
    def one(beta: Array, u0: Array, c: Array) -> Array:
        y0 = -jnp.log1p(-u0)
        return scaled_time(lambda y: _log_rate(y, beta), y0, jnp.maximum(c * beta - y0, 0), jnp.log(beta) + DIGITS)

    return each(one, beta, u0, c)


def _log_rate(y: Array, beta: Array) -> Array:
    r"""$\log\dot y$ for $y = -\log(1 - u)$."""
    return jnp.log(-jnp.expm1(-y)) - beta * jnp.exp(-y)


def _checked(beta: Any, u0: Any, c: Any) -> list[Array]:
    beta, u0, c = together(beta=check_beta(beta), u0=reals("u0", u0), c=reals("c", c))
    check_each("beta", beta, lambda beta: beta > 1, "must be above 1 and finite.")
    check_each("u0", u0, lambda u: (u > 0) & (u < 1), "must lie strictly between 0 and 1.")
    check_each("c", c, lambda c: c > 0, "must be positive.")
    return [beta, u0, c]
