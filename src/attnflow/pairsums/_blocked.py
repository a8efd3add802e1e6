"""The blocked engine: memory proportional to the number of tokens, forward, reverse and `jvp`.

Queries go through `lax.map` in tiles; for each tile the keys are scanned in tiles, with sums kept relative to a
running row maximum. Both loops are checkpointed, so that differentiation stores carries and recomputes exponentials.
There is no custom derivative rule here: it would end forward mode and implicit solvers.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._pairs import AbstractPairs
from ._reductions import AbstractReduction, Hardmax, Sums
from ._scores import AbstractScore, Projected
from ._tiles import tile_logits, tile_sums

# Tiles of this size keep the scores of a tile in the second-level cache of a core and its matrix products large.
QUERIES, KEYS = 512, 1024


def blocked_sums(
    score: AbstractScore,
    tile: Projected,
    values: Float[Array, "m p"],
    log_w: Float[Array, " m"] | None,
    pairs: AbstractPairs,
    reduction: AbstractReduction,
    selection: Hardmax | None = None,
    tile_size: tuple[int, int] = (QUERIES, KEYS),
) -> Sums:
    """`(num, log_z)` tile by tile; `log_w=None` counts every key with weight one."""
    n, m = tile.queries.shape[0], tile.keys.shape[0]
    a, b = min(tile_size[0], n), min(tile_size[1], m)
    if m % b and log_w is None:
        log_w = jnp.zeros(m, tile.keys.dtype)
    keys = {
        "keys": _cut(tile.keys, b),
        "bias": None if tile.key_bias is None else _cut(tile.key_bias, b),
        "values": _cut(values, b),
        "log_w": None if log_w is None else _cut(log_w.astype(tile.keys.dtype), b, fill=-jnp.inf),
        "j": _cut(jnp.arange(m), b),
    }

    @jax.checkpoint
    def rows(query):
        def scores(key):
            part = Projected(query["queries"], key["keys"], query["bias"], key["bias"])
            return tile_logits(score, part, key["log_w"], pairs, query["i"], key["j"], n, m)

        bottom = jnp.full(a, -jnp.inf, tile.queries.dtype)
        best = bottom
        if selection is not None:

            def climb(top, key, selection=selection):
                return jnp.maximum(top, selection.best(*scores(key))), None

            best, _ = jax.lax.scan(climb, bottom, keys)

        @jax.checkpoint
        def add(carry, key):
            top, (num, mass) = carry
            logits, outside = scores(key)
            logits = logits if selection is None else selection.ties(logits, best)
            new = jnp.maximum(top, reduction.top(logits, outside))
            old = reduction.rescale(top, new)
            more, more_mass = tile_sums(reduction, logits, outside, key["values"], new)
            return (new, (old[:, None] * num + more, old * mass + more_mass)), None

        nothing = (jnp.zeros((a, values.shape[1]), values.dtype), jnp.zeros(a, values.dtype))
        (top, sums), _ = jax.lax.scan(add, (bottom, nothing), keys)
        return reduction.finish(top, sums)

    queries = {
        "queries": _cut(tile.queries, a),
        "bias": None if tile.query_bias is None else _cut(tile.query_bias, a),
        "i": _cut(jnp.arange(n), a),
    }
    num, log_z = jax.lax.map(rows, queries)
    return num.reshape(log_z.size, values.shape[1])[:n], log_z.reshape(-1)[:n]


def _cut(x: Array, size: int, fill: float = 0) -> Array:
    """Cut the first axis into tiles, the last one filled up."""
    missing = -x.shape[0] % size
    if missing:
        x = jnp.pad(x, [(0, missing)] + [(0, 0)] * (x.ndim - 1), constant_values=fill)
    return x.reshape(x.shape[0] // size, size, *x.shape[1:])
