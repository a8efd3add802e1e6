"""The dense engine: one tile holds all pairs. The reference for every other engine, and fastest for small clouds."""

import jax.numpy as jnp

from .._engine import AbstractPairSumEngine, Inputs, Problem
from .._reductions import Sums, finite
from .._tiles import tile_logits, tile_sums
from ..algebra import MATMUL, Algebra


class Dense(AbstractPairSumEngine):
    """All pairs at once."""

    name = "dense"

    def cost(self, problem: Problem) -> float:
        return problem.xla_seconds * (1 if problem.small else 2)

    def run(self, problem: Problem, inputs: Inputs) -> Sums:
        return dense_sums(problem, inputs)


ENGINE = Dense()


def dense_sums(problem: Problem, inputs: Inputs, algebra: Algebra = MATMUL) -> Sums:
    """`(num, log_z)` with all pairs in memory at once."""
    score, pairs, reduction, selection = problem.summed
    i, j = inputs.numbers, jnp.arange(problem.m)
    logits, outside = tile_logits(score, inputs.tile, inputs.log_w, pairs, i, j, problem.n, problem.m, algebra)
    logits = algebra.keep(logits)
    if selection is not None:
        logits = selection.ties(logits, selection.best(logits, outside))
    top = finite(reduction.top(logits, outside))
    return reduction.finish(top, tile_sums(reduction, logits, outside, inputs.values, top, algebra))
