r"""The path of merging clusters by arclength: one loop of adaptive steps, with the merging inside.

Along the path $dx/ds = v/|v|$ and $dt/ds = 1/|v|$. A path has length of order one between two mergings however slow it
is, so the number of steps does not grow with beta. One pass of the loop is one trial step of the method of Dormand and
Prince of order 8, or one merging: a batch (`jax.vmap`) pays for its longest member, and no solve is nested in another.

**Landing on a merging.** A step is never longer than the first pair needs to touch by linear extrapolation; one that
overshoots is tried again with a secant length. When the pair stands within a millionth of the merge distance $r$, the
rest is one Newton step along the path, $\delta s = (r - |x_i-x_j|)\,/\,\frac{d}{ds}|x_i-x_j|$. Step lengths carry no
derivative; $\delta s$ does, and that is the implicit function theorem for the time of the merging.

**Landing on a time.** With `numbers["until"]`, the logarithm of a time, the path ends there: a step is never longer
than the clock needs by linear extrapolation, and one that comes late is tried again with a secant length.
"""

from collections.abc import Callable
from typing import NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..spaces import Sphere
from ._merging import LANDED, Clusters, Motion, closing, distances, energy, merged, motion, turned
from ._merging_path import News, Path, begin, record
from ._progress import ProgressBar
from .outcome import Outcome

_TABLEAU = diffrax.Dopri8.tableau
STAGES = len(_TABLEAU.b_sol)  # the last one is the first of the next step
_NODES = np.zeros((STAGES, STAGES))
for _k, _row in enumerate(_TABLEAU.a_lower):
    _NODES[_k + 1, : _k + 1] = _row
ORDER = 8
SAFETY, SHRINK, GROW = 0.9, 0.2, 5.0
NEAR, HOLD = 4.0, 0.7
# Steps shrink to this only at an equilibrium: where v is not zero, its direction is smooth.
SHORTEST = 1e-14
# The logarithm of a time that is reached up to this has been reached.
PUNCTUAL = 1e-12


class Plan(NamedTuple):
    """What the compiled program is specialised to, besides shapes."""

    points: int
    progress: bool
    segments: int  # so many mergings are followed by one call


class State(NamedTuple):
    """The state of the loop."""

    clusters: Clusters
    motion: Motion
    log_t: Float[Array, ""]
    s: Float[Array, ""]
    h: Float[Array, ""]  # the next step
    last: Float[Array, ""]  # the step that led here, zero after a merging,
    error: Float[Array, ""]  # and its error
    energy: Float[Array, ""]  # where the clusters last joined
    steps: Int[Array, ""]
    accepted: Int[Array, ""]
    merged: Int[Array, ""]
    shown: Array


def first_state(start: Clusters, numbers: dict[str, Array]) -> State:
    """The initial state of the loop, at `numbers["log_t0"]` and the arclength `numbers["s0"]`."""
    zero, none = jnp.zeros((), start.x.dtype), jnp.zeros((), jnp.int32)
    return State(
        clusters=start,
        motion=motion(start, numbers["beta"], numbers["normalised"]),
        log_t=numbers["log_t0"],
        s=numbers["s0"],
        h=_first_step(numbers),
        last=zero,
        error=zero + 1,
        energy=zero,
        steps=none,
        accepted=none,
        merged=none,
        shown=ProgressBar().init(),
    )


def _first_step(numbers: dict[str, Array]) -> Float[Array, ""]:
    return jax.lax.stop_gradient(0.1 / jnp.sqrt(1 + numbers["beta"]))


