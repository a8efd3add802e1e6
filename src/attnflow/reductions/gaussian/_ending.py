r"""How a Gaussian flow ends: from its last state, or from where it was followed to beyond the ceiling (`_beyond`).

**Blow-up.** Let $r = \operatorname{tr}\Sigma/\operatorname{tr}\dot\Sigma$. Near a pole of order $p$, $r = (t^* - t)/p$:
so $r' = -1/p$ and $t^* = t - r/r'$. Exponential growth has a constant $r > 0$, so $r' = 0$. Here $r'$ is exact,
$r' = 1 - \operatorname{tr}\Sigma\,\operatorname{tr}\ddot\Sigma/(\operatorname{tr}\dot\Sigma)^2$, from the derivative of
the field along the flow. Where steps shrink to round-off before the ceiling (in float32, or because the mean runs away
from a law that is almost a point), the same is read from $\operatorname{tr}\Sigma + |\alpha|^2$.

**Rest.** A law that moves little in a short time is not at rest. It is if at its last speed it would hardly move in as
long a time again, and either it slows down, $\frac{d}{dt}\log|\dot\Sigma| < -1/T$ after the time $T$ (a decay
like $1/t$ has $-2/T$), or its velocity is rounding: not more than what a change of the law in its last digits makes.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...models import GaussianModel
from ...pairsums.algebra import matmul

POLE = -0.05  # r' below this is a pole, of order at most 20
FLAT = 0.05  # |r'| below this is exponential growth
GROWTH = 3.0  # by so many e-folds at its last rate, within the time of the run
STILL = 0.01  # converged: at its last speed the covariance would move by this part of its trace in as long a time
ROUNDING = 64  # digits of this many units in the last place are none
LARGEST_MEAN = {"float32": 1e12, "float64": 1e100}  # squares of it are far from the largest number
HORIZON, CONVERGED, EXPONENTIAL, BLOW_UP, UNBOUNDED = range(5)  # indices into `reading.OUTCOMES`


class Ending(NamedTuple):
    """An index into `reading.OUTCOMES`, the time of blow-up and the order of the pole (NaN if there is none), and $r$
    with its time."""

    outcome: Array
    t_star: Array
    pole_order: Array
    r: Array
    t: Array


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
    velocity = model.velocity(t, alpha, L)
    along = jax.jvp(model.velocity, (t, alpha, L), (jnp.ones_like(t), *velocity))[1]
    runs_away = jnp.max(jnp.abs(alpha)) > LARGEST_MEAN[str(L.dtype)]
    mean = (stalled | runs_away).astype(L.dtype)  # whether the mean counts
    trace = jnp.sum(L * L)
    scale = jnp.sqrt(trace + mean * jnp.sum(alpha * alpha))
    # In units of the law: powers of a large one would overflow.
    a, c, dc = (mean * (x / scale) for x in (alpha, velocity[0], along[0]))
    U, GU, dGU = (x / scale for x in (L, velocity[1], along[1]))
    first = 2 * (jnp.sum(U * GU) + jnp.sum(a * c))
    second = 2 * (jnp.sum(GU * GU + U * dGU) + jnp.sum(c * c + a * dc))
    r = 1 / first
    slope = 1 - r * (second / first)
    elapsed = t - start
    grows = jnp.isfinite(r) & (r > 0)
    pole = (stopped | stalled) & grows & (slope < POLE)
    steady = grows & (jnp.abs(slope) < FLAT) & (elapsed / r > GROWTH)
    still = _at_rest(model, t, alpha, L, velocity[1], along[1], elapsed, trace0)
    other = jnp.where(stopped, UNBOUNDED, HORIZON)
    outcome = jnp.where(still & ~runs_away, CONVERGED, jnp.where(steady, EXPONENTIAL, other))
    nan = jnp.asarray(jnp.nan, L.dtype)
    return Ending(
        jnp.where(pole, BLOW_UP, outcome), jnp.where(pole, t - r / slope, nan), jnp.where(pole, -1 / slope, nan), r, t
    )


def gone_on(both: Ending, elapsed: Float[Array, ""]) -> Ending:
    """One verdict from two, on where a flow was stopped and on where it was followed to.

    A blow-up needs that $r$ has fallen on the way, or is rounding: the slope alone may be rounding, of a law whose size
    is at the end of the range of numbers.
    """
    here, there = (Ending(*(a[k] for a in both)) for k in (0, 1))
    fallen = (there.r < here.r / 2) | (there.r < ROUNDING * float(jnp.finfo(here.r.dtype).eps) * elapsed)
    moved = there.t > here.t
    pole = (there.outcome == BLOW_UP) & (fallen | ~moved)
    unseen = jnp.where(here.outcome == BLOW_UP, UNBOUNDED, here.outcome)
    nan = jnp.full_like(here.t_star, jnp.nan)
    return there._replace(
        outcome=jnp.where(pole | (there.outcome == CONVERGED), there.outcome, unseen),
        t_star=jnp.where(pole, there.t_star, nan),
        pole_order=jnp.where(pole, there.pole_order, nan),
    )


def _at_rest(
    model: GaussianModel,
    t: Float[Array, ""],
    alpha: Float[Array, " d"],
    L: Float[Array, "d r"],
    GL: Float[Array, "d r"],
    dGL: Float[Array, "d r"],
    elapsed: Float[Array, ""],
    trace0: Float[Array, ""],
) -> Array:
    trace = jnp.sum(L * L)
    size = jnp.sqrt(trace)
    U, GL, dGL = (x / jnp.where(size > 0, size, 1) for x in (L, GL, dGL))
    cross, bend = matmul(GL, U.T), matmul(dGL, U.T)
    speed = cross + cross.T
    change = bend + bend.T + 2 * matmul(GL, GL.T)
    fast = jnp.sqrt(jnp.sum(speed * speed))
    slows = elapsed * jnp.sum(speed * change) < -fast * fast
    # A direction without symmetries, as long as the law: how its velocity answers to changes.
    d, r = L.shape
    pattern = jnp.cos(1 + jnp.arange(d * (r + 1), dtype=L.dtype)).reshape(d, r + 1)
    pattern = pattern / jnp.sqrt(jnp.sum(pattern * pattern)) * size
    answer = jax.jvp(lambda m, f: model.velocity(t, m, f)[1], (alpha, L), (pattern[:, 0], pattern[:, 1:]))[1]
    rounding = ROUNDING * float(jnp.finfo(L.dtype).eps) * jnp.sqrt(jnp.sum(answer * answer))
    rounded = jnp.sqrt(jnp.sum(GL * GL)) * size <= rounding
    return (fast * trace * elapsed <= STILL * jnp.maximum(trace0, trace)) & (slows | rounded)
