r"""One coordinate that goes faster and faster, $\dot y = r(y)$ with $r > 0$ increasing to a limit: times and states.

The way $x$ from $y_0$ takes the time

$$ t = \frac1{r(y_0)}\int_0^x \frac{r(y_0)}{r(y_0 + z)}\,dz , $$

whose integrand falls from 1. So the time is a quadrature and the state its inverse; no step is taken in time, and a
time of $e^{1000}$ costs what a time of 1 does. (A solver would have to find a turn of length 1 after a rest of length
$e^\beta$, which the rounding of its clock hides.)

`log_rate` is $\log r$ of one number; beyond `far` it is constant to the last digit.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._scalar import gauss_legendre

LogRate = Callable[[Array], Array]

# Panels: near the start, on the scale on which the integrand falls there; from there to 1; even ones up to the end.
NEAR = 2.0 ** np.arange(-3, 7)
BETWEEN, EVEN = 40, 96
POINTS = 24  # of Gauss and Legendre in a panel
HALVINGS = {np.dtype("float64"): 60, np.dtype("float32"): 30}


def scaled_time(
    log_rate: LogRate, y0: Float[Array, ""], x: Float[Array, ""], far: Float[Array, ""]
) -> Float[Array, ""]:
    r"""$r(y_0)\,t$ for the way $x \ge 0$ from $y_0$: the integral above."""
    end = jnp.clip(far - y0, 0, x)
    edges = end * _fractions(log_rate, y0, jax.lax.stop_gradient(end))
    start = log_rate(y0)
    return jnp.sum(_panels(log_rate, y0, start, edges)) + (x - end) * jnp.exp(start - log_rate(y0 + end))


def travelled(
    log_rate: LogRate, y0: Float[Array, ""], scaled: Float[Array, " T"], far: Float[Array, ""]
) -> Float[Array, " T"]:
    r"""The ways $x$ after the times $r(y_0)\,t$ = `scaled`, which may be infinite: the inverse of `scaled_time`."""
    end = jax.lax.stop_gradient(jnp.maximum(far - y0, 1))
    edges = end * _fractions(log_rate, y0, end)
    start = log_rate(y0)
    reached = jnp.concatenate([jnp.zeros_like(edges[:1]), jnp.cumsum(_panels(log_rate, y0, start, edges))])
    inside = jnp.minimum(scaled, reached[-1])
    panel = jnp.clip(jnp.searchsorted(jax.lax.stop_gradient(reached), inside, side="right") - 1, 0, edges.size - 2)
    low, high = edges[panel], edges[panel + 1]

    def late(x: Array) -> Array:
        parts = jax.vmap(lambda a, b: _panels(log_rate, y0, start, jnp.stack([a, b]))[0])(low, x)
        return reached[panel] + parts - inside

    def solve(_: LogRate, x: Array) -> Array:
        def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            middle = (ends[0] + ends[1]) / 2
            below = late(middle) < 0
            return jnp.where(below, middle, ends[0]), jnp.where(below, ends[1], middle)

        ends = jax.lax.fori_loop(0, HALVINGS[x.dtype], halve, (low, high))
        return jnp.where(late(low) >= 0, low, (ends[0] + ends[1]) / 2)  # nothing has moved at time 0

    # Every entry depends on itself alone, so that the Jacobian is divided by.
    x = jax.lax.custom_root(late, low, solve, lambda slope, b: b / slope(jnp.ones_like(b)))
    # A speed that is zero beside the last one is not divided by: such a state is at the end at once.
    last = jnp.exp(start - log_rate(y0 + end))
    beyond = scaled > reached[-1]
    rest = jnp.where(beyond, scaled - reached[-1], 0) / jnp.where(last > 0, last, 1)
    return jnp.where(beyond, jnp.where(last > 0, end + rest, jnp.inf), x)


def _fractions(log_rate: LogRate, y0: Array, end: Array) -> Array:
    """Ends of panels, from 0 to 1, for a way `end`."""
    steep = jnp.abs(jax.grad(lambda y: log_rate(y))(y0))
    knee = jnp.minimum(end, 1)
    tiny = float(jnp.finfo(end.dtype).tiny)
    near = jnp.minimum(jnp.asarray(NEAR, end.dtype) / jnp.maximum(steep, tiny), knee)
    part = jnp.arange(1, BETWEEN + 1, dtype=end.dtype) / BETWEEN
    last = jnp.maximum(near[-1], tiny)
    between = jnp.minimum(last * (jnp.maximum(knee, tiny) / last) ** part, knee)
    even = knee + (end - knee) * jnp.arange(1, EVEN + 1, dtype=end.dtype) / EVEN
    edges = jnp.concatenate([jnp.zeros_like(near[:1]), near, between, even])
    return jax.lax.stop_gradient(edges / jnp.maximum(end, tiny))


def _panels(log_rate: LogRate, y0: Array, start: Array, edges: Array) -> Array:
    """The integral over each panel."""
    nodes, weights = (jnp.asarray(a, edges.dtype) for a in gauss_legendre(POINTS))
    half = jnp.diff(edges) / 2
    z = edges[:-1, None] + half[:, None] * (nodes[None, :] + 1)
    return half * jnp.sum(weights[None, :] * jnp.exp(start - log_rate(y0 + z)), axis=1)
