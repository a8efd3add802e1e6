r"""Equiangular tokens: the whole system reduces to one scalar equation for $g = \langle x_i, x_j\rangle$, $i \ne j$.

$$ \text{SA:}\quad \dot g = \frac{2 e^{\beta g}(1-g)((n-1)g+1)}{e^\beta + (n-1)e^{\beta g}}, \qquad
   \text{USA:}\quad \dot g = \tfrac2n\, e^{\beta g}(1-g)((n-1)g+1). $$

Exact for tokens that start with all inner products equal (orthonormal tokens: $g(0) = 0$). Fixed points are 1 (stable)
and $-1/(n-1)$ (unstable). For $d \ge d^*(n, \beta)$ independent uniform tokens follow the same curve.

In $y = \log\frac{1 + (n-1)g}{1 - g}$ both fixed points are at infinity and the speed is bounded,

$$ \text{SA:}\quad \dot y = \frac{2n\,e}{1 + (n-1)e}, \qquad \text{shifted USA:}\quad \dot y = 2e, \qquad
   e = e^{\beta(g-1)}, \quad 1 - g = \frac n{e^y + n - 1}, $$

so the flow and the times are computed there: no time is too long, and $1 - g$ keeps its digits.

Reference: arXiv:2312.10794, theorems 6.8 and 6.9.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import finite_array, flag, reals, whole
from ..errors import InputError
from ..spaces import Numbers, is_concrete
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

DIGITS = 40.0  # e^-40 is below the rounding of 1


def equiangular_rate(g: Numbers, *, n: Numbers, beta: Numbers, clock: Clock = "SA") -> Float[Array, "..."]:
    r"""The right-hand side $\dot g$, evaluated with $e^{\beta(g-1)}$ so that a large $\beta$ does not overflow."""
    check_clock(clock)
    g, n, beta = together(g=reals("g", g), n=_tokens(n), beta=check_beta(beta))
    check_each("g", g, lambda g: np.abs(g) <= 1, "is no inner product of unit vectors; take numbers from -1 to 1.")
    polynomial = 2 * (1 - g) * ((n - 1) * g + 1)
    if clock in ("USA", "beta-USA"):
        return polynomial / n * jnp.exp(beta * g) * (beta if clock == "beta-USA" else 1)
    e = jnp.exp(beta * (g - 1))
    return polynomial * e / (1 + (n - 1) * e if clock == "SA" else n)


def equiangular_flow(
    ts: Numbers, *, n: Numbers, beta: Numbers, rho0: Numbers = 0.0, clock: Clock = "SA", gap: bool = False
) -> Float[Array, " T"]:
    r"""$g$ at the times `ts` (the first is the initial time), from $g = \rho_0 \ge -1/(n-1)$; never above 1.

    Times may be as long as a float can write, and infinite: that is the limit, 1 unless $\rho_0 = -1/(n-1)$.
    `gap=True` gives $1 - g$ with all its digits: it falls like $e^{-2t}$ (SA) long after $g$ is 1 to rounding.
    """
    check_clock(clock)
    flag("gap", gap)
    times, n, beta, rho0 = elapsed(ts), _tokens(n), check_beta(beta), reals("rho0", rho0)
    one_number(n=n, beta=beta, rho0=rho0)
    if is_concrete(n, rho0) and not -1 / (float(n) - 1) - 1e-12 <= float(rho0) <= 1:
        least = -1 / (float(n) - 1)
        raise InputError(
            f"rho0 = {float(rho0):g}: {float(n):.15g} unit vectors have equal inner products in [{least:g}, 1] only."
        )
    y = _flow(times, n, beta, rho0, log_clock(beta, clock), jnp.asarray(clock == "SA"))
    return _gap(y, n) if gap else _cosine(y, n)


@eqx.filter_jit
def _flow(ts: Array, n: Array, beta: Array, rho0: Array, faster: Array, normalised: Array) -> Array:
    above = 1 + (n - 1) * rho0
    leaves = above > 4 * jnp.finfo(ts.dtype).eps  # up to rounding, -1/(n-1) is where nothing moves
    moves = leaves & (rho0 < 1)
    y0 = jnp.log1p(jnp.where(moves, (n - 1) * rho0, 0)) - jnp.log1p(-jnp.where(moves, rho0, 0))
    log_rate = _log_rate(n, beta, normalised)
    way = travelled(log_rate, y0, in_units(ts, log_rate(y0) + faster), _far(n, beta))
    return jnp.where(moves, y0 + way, jnp.where(leaves, jnp.inf, -jnp.inf))


def phase_time(
    beta: Numbers, *, n: Numbers, delta: Numbers = 1e-3, clock: Clock = "SA", log: bool = False
) -> Float[Array, "..."]:
    r"""When equiangular tokens from $g(0) = 0$ reach $g = 1 - \delta$, by quadrature instead of an ODE.

    $$ t^*(\beta) = \int_0^{y_\delta} \frac{dy}{\dot y}, \qquad
       y_\delta = \log\frac{1 + (n-1)(1-\delta)}\delta , $$

    with $\dot y$ as above. This is the curve over the probability maps of the paper's figure 3. Vectorised over `beta`,
    `n` and `delta`, which may be as small as a float can write. `log=True` gives the natural logarithm, for times that
    overflow: they are of the order $e^\beta/\beta$.
    """
    check_clock(clock)
    beta, n = check_beta(beta), _tokens(n)
    if is_concrete(delta, n):
        # In double precision: single precision cannot write 1e-300, nor 1 - 1e-15.
        small = finite_array("delta", delta)
        check_each("delta", small, lambda delta: (delta > 0) & (delta < 1), "must lie between 0 and 1.")
        count = np.asarray(n, float)
        together(n=n, delta=jnp.asarray(small))
        way = jnp.asarray(np.log1p((count - 1) * (1 - small)) - np.log(small), beta.dtype)
    else:
        small, count = together(delta=jnp.asarray(delta, beta.dtype), n=n)
        way = jnp.log1p((count - 1) * (1 - small)) - jnp.log(small)
    beta, n, way = together(beta=beta, n=n, delta=way)
    normalised = jnp.asarray(clock == "SA")
    log_unit = -_log_rate(n, beta, normalised)(jnp.zeros_like(beta)) - log_clock(beta, clock)
    return written_time(_quadrature(beta, n, way, normalised), log_unit, log)


@eqx.filter_jit
def _quadrature(beta: Array, n: Array, way: Array, normalised: Array) -> Array:
    def one(beta: Array, n: Array, way: Array) -> Array:
        return scaled_time(_log_rate(n, beta, normalised), jnp.zeros_like(beta), way, _far(n, beta))

    return each(one, beta, n, way)


def _log_rate(n: Array, beta: Array, normalised: Array) -> LogRate:
    r"""$\log\dot y$ for SA or shifted USA."""

    def log_rate(y: Array) -> Array:
        exponent = -beta * _gap(y, n)
        share = jnp.where(normalised, jnp.log(n) - jnp.log1p((n - 1) * jnp.exp(exponent)), 0)
        return jnp.log(jnp.asarray(2, y.dtype)) + share + exponent

    return log_rate


def _far(n: Array, beta: Array) -> Array:
    """Where the exponent is zero to rounding."""
    return jnp.log(n) + jnp.log(jnp.maximum(beta, 1)) + DIGITS


def _cosine(y: Array, n: Array) -> Array:
    r"""$g = (e^y - 1)/(e^y + n - 1)$, written for both signs of $y$ so that nothing overflows."""
    up = y >= 0
    plus, minus = jnp.exp(-jnp.where(up, y, 0)), jnp.exp(jnp.where(up, 0, y))
    rising = -jnp.expm1(-jnp.where(up, y, 0)) / (1 + (n - 1) * plus)
    return jnp.where(up, rising, jnp.expm1(jnp.where(up, 0, y)) / (minus + n - 1))


def _gap(y: Array, n: Array) -> Array:
    r"""$1 - g = n/(e^y + n - 1)$."""
    up = y >= 0
    plus, minus = jnp.exp(-jnp.where(up, y, 0)), jnp.exp(jnp.where(up, 0, y))
    return jnp.where(up, n * plus / (1 + (n - 1) * plus), n / (minus + n - 1))


def _tokens(n: Numbers) -> Array:
    """Numbers of tokens, two or more."""
    counts = reals("n", n)
    if is_concrete(n) and counts.ndim == 0:
        whole("n", n, least=2)
    two = "is no number of equiangular tokens; take whole numbers, two or more."
    check_each("n", counts, lambda n: (n >= 2) & (n % 1 == 0), two)
    return counts
