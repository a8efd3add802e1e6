"""The dense engine: one tile holds all pairs. The reference for every other engine, and fastest for small clouds."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._algebra import BROADCAST, MATMUL, Algebra
from ._pairs import AbstractPairs
from ._reductions import AbstractReduction, Exponential, Hardmax, Sums
from ._scores import AbstractScore, Projected
from ._tiles import tile_logits, tile_sums


def dense_sums(
    score: AbstractScore,
    tile: Projected,
    values: Float[Array, "m p"],
    log_w: Float[Array, " m"] | None,
    pairs: AbstractPairs,
    reduction: AbstractReduction,
    selection: Hardmax | None = None,
    algebra: Algebra = MATMUL,
) -> Sums:
    """`(num, log_z)` with all pairs in memory at once; `log_w=None` counts every key with weight one."""
    n, m = tile.queries.shape[0], tile.keys.shape[0]
    logits, outside = tile_logits(score, tile, log_w, pairs, jnp.arange(n), jnp.arange(m), n, m, algebra)
    logits = algebra.keep(logits)
    if selection is not None:
        logits = selection.ties(logits, selection.best(logits, outside))
    top = reduction.top(logits, outside)
    return reduction.finish(top, tile_sums(reduction, logits, outside, values, top, algebra))


def broadcast_sums(
    score: AbstractScore,
    tile: Projected,
    values: Float[Array, "m p"],
    log_w: Float[Array, " m"] | None,
    pairs: AbstractPairs,
    reduction: AbstractReduction,
    selection: Hardmax | None = None,
) -> Sums:
    """The same, written as broadcast, multiply, sum; for ensembles of small clouds in few dimensions.

    A row maximum costs a second pass over the pairs, so exponentials are first taken relative to an upper bound of the
    scores. Only if some row then underflows (its best score far below the bound) is it all done again with the maximum.
    """
    n, m = tile.queries.shape[0], tile.keys.shape[0]
    # What a token's coordinates are computed from must not be computed again for every pair.
    tile, values, log_w = jax.lax.optimization_barrier((tile, values, log_w))
    biased = pairs.logit(jnp.arange(1), jnp.arange(1), n, m) is not None
    if not isinstance(reduction, Exponential) or selection is not None or biased:
        return dense_sums(score, tile, values, log_w, pairs, reduction, selection, BROADCAST)
    logits, outside = tile_logits(score, tile, log_w, pairs, jnp.arange(n), jnp.arange(m), n, m, BROADCAST)
    top = jax.lax.stop_gradient(score.bound(tile))
    if log_w is not None:
        heaviest = jnp.max(log_w)
        top = top + jnp.where(heaviest == -jnp.inf, 0, jax.lax.stop_gradient(heaviest)).astype(top.dtype)
    sums = tile_sums(reduction, logits, outside, values, top, BROADCAST)
    enough = jnp.sqrt(jnp.finfo(top.dtype).tiny)
    return jax.lax.cond(
        jnp.all(sums[1] > enough),
        lambda: reduction.finish(top, sums),
        lambda: dense_sums(score, tile, values, log_w, pairs, reduction, None, BROADCAST),
    )
