r"""The native engine: sums over pairs by a kernel of our own for this processor.

XLA makes several operations of them, each of which reads and writes all pairs. `pair_sums.cc` is one: it keeps a tile
of pairs in the first-level cache, from the scores to the sums. Where there is no such kernel (no compiler, see
`native_library`), and for what it does not support (reductions other than exponentials, pairs other than all and causal
ones), `auto` chooses the dense or the blocked engine. These compute the derivatives, too.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .._engine import NATIVE_PAIR, AbstractPairSumEngine, Inputs, Problem
from .._pairs import AbstractPairs, Causal
from .._reductions import Sums, finite
from .._rules import derived_from
from ..native_library import PAIR_SUMS, native
from .blocked import blocked_sums
from .dense import dense_sums

# Fewer queries leave most of a vector empty.
QUERIES = 8


class Native(AbstractPairSumEngine):
    """The kernel for this processor."""

    name = "native"

    def why_not(self, problem: Problem) -> str | None:
        if not native().ready:
            return f"kernels for this processor: {native().reason}"
        if problem.partitioned:
            return "XLA cannot cut the kernel into parts for the devices of a mesh"
        if problem.score is None:
            return problem.silent
        if not problem.exponential:
            return "the kernel is for exponentials of the score"
        if not problem.score.is_product:
            return f"the kernel is for inner products, and {type(problem.score).__name__} writes scores of its own"
        if not (problem.pairs.complete or type(problem.pairs) is Causal):
            return "the kernel is for all pairs and for causal ones"
        if problem.dtype not in (jnp.float32, jnp.float64):
            return f"tokens are {jnp.dtype(problem.dtype).name}, and the kernel computes in float32 and float64"
        if type(problem.pairs) is Causal and problem.m > 2 / float(jnp.finfo(problem.dtype).eps):
            return f"positions of {problem.m} tokens are not exact in {jnp.dtype(problem.dtype).name}"
        return None if problem.width else "the queries have no coordinates"

    def cost(self, problem: Problem) -> float:
        return problem.count * NATIVE_PAIR * (1 if problem.n >= QUERIES else 5)

    def run(self, problem: Problem, inputs: Inputs) -> Sums:
        def kernel(problem: Problem, inputs: Inputs) -> Sums:
            return problem.reduction.finish(*relative_sums(problem, inputs))

        return derived_from(dense_sums if problem.small else blocked_sums, kernel, problem, inputs)


ENGINE = Native()


def relative_sums(problem: Problem, inputs: Inputs) -> tuple[Float[Array, " n"], Sums]:
    """The greatest score of each query, and the sums relative to it."""
    pairs, tile, values, log_w = problem.pairs, inputs.tile, inputs.values, inputs.log_w
    dtype = tile.queries.dtype
    (n, _), (m, p) = tile.queries.shape, values.shape
    biases = [b.astype(dtype) for b in (tile.key_bias, log_w) if b is not None]
    nothing = jnp.zeros(0, dtype)
    bias = sum(biases[1:], start=biases[0]) if biases else nothing
    last, slope = seen(pairs, inputs.numbers, problem.n, m, dtype)
    offset = tile.query_bias
    if slope.size and isinstance(pairs, Causal) and pairs.strict:  # the last key that is seen is one token away
        offset = -slope[0] if offset is None else offset - slope[0]
    out = tuple(jax.ShapeDtypeStruct(shape, dtype) for shape in ((p, n), (n,), (n,)))
    call = jax.ffi.ffi_call(PAIR_SUMS, out, vmap_method="expand_dims")
    num, mass, top = call(tile.queries.T, tile.keys.T, bias, values.T, last, slope)
    top = finite(top)
    return top if offset is None else top + offset.astype(dtype), (num.T, mass)


def seen(pairs: AbstractPairs, i: Int[Array, " a"], n: int, m: int, dtype: Any) -> tuple[Array, Array]:
    """The last key that queries `i` of `n` see, and the slope towards it; empty where there is none."""
    nothing = jnp.zeros(0, dtype)
    if not isinstance(pairs, Causal):
        return nothing, nothing
    last = pairs.position(i, n, m) - int(pairs.strict)
    return last.astype(dtype), nothing if pairs.slope is None else pairs.slope.astype(dtype)[None]
