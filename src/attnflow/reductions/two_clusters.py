r"""Two clusters of masses $p$ and $q = 1 - p$ on the circle: one equation for the angle $u \in (0, \pi)$ between them.

With $K = e^{\beta(\cos u - 1)} = e^{-2\beta\sin^2(u/2)}$,

$$ \text{SA:}\quad \dot u = -\sin u\; K\Big[\frac{q}{p + qK} + \frac{p}{q + pK}\Big], \qquad
   \text{shifted USA:}\quad \dot u = -\sin u\; K , \qquad
   \text{USA:}\quad \dot u = -\sin u\; e^{\beta\cos u}. $$

Exact for any $d$: two clusters stay on their great circle. The variable $v = \log\tan(u/2)$ takes the sine away
($\dot u = \sin u\,\dot v$) and keeps the digits of a small angle, so the equation is solved, and integrated, in $v$:

$$ \text{SA:}\quad \dot v = -\varsigma(\ell - k) - \varsigma(-\ell - k), \qquad
   \ell = \log(q/p), \quad k = 2\beta\sin^2(u/2), \quad \varsigma(z) = \frac1{1 + e^{-z}}, $$

in which nothing overflows. The clusters go faster and faster in $-v$, so that a state is the inverse of a time
(`_accelerating`). Reference: docs/theory/sphere.md, Two clusters; arXiv:2410.06833 for the slow regime.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import reals
from ..errors import InputError
from ..spaces import is_concrete
from ._accelerating import LogRate, scaled_time, travelled
from ._scalar import (
    Clock,
    check_beta,
    check_clock,
    check_each,
    each,
    elapsed,
    in_units,
    log_clock,
    one_number,
    together,
    written_time,
)

DIGITS = 20.0  # e^-40 is below the rounding of 1, and sin^2 falls like e^{2v}


def two_cluster_rate(u: Any, *, p: Any, beta: Any, kind: Clock | Any = "SA") -> Float[Array, "..."]:
    r"""The right-hand side $\dot u$ at the angle $u \in [0, \pi]$."""
    check_clock(kind)
    u, p, beta = together(u=reals("u", u), p=_mass(p), beta=check_beta(beta))
    angle = "is no angle between two clusters; take numbers from 0 to pi."
    check_each("u", u, lambda u: (u >= 0) & (u <= np.pi), angle)
    log_speed = _log_speed(jnp.sin(u / 2) ** 2, p, beta, jnp.asarray(kind == "SA"))
    return -jnp.sin(u) * jnp.exp(log_speed + log_clock(beta, kind))


def two_cluster_flow(ts: Any, *, u0: Any, p: Any, beta: Any, kind: Clock | Any = "SA") -> Float[Array, " T"]:
    r"""The angle $u$ at the times `ts` (the first is the initial time), from $u_0 \in (0, \pi)$.

    - `p`: the mass of one cluster, in [0, 1]; the other has $1 - p$. The equation does not see which is which.
    - `kind`: the clock. Times do not compare: shifted USA is slower than USA by $e^\beta$, beta-USA faster by $\beta$.

    Times may be as long as a float can write, and infinite: that is the limit, 0. A small angle keeps its digits.
    """
    check_clock(kind)
    times, u0, p, beta = elapsed(ts), _angle("u0", u0), _mass(p), check_beta(beta)
    one_number(u0=u0, p=p, beta=beta)
    return _flow(times, u0, p, beta, log_clock(beta, kind), jnp.asarray(kind == "SA"))


def two_cluster_time(
    beta: Any, *, u0: Any, u1: Any, p: Any, kind: Clock | Any = "SA", log: bool = False
) -> Float[Array, "..."]:
    r"""How long two clusters take from the angle $u_0$ to the smaller angle $u_1$, by quadrature instead of an ODE.

    $$ t = \int_{\log\tan(u_1/2)}^{\log\tan(u_0/2)} \frac{dv}{|\dot v|} , $$

    which is of the order $e^{\beta(1 - \cos u_0)}$: an integrator of the motion loses such times in the rounding of
    its clock. `log=True` gives the natural logarithm, for times that overflow. Broadcast over all arguments.
    """
    check_clock(kind)
    beta, u0, u1, p = check_beta(beta), _angle("u0", u0), _angle("u1", u1), _mass(p)
    beta, u0, u1, p = together(beta=beta, u0=u0, u1=u1, p=p)
    if is_concrete(u0, u1) and np.any(wider := np.asarray(u1) > np.asarray(u0)):
        end, start = np.asarray(u1)[wider].flat[0], np.asarray(u0)[wider].flat[0]
        raise InputError(f"u1 = {end} is wider than u0 = {start}; clusters only approach.")
    normalised = jnp.asarray(kind == "SA")
    log_unit = -_log_speed(jnp.sin(u0 / 2) ** 2, p, beta, normalised) - log_clock(beta, kind)
    return written_time(_quadrature(beta, u0, u1, p, normalised), log_unit, log)


def _log_speed(sin2: Array, p: Array, beta: Array, normalised: Array) -> Array:
    r"""$\log|\dot v|$ for SA or shifted USA, where `sin2` is $\sin^2(u/2)$."""
    k = 2 * beta * sin2
    odds = jnp.log1p(-p) - jnp.log(p)  # infinite for a cluster without mass, which the logistic function takes
    # Both in one program: compiling costs more than either.
    both = jnp.logaddexp(jax.nn.log_sigmoid(odds - k), jax.nn.log_sigmoid(-odds - k))
    return jnp.where(normalised, both, -k)


def _log_rate(p: Array, beta: Array, normalised: Array) -> LogRate:
    # In y = -v, which increases: sin^2(u/2) = 1/(1 + e^{2y})
    return lambda y: _log_speed(jax.nn.sigmoid(-2 * y), p, beta, normalised)


def _far(beta: Array) -> Array:
    """Where the exponent is zero to rounding."""
    return jnp.log(jnp.maximum(beta, 1)) / 2 + DIGITS


@eqx.filter_jit
def _flow(ts: Array, u0: Array, p: Array, beta: Array, faster: Array, normalised: Array) -> Array:
    y0, log_rate = -jnp.log(jnp.tan(u0 / 2)), _log_rate(p, beta, normalised)
    way = travelled(log_rate, y0, in_units(ts, log_rate(y0) + faster), _far(beta))
    return 2 * jnp.arctan(jnp.exp(-(y0 + way)))


@eqx.filter_jit
def _quadrature(beta: Array, u0: Array, u1: Array, p: Array, normalised: Array) -> Array:
    def one(beta: Array, u0: Array, u1: Array, p: Array) -> Array:
        # log tan(u0/2) - log tan(u1/2), which keeps the digits of nearly equal angles
        way = jnp.log1p(jnp.sin((u0 - u1) / 2) / (jnp.cos(u0 / 2) * jnp.sin(u1 / 2)))
        return scaled_time(_log_rate(p, beta, normalised), -jnp.log(jnp.tan(u0 / 2)), way, _far(beta))

    return each(one, beta, u0, u1, p)


def _mass(p: Any) -> Array:
    found = reals("p", p)
    mass = "is no mass of one of two clusters; take a number from 0 to 1."
    check_each("p", found, lambda p: (p >= 0) & (p <= 1), mass)
    return found


def _angle(name: Any, u: Any) -> Array:
    found = reals(name, u)
    between = "must lie strictly between 0 and pi; at the ends nothing moves."
    check_each(name, found, lambda u: (u > 0) & (u < np.pi), between)
    return found
