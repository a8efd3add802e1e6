r"""Two clusters of masses $p$ and $q = 1 - p$ on the circle: one equation for the angle $u \in (0, \pi)$ between them.

With $K = e^{\beta(\cos u - 1)} = e^{-2\beta\sin^2(u/2)}$,

$$ \text{SA:}\quad \dot u = -\sin u\; K\Big[\frac{q}{p + qK} + \frac{p}{q + pK}\Big], \qquad
   \text{shifted USA:}\quad \dot u = -\sin u\; K , \qquad
   \text{USA:}\quad \dot u = -\sin u\; e^{\beta\cos u}. $$

Exact for any $d$: two clusters stay on their great circle. The variable $v = \log\tan(u/2)$ takes the sine away
($\dot u = \sin u\,\dot v$) and keeps the digits of a small angle, so the equation is solved, and integrated, in $v$:

$$ \text{SA:}\quad \dot v = -\varsigma(\ell - k) - \varsigma(-\ell - k), \qquad
   \ell = \log(q/p), \quad k = 2\beta\sin^2(u/2), \quad \varsigma(z) = \frac1{1 + e^{-z}}, $$

in which nothing overflows. Reference: docs/theory/sphere.md, Two clusters; arXiv:2410.06833 for the slow regime.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from ..errors import InputError
from ..spaces import Numbers, is_concrete
from ._scalar import Clock, check_beta, check_clock, gauss_legendre, scalar_flow


def two_cluster_rate(u: ArrayLike, *, p: ArrayLike, beta: ArrayLike, kind: Clock = "SA") -> Float[Array, "..."]:
    r"""The right-hand side $\dot u$ at the angle $u$."""
    _check(p, beta, kind)
    u = jnp.asarray(u, jnp.result_type(float))
    p, beta = jnp.asarray(p, u.dtype), jnp.asarray(beta, u.dtype)
    normalised, faster = _clock(beta, kind)
    return jnp.sin(u) * faster * _speed(jnp.sin(u / 2) ** 2, p, beta, normalised)


def two_cluster_flow(
    ts: Numbers, *, u0: ArrayLike, p: ArrayLike, beta: ArrayLike, kind: Clock = "SA"
) -> Float[Array, " T"]:
    r"""The angle $u$ at the times `ts` (the first is the initial time), from $u_0 \in (0, \pi)$.

    - `p`: the mass of one cluster, in [0, 1]; the other has $1 - p$. The equation does not see which is which.
    - `kind`: the clock. Times do not compare: shifted USA is slower than USA by $e^\beta$, beta-USA faster by $\beta$.
    """
    _check(p, beta, kind, u0=u0)
    ts = jnp.asarray(ts, jnp.result_type(float))
    u0, p, beta = (jnp.asarray(a, ts.dtype) for a in (u0, p, beta))
    normalised, faster = _clock(beta, kind)
    return _flow(ts * faster, u0, p, beta, normalised)


def two_cluster_time(beta: Numbers, *, u0: Numbers, u1: Numbers, p: Numbers, kind: Clock = "SA") -> Float[Array, "..."]:
    r"""How long two clusters take from the angle $u_0$ to the smaller angle $u_1$, by quadrature instead of an ODE.

    $$ t = \int_{\log\tan(u_1/2)}^{\log\tan(u_0/2)} \frac{dv}{|\dot v|} , $$

    which is of the order $e^{\beta(1 - \cos u_0)}$: an integrator of the motion loses such times in the rounding of
    its clock. Broadcast over all arguments.
    """
    _check(p, beta, kind, u0=u0, u1=u1)
    if is_concrete(u0, u1) and np.any(np.asarray(u1) > np.asarray(u0)):
        raise InputError(f"u1 = {u1} is wider than u0 = {u0}; clusters only approach.")
    beta, u0, u1, p = jnp.broadcast_arrays(*(jnp.asarray(a, jnp.result_type(float)) for a in (beta, u0, u1, p)))
    normalised, faster = _clock(beta, kind)
    return _quadrature(beta, u0, u1, p, normalised) / faster


def _speed(sin2: Array, p: Array, beta: Array, normalised: Array) -> Array:
    r"""$\dot v$ for SA or shifted USA, where `sin2` is $\sin^2(u/2)$."""
    k = 2 * beta * sin2
    odds = jnp.log1p(-p) - jnp.log(p)  # infinite for a cluster without mass, which the logistic function takes
    # Both in one program: compiling costs more than either.
    return -jnp.where(normalised, jax.nn.sigmoid(odds - k) + jax.nn.sigmoid(-odds - k), jnp.exp(-k))


def _clock(beta: Array, kind: Clock) -> tuple[Array, Array]:
    """Whether the map is normalised, and how much faster its clock is than that of SA or shifted USA."""
    faster = jnp.ones_like(beta) if kind in ("SA", "shifted USA") else jnp.exp(beta)
    return jnp.asarray(kind == "SA"), beta * faster if kind == "beta-USA" else faster


def _log_tan(u: Array) -> Array:
    return jnp.log(jnp.tan(u / 2))


@eqx.filter_jit
def _flow(ts: Array, u0: Array, p: Array, beta: Array, normalised: Array) -> Array:
    # sin^2(u/2) = 1/(1 + e^{-2v})
    v = scalar_flow(lambda v: _speed(jax.nn.sigmoid(2 * v), p, beta, normalised), ts, _log_tan(u0))
    return 2 * jnp.arctan(jnp.exp(v))


@eqx.filter_jit
def _quadrature(beta: Array, u0: Array, u1: Array, p: Array, normalised: Array) -> Array:
    nodes, weights = (jnp.asarray(a, beta.dtype) for a in gauss_legendre())

    def one(item: tuple[Array, ...]) -> Array:
        beta, v0, v1, p = item
        v = v1 + (v0 - v1) / 2 * (nodes + 1)
        return (v0 - v1) / 2 * jnp.sum(weights / -_speed(jax.nn.sigmoid(2 * v), p, beta, normalised))

    items = (beta, _log_tan(u0), _log_tan(u1), p)
    return jnp.reshape(jax.lax.map(one, tuple(map(jnp.ravel, items))), beta.shape)


def _check(p: Numbers, beta: Numbers, kind: str, **angles: Numbers) -> None:
    check_clock(kind)
    check_beta(beta)
    if is_concrete(p) and not np.all((np.asarray(p) >= 0) & (np.asarray(p) <= 1)):
        raise InputError(f"p = {p} is no mass of one of two clusters; take a number from 0 to 1.")
    for name, u in angles.items():
        if is_concrete(u) and not np.all((np.asarray(u) > 0) & (np.asarray(u) < np.pi)):
            raise InputError(f"{name} = {u} must lie strictly between 0 and pi; at the ends nothing moves.")
