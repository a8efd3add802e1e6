r"""Clusters: which tokens have met, how many groups there are, and whether they have come to rest.

Tokens are linked when $|x_i - x_j| \le \varepsilon$, and clusters are the connected components. By default

$$ \varepsilon = R\,\sqrt{2\delta}, \qquad \delta = 10^{-3}, $$

with $R = 1$ on the sphere, where the link reads $\langle x_i, x_j\rangle \ge 1 - \delta$, and in $\mathbb R^d$ with $R$
the root mean square distance of the tokens from their mean, now or at the first time of the run, whichever is larger: a
cloud that expands is judged at its own size, and one that shrinks to a point ends as one cluster.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, shown
from ..flows import Outcome
from ..flows.linkage import default_eps as default_eps
from ..flows.linkage import linked, usual_eps
from ..flows.linkage import spread as spread
from ..flows.metastability import Drift
from ..flows.remaining_motion import Motion, remaining_motion
from ..reductions import two_cluster_time
from ..spaces import AbstractSpace, Count, Number, Numbers, is_concrete
from ._clouds import Clouds, Tokens, clouds, linking_distance


@dataclass(frozen=True, eq=False, repr=False)
class Clusters:
    r"""The clusters at one time, or at all saved times (arrays then have a leading axis `T`).

    - `labels (n,)`: the cluster of each token, from 0 on; cluster 0 has the most mass. -1: the run did not get there
      (clouds of which some tokens are no numbers are refused).
    - `count`: how many clusters there are, 0 where that is not known. `sizes`, `masses` `(count,)`: their tokens and
      their weights; with a leading axis, zeros fill up what earlier or later times have more.
    - `eps`: the linking distance, in the coordinates of `run.xs`.
    - `state`: what is left of the motion.
      `"moving"`: tokens move visibly in a time as long as the run. `"at rest"`: an equilibrium, shown to be one.
      `"metastable"`: no equilibrium, but nothing visible moves on the time scale of the run. `"below rounding"`: what
      moves visibly in that time is slower than the rounding of velocities. `"unknown"`: the run has no model, or is
      itself in doubt.
    - `time`: about how long a metastable state lasts, until two of its clusters meet; infinite if that is not known, or
      beyond the largest number. For two clusters that is `two_cluster_time`; for more, that of the fastest pair.
    - `speed`: that of the fastest token; `rounding`, the rounding error of velocities; `rest`, the speed at which no
      token would move by a thousandth of `eps` in a time as long as the whole run. `None` without a model.
      Of a run in $\mathbb R^d$ that stores its growth apart they are those of the true tokens.
    - `converged`: whether the clusters are final, `state == "at rest"`; `None` if that cannot be known.
    - `limits`: sentences that say why the answer may not be trusted.

    Printed, it is a sentence that says all this.
    """

    labels: np.ndarray
    count: int | np.ndarray
    sizes: np.ndarray
    masses: np.ndarray
    eps: float | np.ndarray
    speed: float | np.ndarray | None = None
    rest: float | np.ndarray | None = None
    ts: float | np.ndarray | None = None
    clock: str = ""
    state: str | np.ndarray = "unknown"
    time: float | np.ndarray | None = None
    rounding: float | np.ndarray | None = None
    limits: tuple[str, ...] = ()

    @property
    def converged(self) -> bool | np.ndarray | None:
        """Whether this is an equilibrium; a metastable state that creeps has not converged."""
        state = np.asarray(self.state)
        if (state == "unknown").all():
            return None
        return state == "at rest" if state.ndim else bool(state == "at rest")

    def __repr__(self) -> str:
        """One sentence; along a run it is that of the last time."""
        count, eps, t = (_last(v) for v in (self.count, self.eps, self.ts))
        when = "" if t is None else f" at t = {t:g}{f' ({self.clock})' if self.clock else ''}"
        if count == 0:
            return f"Clusters{when} are not known: the tokens are no numbers."
        what = f"{count} cluster{'' if count == 1 else 's'}{when}, linked within {eps:.3g}"
        return f"{what}{self._rest()}" + "".join(f" {limit}" for limit in self.limits)

    def _rest(self) -> str:
        state, speed, rest, time = (_last(v) for v in (self.state, self.speed, self.rest, self.time))
        if state == "at rest":
            return ", at rest."
        if state == "moving":
            return f", not converged: the fastest token has speed {speed:.2g}, and rest would be {rest:.2g} or less."
        if state == "metastable":
            lasts = f"for a time of about {time:.3g}" if np.isfinite(time) else "for a time that is not known"
            return f", metastable {lasts}: the fastest token has a speed of about {speed:.2g}, which is no rest."
        if state == "below rounding":
            return f", not converged: what is left of the motion is below rounding ({_last(self.rounding):.2g})."
        return "; whether they rest is not known."


def _last(value: Any) -> Any:
    return None if value is None else np.asarray(value).reshape(-1)[-1]


def clusters(
    tokens: Tokens,
    *,
    at: Count | None = None,
    eps: Number | None = None,
    weights: Numbers | None = None,
    space: AbstractSpace | None = None,
) -> Clusters:
    """Connected components of tokens within `eps` of each other.

    **Arguments:**

    - `tokens`: a run, or an array `(..., n, d)` with its `weights` and its `space`.
    - `at`: the index of a saved time, or `None` for all of them.
    - `eps`: a distance in the coordinates (on the sphere the chord); the default depends on the space, see this
      module's text. Many tokens are a chain of neighbours from the start: 1000 of them on the circle are one cluster at
      the default, until `eps` is smaller.

    Memory is linear in the number of tokens; 10^5 of them take seconds for each time in few dimensions, where a tree of
    neighbours is used, and minutes in many.

    >>> import numpy as np
    >>> from attnflow.spaces import Sphere
    >>> clusters(np.array([[1.0, 0.0], [0.999, 0.0447], [0.0, 1.0]]), space=Sphere()).sizes.tolist()
    [2, 1]
    """
    batch = clouds(tokens, at, weights)
    if not is_concrete(batch.xs):
        raise InputError("clusters looks at values and cannot be compiled; inside jit use diagnostics.components.")
    if space is not None and not isinstance(space, AbstractSpace):
        raise InputError(f"space = {shown(space)} is no space; give af.Sphere() or af.Euclidean().")
    _check_finite(batch)
    distance = _default_eps(batch, space) if eps is None else np.full(batch.xs.shape[:-2], linking_distance(eps))
    labels, count, sizes, weight = _sorted(linked(batch.xs, distance), batch)
    run, ts = batch.run, batch.ts
    left = _motion(batch, labels, distance)
    at_one_time = None if distance.ndim else int(count)
    return Clusters(
        labels=labels,
        count=count if distance.ndim else int(count),
        sizes=sizes[..., :at_one_time],
        masses=weight[..., :at_one_time],
        eps=distance[()],
        speed=left.speed,
        rest=left.rest,
        ts=None if ts is None else np.asarray(ts) if distance.ndim else float(ts),
        clock="" if run is None else run.clock,
        state=left.state,
        time=left.time,
        rounding=left.rounding,
        limits=left.limits,
    )


def _check_finite(batch: Clouds) -> None:
    """Refuse clouds with some tokens that are not finite; a cloud of a run with none that is was not reached."""
    finite = np.isfinite(np.asarray(batch.xs)).all(axis=-1)
    unreached = np.asarray(~finite.any(axis=-1) & (finite.ndim > 1 or batch.run is not None))
    lost = ~finite & ~unreached[..., None]
    if lost.any():
        where = np.argwhere(lost)[0]
        cloud = f" of cloud {where[:-1].tolist()}" if len(where) > 1 else ""
        raise InputError(f"token {where[-1]}{cloud} is not a number, and clusters need all tokens; leave it out.")


def _default_eps(batch: Clouds, space: AbstractSpace | None) -> np.ndarray:
    """The default `eps` of every cloud."""
    if batch.run is not None and batch.run.model is not None:
        if space is not None:
            raise InputError("a run knows its space; leave out space=, or give run.xs instead of the run.")
        space = batch.run.model.space
    if space is None:
        raise InputError("tell which space the tokens live in, space=af.Sphere() or af.Euclidean(), or give eps.")
    return usual_eps(batch, space)


def _sorted(first: np.ndarray, batch: Clouds) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Labels by decreasing mass (then by first token), number of clusters, their sizes and masses."""
    n = first.shape[-1]
    w = np.full(n, 1 / n) if batch.w is None else np.asarray(batch.w, float)
    known = np.isfinite(np.asarray(batch.xs)).all(axis=(-2, -1)).reshape(-1)
    labels = np.full((known.size, n), -1)
    sizes, weight = np.zeros((known.size, n), int), np.zeros((known.size, n))
    for t in np.flatnonzero(known):
        heads, member = np.unique(first.reshape(-1, n)[t], return_inverse=True)
        mass = np.bincount(member, w)
        order = np.argsort(-np.round(mass, 12), kind="stable")  # equal masses stay so in spite of round-off
        labels[t] = np.argsort(order)[member]
        sizes[t, : heads.size], weight[t, : heads.size] = np.bincount(member)[order], mass[order]
    count = labels.max(axis=1) + 1
    most = int(count.max(initial=0))
    leading = first.shape[:-1]
    sizes, weight = (a[:, :most].reshape((*leading, most)) for a in (sizes, weight))
    return labels.reshape(first.shape), count.reshape(leading), sizes, weight


