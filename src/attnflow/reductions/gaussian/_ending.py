r"""How a Gaussian flow ends: told from its last state.

Let $r = \operatorname{tr}\Sigma/\operatorname{tr}\dot\Sigma$. Near a pole of order $p$, $r = (t^* - t)/p$: so
$r' = -1/p$ and $t^* = t - r/r'$. Exponential growth has a constant $r > 0$, so $r' = 0$. Here $r'$ is exact,
$r' = 1 - \operatorname{tr}\Sigma\,\operatorname{tr}\ddot\Sigma/(\operatorname{tr}\dot\Sigma)^2$, from the derivative of
the field along the flow. Where steps shrink to round-off before the ceiling (in float32, or because the mean runs away
from a law that is almost a point), the same is read from $\operatorname{tr}\Sigma + |\alpha|^2$.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...models import GaussianModel
from ...pairsums._algebra import matmul

POLE = -0.05  # r' below this is a pole, of order at most 20
FLAT = 0.05  # |r'| below this is exponential growth
GROWTH = 3.0  # by so many e-folds at its last rate, within the time of the run
STILL = 0.01  # converged: at its last speed the covariance would move by this part of its trace in as long a time
LARGEST_MEAN = 1e100
BLOW_UP = 3  # its index into `reading.OUTCOMES`


class Ending(NamedTuple):
    """An index into `reading.OUTCOMES`, the time of blow-up and the order of the pole (NaN if there is none)."""

    outcome: Array
    t_star: Array
    pole_order: Array


def ending(
    model: GaussianModel,
    t: Float[Array, ""],
    alpha: Float[Array, " d"],
    L: Float[Array, "d r"],
    *,
    start: Float[Array, ""],
    trace0: Float[Array, ""],
    stopped: Array,
    stalled: Array,
) -> Ending:
    """Classify a flow that began at `start` with the trace `trace0`; it `stopped` at a ceiling, `stalled`, or reached
    its end."""
    (c, GL), (dc, dGL) = jax.jvp(model.velocity, (t, alpha, L), (jnp.ones_like(t), *model.velocity(t, alpha, L)))
    trace = jnp.sum(L * L)
    mean = stalled.astype(L.dtype)  # whether the mean counts
    size = trace + mean * jnp.sum(alpha * alpha)
    first = 2 * (jnp.sum(L * GL) + mean * jnp.sum(alpha * c))
    second = 2 * (jnp.sum(GL * GL + L * dGL) + mean * jnp.sum(c * c + alpha * dc))
    r = size / first
    slope = 1 - r * (second / first)
    cross = matmul(GL, L.T)
    speed = jnp.sqrt(jnp.sum((cross + cross.T) ** 2))
    grows = jnp.isfinite(r) & (r > 0)
    pole = (stopped | stalled) & grows & (slope < POLE)
    steady = grows & (jnp.abs(slope) < FLAT) & ((t - start) / r > GROWTH)
    still = speed * (t - start) <= STILL * jnp.maximum(trace0, trace)
    outcome = jnp.where(still & ~stopped & ~stalled, 1, jnp.where(steady | (stopped & ~pole), 2, 0))
    nan = jnp.asarray(jnp.nan, L.dtype)
    return Ending(
        jnp.where(pole, BLOW_UP, outcome), jnp.where(pole, t - r / slope, nan), jnp.where(pole, -1 / slope, nan)
    )
