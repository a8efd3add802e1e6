r"""Clusters: which tokens have met, how many groups there are, and whether they have come to rest.

Tokens are linked when $|x_i - x_j| \le \varepsilon$, and clusters are the connected components. By default

$$ \varepsilon = R\,\sqrt{2\delta}, \qquad \delta = 10^{-3}, $$

with $R = 1$ on the sphere, where the link reads $\langle x_i, x_j\rangle \ge 1 - \delta$, and in $\mathbb R^d$ with $R$
the root mean square distance of the tokens from their mean, now or at the first time of the run, whichever is larger: a
cloud that expands is judged at its own size, and one that shrinks to a point ends as one cluster.
"""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from ..errors import InputError
from ..flows import Run
from ..models import AbstractModel, field
from ..spaces import AbstractSpace, Sphere, is_concrete
from ._clouds import Clouds, Tokens, along, clouds, masses
from ._linkage import components, tree_components

DELTA = 1e-3
# A configuration rests when in a time as long as the run no token would move by this fraction of eps.
REST = 1e-3
# A tree of neighbours pays from so many tokens on, up to that dimension.
TREE_TOKENS, TREE_DIMENSION = 1024, 8


@dataclass(frozen=True, eq=False, repr=False)
class Clusters:
    """The clusters at one time, or at all saved times (arrays then have a leading axis `T`).

    - `labels (n,)`: the cluster of each token, from 0 on; cluster 0 has the most mass. -1: the run did not get there.
    - `count`: how many clusters there are. `sizes`, `masses` `(count,)`: their tokens and their weights; with a
      leading axis, zeros fill up what earlier or later times have more.
    - `eps`: the linking distance.
    - `speed`: that of the fastest token, and `rest`, the speed at which no token would move by a thousandth of `eps` in
      a time as long as the whole run; `None` if there is no model to ask.
    - `converged`: whether the clusters are final, `speed <= rest`; `None` if that cannot be known.

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

    @property
    def converged(self) -> bool | np.ndarray | None:
        """Whether nothing moves on the time scale of the run; a metastable state that creeps has not converged."""
        if self.speed is None or self.rest is None:
            return None
        slow = np.asarray(self.speed <= self.rest)
        return slow if slow.ndim else bool(slow)

    def __repr__(self) -> str:
        """One sentence; along a run it is that of the last time."""
        count, eps, speed, rest, t = (_last(v) for v in (self.count, self.eps, self.speed, self.rest, self.ts))
        when = "" if t is None else f" at t = {t:g}{f' ({self.clock})' if self.clock else ''}"
        what = f"{count} cluster{'' if count == 1 else 's'}{when}, linked within {eps:.3g}"
        if speed is None or rest is None:
            return f"{what}; whether they rest is not known."
        if speed <= rest:
            return f"{what}, at rest."
        return f"{what}, not converged: the fastest token has speed {speed:.2g}, and rest would be {rest:.2g} or less."


def _last(value: Any) -> Any:
    return None if value is None else np.asarray(value).reshape(-1)[-1]


def clusters(
    tokens: Tokens,
    at: int | None = None,
    eps: float | None = None,
    *,
    weights: ArrayLike | None = None,
    space: AbstractSpace | None = None,
) -> Clusters:
    """Who has met whom: connected components of tokens within `eps` of each other.

    **Arguments:**

    - `tokens`: a run, or an array `(..., n, d)` with its `weights` and its `space`.
    - `at`: the index of a saved time, or `None` for all of them.
    - `eps`: a distance in the coordinates (on the sphere the chord); the default depends on the space, see this
      module's text. Many tokens are a chain of neighbours from the start: 1000 of them on the circle are one cluster at
      the default, until `eps` is smaller.

    Memory is linear in the number of tokens; 10^5 of them take seconds for each time in few dimensions, where a tree of
    neighbours is used, and minutes in many.

    >>> import numpy as np
    >>> clusters(np.array([[1.0, 0.0], [0.999, 0.0447], [0.0, 1.0]]), space=Sphere()).sizes.tolist()
    [2, 1]
    """
    found = clouds(tokens, at, weights)
    if not is_concrete(found.xs):
        raise InputError("clusters looks at values and cannot be compiled; inside jit use diagnostics.components.")
    distance = _linking_distance(found, space) if eps is None else np.full(found.xs.shape[:-2], _checked(eps))
    labels, count, sizes, weight = _sorted(_linked(found.xs, distance), found)
    speed, rest = (None, None) if found.run is None else _speeds(found.run, found, distance)
    run, ts = found.run, found.ts
    at_one_time = None if distance.ndim else int(count)
    return Clusters(
        labels=labels,
        count=count if distance.ndim else int(count),
        sizes=sizes[..., :at_one_time],
        masses=weight[..., :at_one_time],
        eps=distance[()],
        speed=speed,
        rest=rest,
        ts=None if ts is None else np.asarray(ts)[()],
        clock="" if run is None else run.clock,
    )


def _checked(eps: float) -> float:
    if not (np.isfinite(eps) and eps >= 0):
        raise InputError(f"eps = {eps} is no distance; take a number, at least 0.")
    return float(eps)


def _linking_distance(found: Clouds, space: AbstractSpace | None) -> np.ndarray:
    """The default `eps` of every cloud."""
    if found.run is not None and found.run.model is not None:
        if space is not None:
            raise InputError("a run knows its space; leave out space=, or give run.xs instead of the run.")
        space = found.run.model.space
    if space is None:
        raise InputError("tell which space the tokens live in, space=af.Sphere() or af.Euclidean(), or give eps.")
    if isinstance(space, Sphere):
        return np.full(found.xs.shape[:-2], np.sqrt(2 * DELTA))
    size = np.asarray(along(_spread, found.xs, found.w), float)
    if found.run is not None:
        size = np.fmax(size, float(along(_spread, found.run.xs[0], found.w)))
    return np.asarray(np.sqrt(2 * DELTA) * size)


def _spread(x: Float[Array, "n d"], w: Float[Array, " n"] | None) -> Float[Array, ""]:
    """The root mean square distance of the tokens from their mean."""
    w = masses(x, w)
    return jnp.sqrt(jnp.sum(w * jnp.sum((x - (w @ x)[None, :]) ** 2, axis=1)))


def _linked(xs: Float[Array, "*T n d"], eps: np.ndarray) -> np.ndarray:
    """For every token the first of its cluster."""
    if xs.shape[-2] <= TREE_TOKENS or xs.shape[-1] > TREE_DIMENSION:
        return np.asarray(along(components, (xs, jnp.asarray(eps, xs.dtype))))
    flat = np.asarray(xs).reshape(-1, *xs.shape[-2:])
    found = [tree_components(x, float(e)) for x, e in zip(flat, eps.reshape(-1), strict=True)]
    return np.stack(found).reshape(xs.shape[:-1])


def _sorted(first: np.ndarray, found: Clouds) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Labels by decreasing mass (then by first token), number of clusters, their sizes and masses."""
    n = first.shape[-1]
    w = np.full(n, 1 / n) if found.w is None else np.asarray(found.w, float)
    known = np.isfinite(np.asarray(found.xs)).all(axis=(-2, -1)).reshape(-1)
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
    batch = first.shape[:-1]
    sizes, weight = (a[:, :most].reshape((*batch, most)) for a in (sizes, weight))
    return labels.reshape(first.shape), count.reshape(batch), sizes, weight


def _speeds(run: Run, found: Clouds, eps: np.ndarray) -> tuple[Any, Any]:
    """The speed of the fastest token, and the one below which it would rest on the time scale of the run."""
    if run.model is None:
        return None, None
    speed = np.asarray(along(_fastest, (found.xs, found.ts), found.w, run.model), float)
    with np.errstate(under="ignore", divide="ignore"):
        return speed[()], np.exp(np.log(REST * eps) - _log_duration(run))[()]  # in logarithms: long times overflow


def _fastest(
    x: Float[Array, "n d"], t: Float[Array, ""], w: Float[Array, " n"] | None, model: AbstractModel
) -> Float[Array, ""]:
    return jnp.max(jnp.linalg.norm(field(model, t, x, w), axis=-1))


def _log_duration(run: Run) -> float:
    """How long the flow has run, from its start to its last saved time; a state alone has run for ever."""
    if run.log_ts is not None:
        return float(run.log_ts[-1])
    options = run.provenance.get("options") or {}
    start = run.ts[0] if options.get("t0") is None else options["t0"]
    duration = float(run.ts[-1]) - float(start)
    return np.log(duration) if duration > 0 else np.inf