def integrate(
    plan: Plan, begun: State, numbers: dict[str, Array]
) -> tuple[State, Path, Int[Array, ""], dict[str, Array]]:
    """The last state and the path to it, the outcome's code, and counts of steps. To be compiled.

    The path ends where it has no room for another segment; then the last state begins the next one.
    """
    beta, reach, rtol, atol, until = (numbers[k] for k in ("beta", "merge_distance", "rtol", "atol", "until"))
    meter = ProgressBar()
    n = begun.clusters.w.size

    def moving(clusters: Clusters) -> Motion:
        return motion(clusters, beta, numbers["normalised"])

    def touching(apart: Float[Array, "n n"]) -> Bool[Array, ""]:
        return jnp.min(apart) <= reach * (1 + LANDED)

    def going(carry: tuple[State, Path]) -> Bool[Array, ""]:
        now, path = carry
        able = (now.clusters.left > 1) & (now.steps < numbers["max_steps"]) & (now.h >= SHORTEST)
        able = able & ~path.full & (until - now.log_t > PUNCTUAL)
        return able & (~now.motion.resting | touching(distances(now.clusters)))

    def body(carry: tuple[State, Path]) -> tuple[State, Path]:
        now, path = carry
        apart = distances(now.clusters)
        # The path is not handed to the branches: it is large, and would be copied.
        then, news = jax.lax.cond(touching(apart), merge, step, now, apart)
        path = record(path, then.clusters, then.log_t, then.s, then.energy, news)
        if plan.progress:
            fraction = (n - then.clusters.left).astype(beta.dtype) / max(n - 1, 1)
            then = then._replace(shown=meter.step(now.shown, fraction))
        return then, path

    def merge(now: State, apart: Float[Array, "n n"]) -> tuple[State, News]:
        # The rest of the way to the merging, if the last step ended close to it.
        pair = jnp.argmin(apart)
        rate = closing(now.clusters, now.motion, apart).ravel()[pair]
        ds = (reach - apart.ravel()[pair]) / jnp.where(rate < 0, rate, -1)
        ds = jnp.where((rate < 0) & (jnp.abs(ds) < now.last), ds, 0)
        late = jnp.where(now.last > 0, jnp.log1p(ds * jnp.exp(now.motion.log_rate - now.log_t)), 0)
        log_t, s = now.log_t + late, now.s + ds
        x = Sphere().nearest(now.clusters.x + ds * now.motion.u)
        joined = merged(now.clusters._replace(x=x), reach * (1 + 2 * LANDED))
        event = now.accepted > 0  # tokens that coincide at the start are one cluster without an event
        then = now._replace(
            clusters=joined,
            motion=moving(joined),
            log_t=log_t,
            s=s,
            h=_first_step(numbers),
            last=jnp.zeros_like(now.last),
            energy=energy(joined, beta),
            merged=now.merged + event.astype(now.merged.dtype),
        )
        return then, News(jnp.asarray(True), event, jnp.asarray(False))

    def step(now: State, apart: Float[Array, "n n"]) -> tuple[State, News]:
        rate = closing(now.clusters, now.motion, apart)
        touch = jnp.where(rate < 0, (apart - reach) / jnp.where(rate < 0, -rate, 1), jnp.inf)
        # The clock dt/ds has a pole where a pair meets: approach it before the last step.
        touch = jnp.where(apart > NEAR * reach, HOLD, 1) * touch
        # How much longer the clock has to run, in units of dt/ds.
        ahead = jnp.exp(until - now.motion.log_rate) * -jnp.expm1(now.log_t - until)
        h = jax.lax.stop_gradient(jnp.minimum(jnp.minimum(now.h, jnp.min(touch)), ahead))
        then, there, log_took, error = _attempt(moving, now, h, rtol, atol)
        # Negative where a pair has gone through each other.
        end = distances(then) * jnp.where(turned(now.clusters, then), -1, 1)
        pair = jnp.argmin(end)
        before, after = apart.ravel()[pair], end.ravel()[pair]
        over = after < reach * (1 - LANDED)
        late = jnp.logaddexp(now.log_t, log_took) > until + PUNCTUAL / 2
        good = (error <= 1) & ~over & ~late
        clusters = now.clusters._replace(x=jnp.where(good, Sphere().nearest(then.x), now.clusters.x))
        log_t = jnp.where(good, jnp.logaddexp(now.log_t, log_took), now.log_t)
        s = jnp.where(good, now.s + h, now.s)
        size = jnp.maximum(error, 1e-10) ** (1 / ORDER)
        factor = SAFETY / size
        # Predicts that consecutive steps must shrink (Gustafsson's controller).
        trend = factor * h / jnp.where(now.last > 0, now.last, 1) * now.error ** (1 / ORDER) / size
        factor = jnp.where(good & (now.last > 0), jnp.minimum(factor, trend), factor)
        longer = h * jnp.clip(factor, SHRINK, GROW)
        # A step cut short by a landing says little about how long the next may be.
        longer = jnp.where(good & (h < now.h), jnp.maximum(longer, now.h), longer)
        secant = h * (before - reach) / jnp.where(over, before - after, 1)
        longer = jnp.where((error <= 1) & over, jnp.clip(secant, 0.1 * h, h), longer)
        early = h * ahead * jnp.exp(now.motion.log_rate - log_took)
        longer = jnp.where((error <= 1) & late, jnp.minimum(longer, jnp.clip(early, 0.1 * h, h)), longer)
        then = now._replace(
            clusters=clusters,
            motion=jax.tree.map(lambda new, old: jnp.where(good, new, old), there, now.motion),
            log_t=log_t,
            s=s,
            h=jax.lax.stop_gradient(longer),
            last=jnp.where(good, h, now.last),
            error=jnp.where(good, jnp.maximum(error, 1e-10), now.error),
            steps=now.steps + 1,
            accepted=now.accepted + good.astype(now.accepted.dtype),
        )
        noted = good & (after > reach * (1 + LANDED))  # a merging has its own row
        return then, News(jnp.asarray(False), jnp.asarray(False), noted)

    path = begin(begun.clusters, begun.log_t, begun.s, begun.energy, plan.points, plan.segments)
    end, path = jax.lax.while_loop(going, body, (begun, path))
    counts = {
        "steps": end.steps,
        "accepted": end.accepted,
        "rejected": end.steps - end.accepted,
        "evaluations": end.steps * (STAGES - 1) + end.merged + 1,
    }
    return end, path, _outcome(end), counts


