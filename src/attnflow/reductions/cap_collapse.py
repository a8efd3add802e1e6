r"""How fast tokens of one cap come together: the scalar lemma of arXiv:2410.06833, section 2.

The least inner product $u$ within a cap is bounded from below by the solution of

$$ \dot u = u(1 - u)e^{\beta(u - 1)}, \qquad u(0) = u_0 \in (0, 1), $$

for which $1 - u \le e^{-c\beta}$ from the time $e^{\beta(1 - u_0)}/u_0 + e\,c\,\beta^2/(\beta - 1)$ on, for
$\beta > 1$. The exact time follows by quadrature in $s = -\log(1 - u)$, where nothing is singular:

$$ t = \int_{-\log(1 - u_0)}^{c\beta} \frac{e^{\beta e^{-s}}}{1 - e^{-s}}\, ds . $$
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import InputError
from ..spaces import Numbers, is_concrete
from ._scalar import gauss_legendre

PANELS = 8  # the integrand falls from e^{beta (1 - u0)} to 1 within a short part of the interval


def collapse_time(beta: Numbers, *, u0: Numbers, c: Numbers) -> Float[Array, "..."]:
    r"""The time at which $1 - u = e^{-c\beta}$, by quadrature; zero if it is so from the start."""
    _check(beta, u0, c)
    beta, u0, c = jnp.broadcast_arrays(*(jnp.asarray(a, jnp.result_type(float)) for a in (beta, u0, c)))
    return _quadrature(beta, u0, c)


def collapse_bound(beta: Numbers, *, u0: Numbers, c: Numbers) -> Float[Array, "..."]:
    r"""The lemma's bound of `collapse_time`."""
    _check(beta, u0, c)
    beta, u0, c = (jnp.asarray(a, jnp.result_type(float)) for a in (beta, u0, c))
    return jnp.exp(beta * (1 - u0)) / u0 + jnp.e * c * beta**2 / (beta - 1)


@eqx.filter_jit
def _quadrature(beta: Array, u0: Array, c: Array) -> Array:
    nodes, weights = (jnp.asarray(a, beta.dtype) for a in gauss_legendre())

    def one(item: tuple[Array, ...]) -> Array:
        beta, u0, c = item
        start, end = -jnp.log1p(-u0), c * beta
        width = jnp.maximum(end - start, 0) / PANELS
        s = start + width * (jnp.arange(PANELS, dtype=beta.dtype)[:, None] + (nodes[None, :] + 1) / 2)
        return width / 2 * jnp.sum(weights[None, :] * jnp.exp(beta * jnp.exp(-s)) / -jnp.expm1(-s))

    return jnp.reshape(jax.lax.map(one, tuple(map(jnp.ravel, (beta, u0, c)))), beta.shape)


def _check(beta: Numbers, u0: Numbers, c: Numbers) -> None:
    if is_concrete(beta) and not np.all((np.asarray(beta) > 1) & np.isfinite(np.asarray(beta))):
        raise InputError(f"beta = {beta} must be above 1 and finite.")
    if is_concrete(u0) and not np.all((np.asarray(u0) > 0) & (np.asarray(u0) < 1)):
        raise InputError(f"u0 = {u0} must lie strictly between 0 and 1.")
    if is_concrete(c) and not np.all(np.asarray(c) > 0):
        raise InputError(f"c = {c} must be positive.")
