"""The dense engine: one tile holds all pairs. The reference for every other engine, and fastest for small clouds."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._bounded import upper_bound
from ._exponential import exp
from ._pairs import AbstractPairs
from ._reductions import AbstractReduction, Hardmax, Sums, finite
from ._scores import AbstractScore, Projected
from ._tiles import tile_logits, tile_sums
from .algebra import BROADCAST, MATMUL, Algebra

# From here on the n-by-m arrays leave the caches and the blocked engine is at least as fast.
DENSE_PAIRS = 1024 * 1024


def is_small(n: int, m: int) -> bool:
    """Whether all pairs of `n` queries and `m` keys may be in memory at once."""
    return n * m <= DENSE_PAIRS


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
    top = finite(reduction.top(logits, outside))
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
    """The same, written as broadcast, multiply, sum; for ensembles of small clouds in few dimensions."""
    # One number for all rows is quicker to subtract than one for each.
    bounded = upper_bound(score, tile, log_w, pairs, reduction, selection, common=True)
    if bounded is None:
        return dense_sums(score, tile, values, log_w, pairs, reduction, selection, BROADCAST)

    bound, safe = bounded
    n, m = tile.queries.shape[0], tile.keys.shape[0]

    def weights(bounded: bool) -> tuple[Float[Array, "n m"], Float[Array, " n"]]:
        logits, outside = tile_logits(score, tile, log_w, pairs, jnp.arange(n), jnp.arange(m), n, m, BROADCAST)
        top = bound if bounded else finite(reduction.top(BROADCAST.keep(logits), outside))
        return reduction.weights(logits, outside, top, exp)[0], top

    # What leaves a branch is kept: the sums outside read exponentials, and do not compute them again.
    e, top = jax.lax.cond(safe, lambda: weights(True), lambda: weights(False))
    return reduction.finish(top, (BROADCAST.contract(e, values), jnp.sum(e, axis=1)))
