r"""Causal tokens on the circle, many replicas at once: the force of all earlier tokens as a Fourier series,

$$ \dot\theta_j = -2\sum_m m I_m(\beta)\,\mathrm{Im}\,\big(z_j^m \overline{A_m(j)}\big), \qquad
   A_m(j) = \sum_{k<j} w_{jk}z_k^m, \quad z = e^{i\theta} , $$

with prefix sums for ALiBi weights: $O(N)$ for each mode. Replicas are the last axis. Reverse mode is written out: it
needs the suffix sums alone, where an automatic one would compute the forces again.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._steps import rk4
from .rates import zonal_terms

TILE = 16


class Alibi(eqx.Module):
    r"""$x_j \mapsto \sum_{k<j} w_{jk}x_k$ with $w_{jk} \propto e^{\lambda k/N}$, by sums over tiles of tokens."""

    slope: Float[Array, ""]

    def __call__(self, x: Float[Array, "n r"]) -> Float[Array, "n r"]:
        n = x.shape[0]
        # Relative to the last token, so that nothing overflows.
        growing = jnp.exp(jnp.asarray(self.slope, x.dtype) * (jnp.arange(n, dtype=x.dtype) / n - 1))[:, None]
        total = before(growing)
        return before(growing * x) / jnp.where(total > 0, total, 1)


class Weights(eqx.Module):
    r"""$x_j \mapsto \sum_{k<j} w_{jk}x_k$ with any strictly lower triangular $w$."""

    w: Float[Array, "n n"]

    def __call__(self, x: Float[Array, "n r"]) -> Float[Array, "n r"]:
        return jnp.matmul(self.w.astype(x.dtype), x, precision="highest")


def before(x: Float[Array, "n r"]) -> Float[Array, "n r"]:
    """Sums over all earlier rows: within tiles, and of whole tiles."""
    n = x.shape[0]
    tiles = -(-n // TILE)
    y = jnp.pad(x, ((0, tiles * TILE - n), (0, 0))).reshape(tiles, TILE, -1)
    within, across = (jnp.asarray(np.tri(k, k, -1), x.dtype) for k in (TILE, tiles))
    inside = jnp.einsum("ij,bjr->bir", within, y, precision="highest")
    whole = jnp.matmul(across, jnp.sum(y, axis=1), precision="highest")
    return (inside + whole[:, None, :]).reshape(tiles * TILE, -1)[:n]


@jax.custom_vjp
def circle_force(theta: Float[Array, "n r"], bessel: Float[Array, " m"], earlier: Any) -> Float[Array, "n r"]:
    r"""The force on every token; `bessel` are $I_1(\beta), \dots, I_K(\beta)$, `earlier` is linear."""
    return _force_and_slope(theta, bessel, earlier)[0]


def _force_and_slope(theta: Array, bessel: Array, earlier: Any) -> tuple[Array, Array]:
    r"""The force, and its derivative by the token's own angle. Modes one after the other stay in a core's cache."""

    def add(carry: Any, mode: Any) -> tuple[Any, None]:
        (c, s), force, own = carry
        m, weight = mode
        both = earlier(jnp.concatenate([c, s], axis=1))
        c_sum, s_sum = both[:, : c.shape[1]], both[:, c.shape[1] :]
        force = force - 2 * m * weight * (s * c_sum - c * s_sum)
        own = own - 2 * m**2 * weight * (c * c_sum + s * s_sum)
        return (_next(c, s, first), force, own), None

    first = (jnp.cos(theta), jnp.sin(theta))
    zero = jnp.zeros_like(theta)
    return jax.lax.scan(add, (first, zero, zero), _modes(bessel))[0][1:]


def _forward(theta: Array, bessel: Array, earlier: Any) -> tuple[Array, Any]:
    force, own = _force_and_slope(theta, bessel, earlier)
    return force, (theta, own, bessel, earlier)


def _backward(kept: Any, v: Array) -> tuple[Array, None, None]:
    r"""$(J^\top v)_l = v_l\,\partial_l F_l + 2\sum_m m^2I_m\,\mathrm{Re}\,\bar z_l^m\sum_{j>l} w_{jl}v_jz_j^m$."""
    theta, own, bessel, earlier = kept
    first = (jnp.cos(theta), jnp.sin(theta))
    later = jax.linear_transpose(earlier, jnp.concatenate(first, axis=1))

    def add(carry: Any, mode: Any) -> tuple[Any, None]:
        (c, s), total = carry
        m, weight = mode
        (both,) = later(jnp.concatenate([v * c, v * s], axis=1))
        total = total + 2 * m**2 * weight * (c * both[:, : c.shape[1]] + s * both[:, c.shape[1] :])
        return (_next(c, s, first), total), None

    return jax.lax.scan(add, (first, v * own), _modes(bessel))[0][1], None, None


circle_force.defvjp(_forward, _backward)


def _modes(bessel: Array) -> tuple[Array, Array]:
    return jnp.arange(1, bessel.shape[0] + 1, dtype=bessel.dtype), bessel


def _next(c: Array, s: Array, first: tuple[Array, Array]) -> tuple[Array, Array]:
    """From the cosine and sine of m angles to those of m + 1."""
    return c * first[0] - s * first[1], s * first[0] + c * first[1]


class CircleTokens(eqx.Module):
    """Angles `(n, replicas)` that move by `circle_force`."""

    bessel: Float[Array, " m"]
    earlier: Any
    n: int = eqx.field(static=True)

    def start(self, key: Any, replicas: int) -> Float[Array, "n r"]:
        """Independent uniform angles."""
        return 2 * jnp.pi * jax.random.uniform(key, (self.n, replicas), self.bessel.dtype)

    def moved(self, theta: Float[Array, "n r"], t: Float[Array, ""], steps: int) -> Float[Array, "n r"]:
        """The angles at time `t`."""
        return rk4(lambda x: circle_force(x, self.bessel, self.earlier), theta, t, steps)

    def response(self, theta: Array, t: Array, steps: int, modes: int, equal_time: bool = False) -> list[Array]:
        r"""$N\,\partial\theta_j(t)/\partial\theta_k(0)\,\cos n(\theta_j(t) - \theta_k(0))$, every mode `(n - 1, r)`.

        At equal times $N\sum_{l\le k}\partial\theta_j(t)/\partial\theta_l(0)\,\cos n(\theta_j(t) - \theta_k(t))$.
        """

        def last(x: Array) -> tuple[Array, Array]:
            end = self.moved(x, t, steps)
            return end[-1], end

        end, pull, late = jax.vjp(last, theta, has_aux=True)
        (slope,) = pull(jnp.ones_like(end))
        slope = slope[:-1]
        if equal_time:
            slope = jnp.cumsum(slope, axis=0)
        return [self.n * slope * p for p in self._modes(end, late if equal_time else theta, modes)]

    def direct(self, theta: Array, t: Array, steps: int, modes: int, equal_time: bool = False) -> list[Array]:
        r"""$N\cos n(\theta_j(t) - \theta_k(0))$, or with $\theta_k(t)$, less the same at time 0, with mean zero."""
        late = self.moved(theta, t, steps)
        pairs = ((late[-1], late if equal_time else theta), (theta[-1], theta))
        both = (self._modes(end, sources, modes) for end, sources in pairs)
        return [self.n * (a - b) for a, b in zip(*both, strict=True)]

    def _modes(self, end: Array, theta: Array, modes: int) -> list[Array]:
        return zonal_terms(jnp.cos(end[None, :] - theta[:-1]), modes, 2)[1:]
