"""The direct engine: sums over pairs in float32, by kernels of a GPU.

In few dimensions the arithmetic units do it (`_gpu_few_dimensions`), for all pairs, causal ones and hardmax; in more
dimensions the tensor cores (`tensor_cores`), for exponentials. Derivatives are those of the blocked engine.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .. import tensor_cores as tensor
from .._bounded import upper_bound
from .._engine import AbstractPairSumEngine, Inputs, Problem
from .._gpu_causal import Visible
from .._gpu_few_dimensions import WIDTH, KernelInputs, exponential_sums, highest, tied_sums
from .._pairs import AbstractPairs, Causal, Full
from .._reductions import Hardmax, Sums, finite
from .._rules import derived_from
from .._scores import Projected
from ..gpu import LOG2E
from .blocked import blocked_sums


class Direct(AbstractPairSumEngine):
    """Kernels for a GPU; elsewhere they are interpreted, which is right and slow."""

    name = "direct"

    def why_not(self, problem: Problem) -> str | None:
        if problem.partitioned:
            return "XLA cannot cut the kernel into parts for the devices of a mesh"
        if problem.score is None:
            return problem.silent
        if problem.dtype != jnp.float32:
            return f"tokens are {jnp.dtype(problem.dtype).name}, and the kernel computes in float32"
        if not problem.reduction.exponential:
            return "the kernel is for exponentials of the score and for hardmax"
        if not problem.score.is_product:
            return f"the kernel is for inner products, and {type(problem.score).__name__} writes scores of its own"
        if not 1 <= problem.width <= tensor.WIDTH or problem.p > tensor.WIDTH:
            return f"the kernel is for at most {tensor.WIDTH} dimensions"
        if problem.pairs.complete:
            low = problem.selection is None or _low_dimensional(problem.width, problem.p)
            return None if low else f"hardmax is for at most {WIDTH} dimensions"
        if problem.selection is not None or not isinstance(problem.pairs, Causal):
            return "the kernel is for all pairs, and for exponentials of causal ones"
        if not _low_dimensional(problem.width, problem.p) and not _see_themselves(problem):
            return f"in more than {WIDTH} dimensions the kernel is for causal queries that see themselves"
        return None

    def cost(self, problem: Problem) -> float:
        if problem.backend != "gpu":
            return 1000 * problem.xla_seconds
        return problem.xla_seconds * (2 if problem.small else 0.1)

    def run(self, problem: Problem, inputs: Inputs) -> Sums:
        return derived_from(blocked_sums, _direct_sums, problem, inputs)


ENGINE = Direct()


def _direct_sums(problem: Problem, inputs: Inputs) -> Sums:
    _, pairs, reduction, selection = problem.summed
    tile, values, log_w = inputs.tile, inputs.values, inputs.log_w
    if selection is not None:
        return reduction.finish(jnp.zeros(len(tile.queries), jnp.float32), _ties(tile, values, log_w, selection))
    kernel_inputs = _powers_of_two(tile, values, log_w, pairs)
    if not _see_themselves(problem):
        top = finite(highest(kernel_inputs) / LOG2E)
        return reduction.finish(top, _sums(kernel_inputs, top))
    bounded = upper_bound(replace(problem, pairs=Full()), inputs)
    assert bounded is not None  # all pairs, exponentials
    bound, safe = bounded
    if _low_dimensional(problem.width, problem.p):
        top = jax.lax.cond(safe, lambda: bound, lambda: finite(highest(kernel_inputs) / LOG2E))
        return reduction.finish(top, _sums(kernel_inputs, top))
    within = lambda: reduction.finish(bound, _sums(kernel_inputs, bound))  # noqa: E731
    return jax.lax.cond(safe, within, lambda: blocked_sums(problem, inputs))


def _low_dimensional(width: int, p: int) -> bool:
    return max(width, p) <= WIDTH


def _see_themselves(problem: Problem) -> bool:
    """Whether every query sees the key of its number, or all keys, which is what a bound of the scores needs."""
    return problem.pairs.complete or (problem.pairs.reflexive and problem.n == problem.m)


def _powers_of_two(tile: Projected, values: Array, log_w: Array | None, pairs: AbstractPairs) -> KernelInputs:
    """Scores in powers of two, so that an exponential is one instruction; weights are part of them."""
    n, m = len(tile.queries), len(tile.keys)
    start = _start(tile)
    bias = tile.key_bias
    if log_w is not None:
        log_w = log_w.astype(jnp.float32)
        bias = log_w if bias is None else bias + log_w
    seen = Visible.by(pairs, n, m) if isinstance(pairs, Causal) else None
    if isinstance(pairs, Causal) and pairs.slope is not None and not pairs.strict:
        start = start + pairs.slope.astype(jnp.float32)  # a query that sees itself is at no distance from itself
    bias = None if bias is None else LOG2E * bias
    return KernelInputs(LOG2E * tile.queries.T, LOG2E * start, None, seen, tile.keys.T, bias, values.T)


def _sums(inputs: KernelInputs, top: Float[Array, " n"]) -> Sums:
    """Sums of weight times value, and of weight, relative to `top`."""
    inputs = inputs._replace(start=inputs.start - LOG2E * top)
    if max(len(inputs.queries), len(inputs.values)) <= WIDTH:
        return exponential_sums(inputs)
    return tensor.tensor_sums(inputs.queries.T, inputs.start, inputs.keys.T, inputs.bias, inputs.values.T, inputs.seen)


def _ties(tile: Projected, values: Array, log_w: Array | None, selection: Hardmax) -> Sums:
    """Sums over the best keys, in two passes that compute the same scores."""
    m = len(tile.keys)
    weight = jnp.ones(m, jnp.float32) if log_w is None else jnp.exp(log_w.astype(jnp.float32))
    bias = tile.key_bias
    if log_w is not None:  # a key without weight does not compete
        bias = jnp.where(log_w > -jnp.inf, jnp.zeros(m, jnp.float32) if bias is None else bias, -jnp.inf)
    inputs = KernelInputs(tile.queries.T, _start(tile), None, None, tile.keys.T, bias, None)
    least = highest(inputs) - selection.tol.astype(jnp.float32)
    weighted = jnp.concatenate([values * weight[:, None], weight[:, None]], axis=1)
    sums = tied_sums(inputs._replace(least=finite(least), values=weighted.T))
    return sums[:, :-1], sums[:, -1]


def _start(tile: Projected) -> Float[Array, " n"]:
    return jnp.zeros(len(tile.queries), jnp.float32) if tile.query_bias is None else tile.query_bias
