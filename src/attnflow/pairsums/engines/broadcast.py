"""The broadcast engine: products are broadcast, multiply, sum; for ensembles of small clouds in few dimensions."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._bounded import upper_bound
from .._engine import AbstractPairSumEngine, Inputs, Problem
from .._exponential import exp
from .._pairs import AbstractPairs
from .._reductions import AbstractReduction, Hardmax, Sums, finite
from .._scores import AbstractScore, Projected
from .._tiles import tile_logits
from ..algebra import BROADCAST
from .dense import dense_sums


class Broadcast(AbstractPairSumEngine):
    """For realisations along a trailing axis, which ensembles choose (`innermost`); for one cloud it is slower."""

    name = "broadcast"

    def cost(self, problem: Problem) -> float:
        return 4 * problem.xla_seconds

    def run(self, problem: Problem, inputs: Inputs) -> Sums:
        what = (problem.pairs, problem.reduction, problem.selection)
        return broadcast_sums(problem.score, inputs.tile, inputs.values, inputs.log_w, *what)


ENGINE = Broadcast()


def broadcast_sums(
    score: AbstractScore,
    tile: Projected,
    values: Float[Array, "m p"],
    log_w: Float[Array, " m"] | None,
    pairs: AbstractPairs,
    reduction: AbstractReduction,
    selection: Hardmax | None = None,
) -> Sums:
    """`(num, log_z)` with all pairs in memory at once; `log_w=None` counts every key with weight one."""
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
