"""What is kept of a path of merging clusters: a bounded number of rows between two mergings.

Rows are steps of the solver, so they are as accurate as it is. There are `points` of them at most between two mergings:
when they are full, every second one is dropped and from then on half as many are kept.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ._merging import Clusters


class Path(NamedTuple):
    """Segment by segment: rows, how many are filled, who is with whom, and the energy at the beginning.

    A row is one vector, the tokens and then log t and the arclength: one array is written to, and not three.
    """

    rows: Float[Array, "k p r"]
    filled: Int[Array, " k"]
    labels: Int[Array, "k n"]
    energy: Float[Array, " k"]
    segment: Int[Array, ""]
    met: Int[Array, ""]  # steps seen in this segment
    stride: Int[Array, ""]  # of which one in so many is kept


def begin(start: Clusters, points: int) -> Path:
    """A path that stands at its start, with room for `points` rows and one more in every segment."""
    n, d = start.x.shape
    dtype = start.x.dtype
    zero, one = jnp.zeros((), jnp.int32), jnp.ones((), jnp.int32)
    path = Path(
        rows=jnp.zeros((n, points + 1, n * d + 2), dtype),
        filled=jnp.zeros(n, jnp.int32),
        labels=jnp.zeros((n, n), jnp.int32),
        energy=jnp.full(n, jnp.nan, dtype),
        segment=zero,
        met=zero,
        stride=one,
    )
    never, nowhere = jnp.asarray(-jnp.inf, dtype), jnp.zeros((), dtype)
    return mark(path, start, never, nowhere, nowhere, jnp.asarray(False))


def mark(path: Path, joined: Clusters, log_t: Array, s: Array, energy: Array, event: Bool[Array, ""]) -> Path:
    """A merging begins a segment; one at the start belongs to the first."""
    k = path.segment + event.astype(jnp.int32)
    return Path(
        rows=path.rows.at[k, 0].set(_row(joined, log_t, s)),
        filled=path.filled.at[k].set(1),
        labels=path.labels.at[k].set(joined.labels),
        energy=path.energy.at[k].set(energy),
        segment=k,
        met=jnp.zeros_like(path.met),
        stride=jnp.ones_like(path.stride),
    )


def note(path: Path, clusters: Clusters, log_t: Array, s: Array, good: Bool[Array, ""]) -> Path:
    """A step, kept if it was accepted and it is its turn."""
    room = path.rows.shape[1]
    if room == 1:
        return path
    k = path.segment
    met = path.met + good.astype(jnp.int32)
    keep = good & (met % path.stride == 0)
    at = jnp.where(keep, path.filled[k], room)  # out of bounds: dropped
    rows = path.rows.at[k, at].set(_row(clusters, log_t, s), mode="drop")
    filled = path.filled[k] + keep.astype(jnp.int32)
    full = filled >= room
    halved = jnp.minimum(2 * jnp.arange(room), room - 1)
    rows = rows.at[k].set(jnp.where(full, rows[k][halved], rows[k]))
    filled = jnp.where(full, (room + 1) // 2, filled)
    stride = jnp.where(full, 2 * path.stride, path.stride)
    return path._replace(rows=rows, filled=path.filled.at[k].set(filled), met=met, stride=stride)


def flattened(
    path: Path, clusters: Clusters, log_t: Array, s: Array
) -> tuple[dict[str, Array], dict[str, Array], Int[Array, ""]]:
    """Rows of all segments one after the other up to the last state, the mergings, and the number of rows.

    After the rows there are, the last one is repeated.
    """
    n, room, _ = path.rows.shape
    slots = jnp.arange(n, dtype=jnp.int32)
    first = jnp.cumsum(path.filled, dtype=jnp.int32) - path.filled
    # Where every row goes; the last state is one more row, unless it is the last row already.
    place = first[:, None] + jnp.arange(room, dtype=jnp.int32)[None, :]
    capacity = n * room + 1
    place = jnp.where(place - first[:, None] < path.filled[:, None], place, capacity).ravel()
    total = jnp.sum(path.filled, dtype=jnp.int32)
    seen = path.rows[path.segment, path.filled[path.segment] - 1, -1] == s
    place = jnp.concatenate([place, jnp.where(seen, capacity, total)[None]])
    total = total + (~seen).astype(total.dtype)
    source = jnp.zeros(capacity, jnp.int32).at[place].set(jnp.arange(capacity, dtype=jnp.int32), mode="drop")
    source = source[jnp.minimum(jnp.arange(capacity, dtype=total.dtype), total - 1)]
    everything = jnp.concatenate([path.rows.reshape(n * room, -1), _row(clusters, log_t, s)[None]])[source]
    segment = jnp.concatenate([jnp.repeat(slots, room), path.segment[None]])[source]
    happened = (slots <= path.segment)[1:]
    rows = {
        "xs": everything[:, :-2].reshape(capacity, n, -1),
        "log_ts": everything[:, -2],
        "arclength": everything[:, -1],
        "labels": path.labels[segment],
    }
    merges = {
        "merge_log_t": jnp.where(happened, path.rows[1:, 0, -2], jnp.nan),
        "merge_clusters": jnp.where(happened, jnp.sum(path.labels[1:] == slots[None, :], axis=1), 0),
        "merge_energy": jnp.where(happened, path.energy[1:], jnp.nan),
        "merge_index": jnp.where(happened, first[1:], -1),
    }
    return rows, merges, total


def _row(clusters: Clusters, log_t: Array, s: Array) -> Float[Array, " r"]:
    return jnp.concatenate([clusters.tokens.ravel(), log_t[None], s[None]])