def _outcome(end: State) -> Int[Array, ""]:
    code = jnp.asarray(Outcome.MAX_STEPS.code)
    code = jnp.where(end.motion.resting | (end.h < SHORTEST), Outcome.STATIONARY.code, code)
    code = jnp.where(jnp.isfinite(end.clusters.x).all() & jnp.isfinite(end.h), code, Outcome.NOT_FINITE.code)
    return jnp.where(end.clusters.left <= 1, Outcome.SUCCESSFUL.code, code)


def _attempt(
    moving: Callable[[Clusters], Motion], now: State, h: Array, rtol: Array, atol: Array
) -> tuple[Clusters, Motion, Float[Array, ""], Float[Array, ""]]:
    """One step of length h: where it ends, the motion there, log of the time taken, error over tolerance."""
    x, here = now.clusters.x, now.motion
    nodes, weights, errors = (jnp.asarray(a, x.dtype) for a in (_NODES, _TABLEAU.b_sol, _TABLEAU.b_error))

    def stage(k: Array, carry: tuple[Array, Array, Motion]) -> tuple[Array, Array, Motion]:
        us, rates, _ = carry
        there = moving(now.clusters._replace(x=x + h * jnp.tensordot(nodes[k], us, 1)))
        return us.at[k].set(there.u), rates.at[k].set(jnp.exp(there.log_rate - here.log_rate)), there

    us = jnp.zeros((STAGES, *x.shape), x.dtype).at[0].set(here.u)
    rates = jnp.zeros(STAGES, x.dtype).at[0].set(1)
    us, rates, there = jax.lax.fori_loop(1, STAGES, stage, (us, rates, here))
    then = now.clusters._replace(x=x + h * jnp.tensordot(weights, us, 1))
    # The clock in units of dt/ds at the beginning of the step, so that nothing overflows.
    took = h * jnp.dot(weights, rates)
    before = jnp.exp(now.log_t - here.log_rate)
    astray = jnp.max(jnp.abs(h * jnp.tensordot(errors, us, 1)) / (atol + rtol * jnp.abs(x)))
    late = jnp.abs(h * jnp.dot(errors, rates)) / (rtol * (before + took))
    error = jnp.where(took > 0, jnp.maximum(astray, late), jnp.inf)
    log_took = here.log_rate + jnp.log(jnp.where(took > 0, took, 1))
    return then, there, log_took, jax.lax.stop_gradient(jnp.where(jnp.isfinite(error), error, jnp.inf))
