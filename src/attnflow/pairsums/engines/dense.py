"""The dense engine: one tile holds all pairs. The reference for every other engine, and fastest for small clouds."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .._engine import AbstractPairSumEngine, Inputs, Problem
from .._pairs import AbstractPairs
from .._reductions import AbstractReduction, Hardmax, Sums, finite
from .._scores import AbstractScore, Projected
from .._tiles import tile_logits, tile_sums
from ..algebra import MATMUL, Algebra


class Dense(AbstractPairSumEngine):
    """All pairs at once."""

    name = "dense"

    def cost(self, problem: Problem) -> float:
        return problem.xla_seconds * (1 if problem.small else 2)

    def run(self, problem: Problem, inputs: Inputs) -> Sums:
        what = (problem.pairs, problem.reduction, problem.selection)
        return dense_sums(problem.score, inputs.tile, inputs.values, inputs.log_w, *what)


ENGINE = Dense()


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
