r"""Fluxes, steps of Runge and Kutta, and the compiled loop.

The mass of a cell changes by what passes its faces, $\dot m_i = F_{i-1/2} - F_{i+1/2}$. A flux is the speed of the law
less that of the face, times the density on the side the law comes from. So mass is only ever moved, and its sum stays.

**No negative mass.** If a cell would lose more than it has in one step of Euler, all that leaves it is reduced by one
factor. A step of the strongly stable scheme of Shu and Osher (SSP-RK3) is a mean of steps of Euler: it has no negative
mass either, for whatever length of step. The reduction is for clusters as narrow as a cell; a resolved density never
meets it.

**Atoms.** A cluster narrower than four cells is atoms at centres. A density at a face would be moved with the velocity
of the face, which points to the cluster; it could never leave its cell, whatever pulls at it from afar. So atoms jump
to the next centre at a rate that gives them, in the mean, the velocity at their own centre (the upwind scheme of
Delarue, Lagoutière and Vauchelet for measures). The place of a cluster is then right, also when it moves slowly.

**Steps** are chosen by two rules: the law passes at most `cfl` cells, and the field changes by at most `CHANGE`/cells
of its size, as judged by the step before. The second one matters near the uniform measure, where nothing moves yet.

Reference: docs/theory/mean-field.md, The scheme.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...flows import Outcome
from ._chart import CHARTS, AbstractChart, faces, namespace
from ._field import Field, State
from ._reconstruction import at_faces, at_peaks, with_ghosts

CHANGE = 4.0  # at 256 cells a step may change the field by 1/64, which costs a growth rate its seventh digit
PROBE = 1e-3  # of a step, or of all the time: how far the first one goes
STAGES = ((0.0, 0.0), (3 / 4, 1.0), (1 / 3, 1 / 2))  # of Shu and Osher: the share of the start, and how late it is


class Plan(NamedTuple):
    """What the compiled program is specialised to, besides shapes."""

    space: str
    kernel: str


class Progress(NamedTuple):
    """The state of the loop: the law and the time, a bound of the step, steps taken, whether they shrank to zero."""

    state: State
    t: Float[Array, ""]
    ahead: Float[Array, ""]
    steps: Array
    stalled: Array
    warm: Any


def solve(
    plan: Plan, field: Field, start: State, numbers: dict[str, Array]
) -> tuple[Float[Array, "T cells"], Float[Array, "T 2"], Array, Array]:
    """Masses and ends at the stops, steps taken, and the code of the outcome."""
    chart = CHARTS[plan.space]
    t0, cfl, stops = numbers["t0"], numbers["cfl"], numbers["stops"]
    span = stops[-1] - t0

    def step(now: Progress, stop: Array) -> Progress:
        warm = field.warm(chart, plan.kernel, now.t, now.state, now.warm)
        remaining = stop - now.t
        dt = jnp.where(now.ahead >= remaining, remaining, now.ahead)

        def stage(law: State, part: tuple[Array, Array]) -> tuple[State, tuple[Array, Array]]:
            share, later = part
            # A parameter that jumps at the stop has its old value until then.
            t = jnp.minimum(now.t + later * dt, jnp.nextafter(stop, t0))
            v, longest = field.velocity(chart, plan.kernel, t, law, warm)
            return _mixed(share, now.state, _euler(chart, law, v, dt)), (v, longest)

        shares, late = (jnp.asarray(c, dt.dtype) for c in zip(*STAGES, strict=True))
        law, (v, longest) = jax.lax.scan(stage, now.state, (shares, late))
        crossing = _crossing_time(chart, law, v)
        ahead = jnp.minimum(cfl * crossing, CHANGE / law.masses.size / _rate(v, longest[0], dt))
        stalled = ~(dt > 4 * float(jnp.finfo(dt.dtype).eps) * jnp.minimum(span, remaining))
        return Progress(law, jnp.where(dt == remaining, stop, now.t + dt), ahead, now.steps + 1, stalled, warm)

    def until(now: Progress, stop: Array) -> tuple[Progress, tuple[State, Array]]:
        def more(now: Progress) -> Array:
            return (now.t < stop) & (now.steps < numbers["max_steps"]) & ~now.stalled & jnp.isfinite(now.ahead)

        now = jax.lax.while_loop(more, lambda p: step(p, stop), now)
        return now, (now.state, now.t >= stop)

    cold = jax.eval_shape(lambda: field.warm(chart, plan.kernel, t0, start, None))
    warm = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), cold)
    v, _ = field.velocity(chart, plan.kernel, t0, start, warm)
    # The first step is short: how fast the field changes is not known before.
    ahead = PROBE * jnp.minimum(cfl * _crossing_time(chart, start, v), span)
    first = Progress(start, t0, ahead, jnp.asarray(0), jnp.asarray(False), warm)
    last, (states, reached) = jax.lax.scan(until, first, stops)
    reached = reached & jnp.isfinite(states.masses).all(axis=1)
    masses = jnp.where(reached[:, None], states.masses, jnp.nan)
    code = jnp.where(last.steps >= numbers["max_steps"], Outcome.MAX_STEPS.code, Outcome.NOT_FINITE.code)
    code = jnp.where(last.stalled & jnp.isfinite(last.ahead), Outcome.STALLED.code, code)
    return masses, states.ends, last.steps, jnp.where(reached.all(), Outcome.SUCCESSFUL.code, code)


def _euler(chart: AbstractChart, state: State, v: Any, dt: Any) -> State:
    """One step of Euler, without negative masses; in NumPy or JAX as they come."""
    xp, masses, relative = namespace(v), state.masses, _relative(chart, v)
    left, right = at_faces(masses, chart.periodic)
    resolved = xp.maximum(relative, 0) * left + xp.minimum(relative, 0) * right
    moved = dt / _width(state) * xp.where(at_peaks(masses, chart.periodic), _of_atoms(chart, state, v), resolved)
    to_right, to_left = xp.maximum(moved, 0), xp.maximum(-moved, 0)
    leaves = to_right[1:] + to_left[:-1]
    # A hair less than all: what is left must not be rounded below zero.
    allowed = (1 - 4 * float(xp.finfo(masses.dtype).eps)) * masses
    part = xp.where(leaves > allowed, allowed / xp.where(leaves > 0, leaves, 1), 1)
    mode = "wrap" if chart.periodic else "edge"
    giver = xp.pad(part, 1, mode=mode)
    flux = giver[:-1] * to_right - giver[1:] * to_left
    ends = state.ends if chart.periodic else state.ends + dt * xp.stack([v[0], v[-1]])
    return State(masses - (flux[1:] - flux[:-1]), ends)


def _of_atoms(chart: AbstractChart, state: State, v: Any) -> Any:
    """The flux of atoms at the centres, which jump to the next centre at a rate that gives them their velocity."""
    xp, centre = namespace(v), (v[1:] + v[:-1]) / 2
    masses, centre = (with_ghosts(a, 1, chart.periodic) for a in (state.masses, centre))
    own = 0 if chart.periodic else faces(xp.stack([v[0], v[-1]]), v.size - 1)
    to_right = xp.maximum(centre[:-1] - own, 0) * masses[:-1]
    to_left = xp.maximum(own - centre[1:], 0) * masses[1:]
    flux = to_right - to_left
    return flux if chart.periodic else xp.pad(flux[1:-1], 1)


def _mixed(share: Array, a: State, b: State) -> State:
    # As a difference: the rounded shares 1/3 and 2/3 do not sum to one, and mass would be lost at every step.
    return jax.tree.map(lambda p, q: q + share * (p - q), a, b)


def _relative(chart: AbstractChart, v: Any) -> Any:
    """The speed of the law less that of the faces, which is zero at both ends of the line."""
    if chart.periodic:
        return v
    xp = namespace(v)
    own = faces(xp.stack([v[0], v[-1]]), v.size - 1)
    return xp.pad((v - own)[1:-1], 1)


def _width(state: State) -> Any:
    return (state.ends[1] - state.ends[0]) / state.masses.size


def _crossing_time(chart: AbstractChart, state: State, v: Float[Array, "*stages faces"]) -> Float[Array, ""]:
    relative = _relative(chart, v) if v.ndim == 1 else jax.vmap(lambda stage: _relative(chart, stage))(v)
    return _width(state) / jnp.maximum(jnp.max(jnp.abs(relative)), float(jnp.finfo(v.dtype).tiny))


def _rate(v: Float[Array, "stages faces"], longest: Float[Array, ""], dt: Float[Array, ""]) -> Float[Array, ""]:
    """How fast the field changes, relative to its size; what is below rounding counts as no change."""
    rounding = 64 * float(jnp.finfo(v.dtype).eps) * longest
    change = jnp.mean(jnp.abs(v[1] - v[0])) / (jnp.mean(jnp.abs(v[0])) + rounding)
    return jnp.maximum(change / dt, float(jnp.finfo(v.dtype).tiny) ** 0.5)
