r"""The remaining motion of clusters: an equilibrium, a metastable state, or a drift hidden by rounding.

Clusters of softmax attention attract each other with forces of the order $e^{-\beta(1 - \cos u)}$, and a velocity is
only known up to its rounding, $8\,\varepsilon\,(|F| + L|x|)$ with $F$ the force before projection and $L$ how it
changes with the tokens. A slow state is therefore examined in two ways.

**Where `long_time` applies** tokens that have met are one, at their mean, and the drift of what remains is computed
from differences, in which nothing is lost (`flows/_merging.py`). One point rests, and so does a configuration whose
forces cancel; everything else moves, and two clusters meet after `two_cluster_time`.

**Elsewhere** a state rests if it lies next to an equilibrium: moved on by $10^{-3}\varepsilon$ along its own velocity,
it would come back. The motion of the centres of clusters and the motion inside them are tested apart, because the
second is fast and would hide the first. A state whose velocities are all rounding rests, unless the attention of some
cluster to all others is below rounding: then rounding hides where that cluster goes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .. import pairsums
from ..attention import AbstractAttention, heads_of
from ..models import AbstractModel, at_time, field
from ..pairsums import pair_weights
from ..spaces import safe_norm
from .clouds import Clouds, along, masses
from .linkage import linked
from .metastability import ROUNDING, Drift, applies, drift, log_duration

MeetingTime = Callable[[Any, Drift, np.ndarray], np.ndarray]

# A configuration rests when an equilibrium is no farther than this fraction of eps.
REST = 1e-3
# The drift is computed for at most so many tokens that have not met; a cloud with more of them is just moving.
SLOTS = 512
# Attention is computed among at most so many tokens.
ATTENTIVE = 2048


class Motion(NamedTuple):
    """The remaining motion, as in `Clusters`; arrays have the leading axes of the clouds."""

    state: Any = "unknown"
    time: Any = None
    speed: Any = None
    rounding: Any = None
    rest: Any = None
    limits: tuple[str, ...] = ()


def _unknown(model: Any, drifting: Drift, chord: np.ndarray) -> np.ndarray:
    return np.full(chord.shape, np.inf)


def remaining_motion(
    cloud: Clouds, labels: np.ndarray, eps: np.ndarray, meeting_time: MeetingTime = _unknown
) -> Motion:
    """The remaining motion of the clouds of a run.

    `labels (..., n)`: the cluster of each token within `eps (...)`; `meeting_time`: how long the first two clusters
    take, if they are alone, until they are at a distance. By default that is not known.
    """
    run: Any = cloud.run
    model, exact = run.model, applies(run.model)
    n = labels.shape[-1]
    xs, log_scale = cloud.grown(), cloud.log_scale()
    log_grown = np.minimum(log_scale, cloud.log_largest())
    step = jnp.asarray(REST * eps * np.exp(log_grown), xs.dtype)
    groups = jnp.asarray(np.maximum(labels, 0))
    parts = along(_parts, (xs, cloud.ts, groups, step), cloud.w, model)
    parts = _Parts(*(np.asarray(a).reshape(-1) for a in parts))
    batch, eps, labels = eps.shape, eps.reshape(-1), labels.reshape(-1, n)
    log_scale, log_grown = log_scale.reshape(-1), log_grown.reshape(-1)
    with np.errstate(under="ignore", over="ignore", divide="ignore"):
        # In logarithms, for times and growth overflow. Beyond what can be written, velocities grow like the tokens.
        more = log_scale - log_grown
        speed, rounding, force = (np.log(a.astype(float)) + more for a in (parts.speed, parts.rounding, parts.force))
        log_visible = np.log(REST * eps) + log_scale
        # A run shorter than the natural time of its flow shows nothing.
        span = np.maximum(log_duration(run), np.log(eps) + log_scale - force)
        state = np.where(speed + span <= log_visible, "metastable", "moving").astype("<U14")
    state[parts.settled] = "at rest"
    time = np.where(state == "metastable", parts.time, np.inf)
    still = (state == "at rest") & (parts.drift <= parts.rounding) & (labels.max(axis=1) > 0)
    for row in () if exact else np.flatnonzero(still):
        if _isolated(cloud, int(row), labels[row], model):
            seen = rounding[row] + log_duration(run) > log_visible[row]
            state[row], speed[row] = "below rounding" if seen else "metastable", rounding[row]
    if exact:
        first = linked(cloud.xs, np.asarray(REST * eps.reshape(batch))).reshape(-1, n)
        state, time, speed = _where_exact(cloud, eps, first, state, time, speed, rounding, meeting_time)
    known = np.isfinite(np.asarray(cloud.xs)).all(axis=(-2, -1)).reshape(-1)
    state = np.where(known, state, "unknown")
    with np.errstate(over="ignore", under="ignore"):
        speed, rounding = (np.where(known, np.exp(a), np.nan) for a in (speed, rounding))
        rest = np.exp(log_visible - log_duration(run))
    limits = _limits(state[-1], speed[-1], rounding[-1], model)
    time, speed, rounding, rest = (a.reshape(batch)[()] for a in (np.where(known, time, np.nan), speed, rounding, rest))
    return Motion(state.reshape(batch) if batch else str(state[0]), time, speed, rounding, rest, limits)


class _Parts(NamedTuple):
    """Of one cloud: the speed of the fastest token and of the fastest centre, the rounding of velocities, the size of
    what they are differences of, whether an equilibrium is next to it, and about when the motion of centres is seen."""

    speed: Any
    drift: Any
    rounding: Any
    force: Any
    settled: Any
    time: Any


def _parts(
    x: Float[Array, "n d"],
    t: Float[Array, ""],
    group: Int[Array, " n"],
    step: Float[Array, ""],
    w: Float[Array, " n"] | None,
    model: AbstractModel,
) -> _Parts:
    n = x.shape[0]
    x = model.space.nearest(x)
    force = model.force(t, x, w)
    v = model.space.project(x, force)
    mass = masses(x, w)
    total = jnp.zeros(n, x.dtype).at[group].add(mass)
    mean = jnp.zeros_like(x).at[group].add(mass[:, None] * v) / jnp.where(total > 0, total, 1)[:, None]
    centres = mean[group]

    def ahead(part: Float[Array, "n d"]) -> tuple[Array, Array, Array]:
        """The speed of a part of the motion, the velocity along it after a step of it, and how velocities change."""
        fast = _fastest(part)
        unit = part / jnp.where(fast > 0, fast, 1)
        there = field(model, t, x + step * unit, w)
        change = _fastest(there - v) / jnp.where(step > 0, step, 1)
        return fast, jnp.sum(mass[:, None] * there * unit), jnp.where(fast > 0, change, 0)

    drifting, further, change = ahead(centres)
    inside, inner, stiffness = ahead(v - centres)
    # A force may itself be a difference, and tokens are known up to their rounding.
    size = _fastest(force) + jnp.maximum(change, stiffness) * _fastest(x)
    if model.moves_to_means:
        size += _fastest(x)
    rounding = ROUNDING * jnp.finfo(x.dtype).eps * size
    settled = ((drifting <= rounding) | (further < 0)) & ((inside <= rounding) | (inner < 0))
    here = jnp.sum(mass[:, None] * v * (centres / jnp.where(drifting > 0, drifting, 1)))
    growth = jnp.where(here > 0, (further - here) / jnp.where(here > 0, here, 1) / jnp.where(step > 0, step, 1), 0)
    way = step / REST / jnp.where(drifting > 0, drifting, 1)
    time = jnp.where(growth * way * drifting > 1, 1 / jnp.where(growth > 0, growth * drifting, 1), way)
    return _Parts(_fastest(v), drifting, rounding, size, settled, jnp.where(drifting > rounding, time, jnp.inf))


def _fastest(v: Float[Array, "n d"]) -> Float[Array, ""]:
    return jnp.max(safe_norm(v))


def _isolated(cloud: Clouds, row: int, labels: np.ndarray, model: Any) -> bool:
    """Whether some cluster sees others, and its attention to all of them together is below rounding."""
    attention = getattr(model, "attention", None)
    if len(labels) > ATTENTIVE or not hasattr(model, "pairs") or not isinstance(attention, AbstractAttention):
        return False
    heads = heads_of(attention)
    x = cloud.grown().reshape(-1, *cloud.xs.shape[-2:])[row]
    t = jnp.reshape(jnp.asarray(cloud.ts), -1)[row]
    return bool(along(_attention_below_rounding, (x, t, jnp.asarray(labels)), cloud.w, tuple(heads), model.pairs))


def _attention_below_rounding(
    x: Float[Array, "n d"],
    t: Float[Array, ""],
    group: Int[Array, " n"],
    w: Float[Array, " n"] | None,
    heads: tuple[Any, ...],
    pairs: Any,
) -> Bool[Array, ""]:
    others = group[:, None] != group[None, :]
    seen = pair_weights(pairsums.Inner(jnp.zeros((), x.dtype)), x, x, pairs=pairs, reduce="exp") > 0
    isolated = jnp.any(others & seen, axis=1)
    for head in heads:
        head = at_time(head, t)
        if not head.continuous:  # it reads the best key alone, and no key is too far away for that
            return jnp.asarray(False)
        attention = jnp.abs(head.matrix(x, head.log_weights(x, w, pairs=pairs), pairs=pairs))
        away, all_of_it = jnp.sum(jnp.where(others, attention, 0), axis=1), jnp.sum(attention, axis=1)
        isolated &= away <= ROUNDING * jnp.finfo(x.dtype).eps * all_of_it
    return jnp.any(isolated)


def _where_exact(
    cloud: Clouds,
    eps: np.ndarray,
    first: np.ndarray,
    state: np.ndarray,
    time: np.ndarray,
    speed: np.ndarray,
    rounding: np.ndarray,
    meeting_time: MeetingTime,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The verdict where the drift is known to all digits; `first (..., n)` says which tokens have met."""
    run: Any = cloud.run
    n, d = cloud.xs.shape[-2:]
    slots, tractable = _slots(np.asarray(cloud.xs).reshape(-1, n, d), cloud.w, first)
    exact: Any = along(drift, tuple(jnp.asarray(a) for a in slots), run.model)
    exact = exact._make(np.asarray(a, float) for a in exact)
    one = (slots[2] == np.arange(slots[2].shape[1])).sum(axis=1) == 1
    log_time = log_duration(run)
    chord = np.where(2 * np.sin(exact.angle / 2) > eps, eps, REST * eps)
    with np.errstate(divide="ignore", invalid="ignore"):
        wait = (
            meeting_time(run.model, exact, np.maximum(chord, 1e-10)) if meeting_time else np.full(chord.shape, np.inf)
        )
        unit = np.log(ROUNDING * float(jnp.finfo(cloud.xs.dtype).eps)) - rounding  # log of one over the force
        visible = exact.log_speed + np.maximum(log_time, unit) > np.log(REST * eps)
        visible |= np.log(wait) <= log_time
    hidden = exact.log_speed <= rounding
    verdict = np.where(visible, np.where(hidden, "below rounding", "moving"), "metastable")
    verdict = np.where(one | exact.resting.astype(bool), "at rest", verdict)
    state = np.where(tractable, verdict, state)
    time = np.where(tractable, np.where(state == "metastable", wait, np.inf), time)
    # Of a velocity near its rounding few digits are left.
    better = tractable & (state != "at rest") & (exact.log_speed <= rounding + np.log(100))
    return state, time, np.where(better, exact.log_speed, speed)


