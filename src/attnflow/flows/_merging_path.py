"""The path of merging clusters, stored with a bounded number of rows between two mergings.

Rows are steps of the solver, so they are as accurate as it is. There are `points` of them at most between two mergings
(a segment): when they are full, every second one is dropped and from then on half as many are kept. Segments lie one
after the other, so that a long path can be followed in portions whose size does not depend on how many rows there are.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ._merging import Clusters


class News(NamedTuple):
    """The result of one pass of the loop: clusters that joined, an event or before the first step; a step to note."""

    joined: Bool[Array, ""]
    event: Bool[Array, ""]
    step: Bool[Array, ""]


class Path(NamedTuple):
    """Rows, and for every segment its first row, the cluster of every token in it, and the energy at its beginning.

    A row is one vector, the tokens and then log t and the arclength: one array is written to, and not three.
    """

    rows: Float[Array, "c r"]
    begins: Int[Array, " k"]
    labels: Int[Array, "k n"]
    energy: Float[Array, " k"]
    segment: Int[Array, ""]  # the present one; as large as there is room for segments when the path is full
    first: Int[Array, ""]  # its first row,
    filled: Int[Array, ""]  # how many it has,
    met: Int[Array, ""]  # of how many steps,
    stride: Int[Array, ""]  # of which one in so many is kept

    @property
    def full(self) -> Bool[Array, ""]:
        return self.segment >= self.begins.size


def begin(start: Clusters, log_t: Array, s: Array, energy: Array, points: int, segments: int) -> Path:
    """A path that stands at its start, with room for `points` rows and one more in each of so many segments."""
    n, d = start.x.shape
    dtype = start.x.dtype
    zero, one = jnp.zeros((), jnp.int32), jnp.ones((), jnp.int32)
    return Path(
        rows=jnp.zeros((segments * (points + 1), n * d + 2), dtype).at[0].set(_row(start, log_t, s)),
        begins=jnp.zeros(segments, jnp.int32),
        labels=jnp.zeros((segments, n), jnp.int32).at[0].set(start.labels),
        energy=jnp.full(segments, jnp.nan, dtype).at[0].set(energy),
        segment=zero,
        first=zero,
        filled=one,
        met=zero,
        stride=one,
    )


def record(path: Path, now: Clusters, log_t: Array, s: Array, energy: Array, news: News) -> Path:
    """The path with a step, kept if it is its turn, or with a merging, which begins a segment.

    Clusters that join before the first step belong to the first segment.
    """
    capacity, segments = path.rows.shape[0], path.begins.size
    room = capacity // segments
    k = path.segment + news.event.astype(jnp.int32)
    first = path.first + jnp.where(news.event, path.filled, 0)
    met = jnp.where(news.joined, 0, path.met + news.step.astype(jnp.int32))
    keep = news.step & (met % path.stride == 0) & (room > 1)
    filled = jnp.where(news.joined, 1, path.filled + keep.astype(jnp.int32))
    # Indices out of bounds are dropped.
    at = jnp.where(news.joined, first, jnp.where(keep, first + path.filled, capacity))
    rows = path.rows.at[at].set(_row(now, log_t, s), mode="drop")
    full = filled >= room
    if room > 1:
        own = jax.lax.dynamic_slice_in_dim(rows, first, room)
        halved = jnp.minimum(2 * jnp.arange(room), room - 1)
        thin = jnp.where(keep & full, own[halved], own)
        rows = jax.lax.dynamic_update_slice_in_dim(rows, thin, first, axis=0)
    slot = jnp.where(news.joined, k, segments)
    return Path(
        rows=rows,
        begins=path.begins.at[slot].set(first, mode="drop"),
        labels=path.labels.at[slot].set(now.labels, mode="drop"),
        energy=path.energy.at[slot].set(energy, mode="drop"),
        segment=k,
        first=first,
        filled=jnp.where(keep & full, (room + 1) // 2, filled),
        met=met,
        stride=jnp.where(news.joined, 1, jnp.where(keep & full, 2 * path.stride, path.stride)),
    )


def unrolled(
    path: Path, clusters: Clusters, log_t: Array, s: Array
) -> tuple[dict[str, Array], dict[str, Array], Int[Array, ""], Int[Array, ""]]:
    """Rows up to the last state, the segments' beginnings, and how many there are of both.

    After the rows there are, the last one is repeated. The state in which a path became full begins the next one and is
    no row of this.
    """
    capacity, segments = path.rows.shape[0], path.begins.size
    rows = path.first + jnp.where(path.full, 0, path.filled)
    seen = path.full | (path.rows[rows - 1, -1] == s)  # the last state is one more row, unless it is one already
    total = rows + (~seen).astype(rows.dtype)
    place = jnp.arange(capacity + 1, dtype=rows.dtype)
    place = jnp.where(place < rows, place, jnp.where(seen, rows - 1, capacity))
    everything = jnp.concatenate([path.rows, _row(clusters, log_t, s)[None]])[place]
    count = jnp.minimum(path.segment + 1, segments)
    known = jnp.arange(segments, dtype=count.dtype) < count
    firsts = jnp.where(known, path.begins, capacity + 1)
    segment = jnp.searchsorted(firsts, jnp.minimum(place, rows - 1), side="right") - 1
    n = clusters.labels.size
    slots = jnp.arange(n, dtype=path.labels.dtype)
    kept = {
        "xs": everything[:, :-2].reshape(capacity + 1, n, -1),
        "log_ts": everything[:, -2],
        "arclength": everything[:, -1],
        "labels": path.labels[segment],
    }
    merges = {
        "merge_log_t": jnp.where(known, path.rows[path.begins, -2], jnp.nan),
        "merge_clusters": jnp.where(known, jnp.sum(path.labels == slots[None, :], axis=1), 0),
        "merge_energy": jnp.where(known, path.energy, jnp.nan),
        "merge_index": jnp.where(known, path.begins, -1),
    }
    return kept, merges, total, count


def _row(clusters: Clusters, log_t: Array, s: Array) -> Float[Array, " r"]:
    return jnp.concatenate([clusters.tokens.ravel(), log_t[None], s[None]])
