"""The dense engine: one tile holds all pairs. The reference for every other engine, and fastest for small clouds."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ._pairs import AbstractPairs
from ._reductions import AbstractReduction, Sums
from ._scores import AbstractScore, Projected


def tile_logits(
    score: AbstractScore,
    tile: Projected,
    log_w: Float[Array, " b"] | None,
    pairs: AbstractPairs,
    i: Int[Array, " a"],
    j: Int[Array, " b"],
    n: int,
    m: int,
) -> tuple[Float[Array, "a b"], Float[Array, "*a b"] | None]:
    """Scores with the inside bias, and the outside log weights, of queries `i` against keys `j`."""
    logits = score.logits(tile)
    bias = pairs.logit(i, j, n, m)
    if bias is not None:
        logits = logits + bias.astype(logits.dtype)
    outside = pairs.log_weight(i, j, n, m)
    if outside is not None:
        outside = outside.astype(logits.dtype)
    if log_w is not None:
        row = log_w.astype(logits.dtype)[None, :]
        outside = row if outside is None else outside + row
    return logits, outside


def dense_sums(
    score: AbstractScore,
    tile: Projected,
    values: Float[Array, "m p"],
    log_w: Float[Array, " m"] | None,
    pairs: AbstractPairs,
    reduction: AbstractReduction,
) -> Sums:
    """`(num, log_z)` with all pairs in memory at once; `log_w=None` counts every key with weight one."""
    n, m = tile.queries.shape[0], tile.keys.shape[0]
    logits, outside = tile_logits(score, tile, log_w, pairs, jnp.arange(n), jnp.arange(m), n, m)
    top = reduction.top(logits, outside)
    weights, mass = reduction.weights(logits, outside, top)
    return reduction.finish(top, (weights @ values, jnp.sum(mass, axis=1)))
