r"""Equiangular tokens: the whole system reduces to one scalar equation for $g = \langle x_i, x_j\rangle$, $i \ne j$.

$$ \text{SA:}\quad \dot g = \frac{2 e^{\beta g}(1-g)((n-1)g+1)}{e^\beta + (n-1)e^{\beta g}}, \qquad
   \text{USA:}\quad \dot g = \tfrac2n\, e^{\beta g}(1-g)((n-1)g+1). $$

Exact for tokens that start with all inner products equal (orthonormal tokens: $g(0) = 0$). Fixed points are 1 (stable)
and $-1/(n-1)$ (unstable). For $d \ge d^*(n, \beta)$ independent uniform tokens follow the same curve.

Reference: arXiv:2312.10794, theorems 6.8 and 6.9.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from ..errors import InputError
from ..spaces import Numbers
from ._scalar import Clock, check_beta, check_clock, gauss_legendre, scalar_flow


def equiangular_rate(g: ArrayLike, *, n: ArrayLike, beta: ArrayLike, kind: Clock = "SA") -> Float[Array, "..."]:
    r"""The right-hand side $\dot g$, evaluated with $e^{\beta(g-1)}$ so that a large $\beta$ does not overflow."""
    g = jnp.asarray(g, jnp.result_type(float))
    n, beta = jnp.asarray(n, g.dtype), jnp.asarray(beta, g.dtype)
    polynomial = 2 * (1 - g) * ((n - 1) * g + 1)
    if kind in ("USA", "beta-USA"):
        return polynomial / n * jnp.exp(beta * g) * (beta if kind == "beta-USA" else 1)
    e = jnp.exp(beta * (g - 1))
    return polynomial * e / (1 + (n - 1) * e if kind == "SA" else n)


def equiangular_flow(
    ts: Numbers, *, n: int, beta: ArrayLike, rho0: float = 0.0, kind: Clock = "SA"
) -> Float[Array, " T"]:
    r"""$g$ at the times `ts` (the first is the initial time), from $g = \rho_0 \ge -1/(n-1)$."""
    _check(n, beta, kind)
    if not -1 / (n - 1) - 1e-12 <= rho0 <= 1:
        raise InputError(f"rho0 = {rho0:g}: {n} unit vectors have equal inner products in [{-1 / (n - 1):g}, 1] only.")
    ts = jnp.asarray(ts, jnp.result_type(float))
    return _flow(ts, jnp.asarray(n, ts.dtype), jnp.asarray(beta, ts.dtype), jnp.asarray(rho0, ts.dtype), kind)


@eqx.filter_jit
def _flow(ts: Array, n: Array, beta: Array, rho0: Array, kind: Clock) -> Array:
    return scalar_flow(lambda g: equiangular_rate(g, n=n, beta=beta, kind=kind), ts, rho0)


def phase_time(beta: Numbers, *, n: int, delta: float = 1e-3, kind: Clock = "SA") -> Float[Array, "..."]:
    r"""When equiangular tokens from $g(0) = 0$ reach $g = 1 - \delta$, by quadrature instead of an ODE.

    $$ t^*(\beta) = \int_0^{\ln 1/\delta} \frac{e^{-s}}{f(1 - e^{-s})}\, ds , $$

    $f$ the right-hand side of the reduced equation. This is the curve over the probability maps of the paper's
    figure 3. Vectorised over `beta`.
    """
    _check(n, beta, kind)
    if not 0 < delta < 1:
        raise InputError(f"delta = {delta:g} must lie between 0 and 1.")
    beta = jnp.asarray(beta, jnp.result_type(float))
    return _quadrature(beta, jnp.asarray(n, beta.dtype), jnp.asarray(np.log(1 / delta), beta.dtype), kind)


@eqx.filter_jit
def _quadrature(beta: Array, n: Array, length: Array, kind: Clock) -> Array:
    nodes, weights = gauss_legendre()
    s = length / 2 * jnp.asarray(nodes + 1, beta.dtype)
    ds = length / 2 * jnp.asarray(weights, beta.dtype)

    def at(b: Array) -> Array:
        return jnp.sum(ds * jnp.exp(-s) / equiangular_rate(1 - jnp.exp(-s), n=n, beta=b, kind=kind))

    return jnp.reshape(jax.lax.map(at, jnp.ravel(beta)), beta.shape)


def _check(n: int, beta: Numbers, kind: str) -> None:
    if n < 2:
        raise InputError(f"n = {n}: equiangular tokens come in twos or more.")
    check_clock(kind)
    check_beta(beta)
