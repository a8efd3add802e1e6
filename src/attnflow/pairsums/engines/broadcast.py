"""The broadcast engine: products are broadcast, multiply, sum; for ensembles of small clouds in few dimensions."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._bounded import upper_bound
from .._engine import AbstractPairSumEngine, Inputs, Problem
from .._exponential import exp
from .._reductions import Sums, finite
from .._tiles import tile_logits
from ..algebra import BROADCAST
from .dense import dense_sums


class Broadcast(AbstractPairSumEngine):
    """For realisations along a trailing axis, which ensembles choose (`innermost`); for one cloud it is slower."""

    name = "broadcast"

    def cost(self, problem: Problem) -> float:
        return 4 * problem.xla_seconds

    def run(self, problem: Problem, inputs: Inputs) -> Sums:
        return broadcast_sums(problem, inputs)


ENGINE = Broadcast()


def broadcast_sums(problem: Problem, inputs: Inputs) -> Sums:
    """`(num, log_z)` with all pairs in memory at once."""
    # One number for all rows is quicker to subtract than one for each.
    bounded = upper_bound(problem, inputs, common=True)
    if bounded is None:
        return dense_sums(problem, inputs, BROADCAST)

    bound, safe = bounded
    score, pairs, reduction, _ = problem.summed
    i, j = inputs.numbers, jnp.arange(problem.m)

    def weights(bounded: bool) -> tuple[Float[Array, "n m"], Float[Array, " n"]]:
        logits, outside = tile_logits(score, inputs.tile, inputs.log_w, pairs, i, j, problem.n, problem.m, BROADCAST)
        top = bound if bounded else finite(reduction.top(BROADCAST.keep(logits), outside))
        return reduction.weights(logits, outside, top, exp)[0], top

    # What leaves a branch is kept: the sums outside read exponentials, and do not compute them again.
    e, top = jax.lax.cond(safe, lambda: weights(True), lambda: weights(False))
    return reduction.finish(top, (BROADCAST.contract(e, inputs.values), jnp.sum(e, axis=1)))