def _motion(batch: Clouds, labels: np.ndarray, eps: np.ndarray) -> Motion:
    """The remaining motion; unknown without a model, or if the run is in doubt."""
    run = batch.run
    if run is None or run.model is None:
        return Motion()
    motion = remaining_motion(batch, labels, eps, _meeting_time)
    if run.result is Outcome.COARSE_STEPS:
        return motion._replace(state="unknown", limits=(run.sentence,))
    return motion


def _meeting_time(model: Any, drifting: Drift, chord: np.ndarray) -> np.ndarray:
    """How long the first two clusters take until they are at the distance `chord`, if they are alone."""
    end = 2 * np.arcsin(np.minimum(chord / 2, 1))
    start = np.clip(np.asarray(drifting.angle, float), end, np.pi - 1e-6)
    share = np.clip(np.asarray(drifting.share, float), 0, 1)
    between = {"u0": start, "u1": np.minimum(end, start), "weight": share}
    zonal = model.attention.zonal
    clock = "SA" if zonal.normalized else "shifted USA"
    log_time = two_cluster_time(float(zonal.beta), **between, clock=clock, log=True) - float(zonal.log_speed)
    with np.errstate(over="ignore"):  # times beyond the largest number are infinite
        time = np.exp(np.asarray(log_time, float))
    return time if zonal.normalized else time / np.asarray(drifting.mass, float)