def _slots(xs: np.ndarray, w: Any, first: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """Tokens that have met as one, in slots as `drift` takes them, and the clouds with few enough of them."""
    T, n, d = xs.shape
    size = min(n, SLOTS)
    w = np.full(n, 1 / n) if w is None else np.asarray(w, float)
    x, mass = np.zeros((T, size, d), xs.dtype), np.zeros((T, size), xs.dtype)
    labels, tractable = np.zeros((T, size), np.int32), np.zeros(T, bool)
    x[..., 0] = 1
    for t in range(T):
        heads, member = np.unique(first[t], return_inverse=True)
        if len(heads) > size or not np.isfinite(xs[t]).all():
            continue
        tractable[t], k = True, len(heads)
        heaviest = np.zeros(len(heads))
        np.maximum.at(heaviest, member, w)
        light = heaviest[member] == 0  # tokens without mass have a mean, too
        share = np.where(light, 1, w / np.where(light, 1, heaviest[member]))
        centre = np.stack([np.bincount(member, share * xs[t, :, i]) for i in range(d)], axis=1)
        x[t, :k] = centre / np.linalg.norm(centre, axis=1, keepdims=True)
        mass[t, :k], labels[t, :k] = np.bincount(member, w), np.arange(k)
    return (x, mass, labels), tractable


def _limits(state: str, speed: float, rounding: float, model: Any) -> tuple[str, ...]:
    """Why the verdict at the last of the times may not be trusted."""
    if state not in ("metastable", "below rounding") or not speed <= rounding:
        return ()
    remedy = "long_time follows it" if applies(model) else "a larger eps, float64 or a smaller beta may show it"
    return (f"The drift is below the rounding of velocities ({rounding:.2g}), where simulate cannot follow; {remedy}.",)
