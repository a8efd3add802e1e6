r"""Sums over pairs in few dimensions, in float32, on a GPU.

A program keeps a tile of queries and loops over the keys. With scores in powers of two, relative to a top $t_i$,

$$ e_{ij} = 2^{\langle q_i, k_j\rangle + b_j - t_i}, $$

a pair in dimension $d$ costs $d$ multiply-adds for its score, one exponential, and $p + 1$ multiply-adds for $p$ values
and the mass: the arithmetic units, not memory, are the limit. Partial sums of a few thousand keys are added up at the
end, so that rounding errors do not grow with the number of tokens.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._gpu_causal import Visible, fold, positional
from ._reductions import Sums
from .gpu import launch, multiply_add, own, power_of_two, whole

WIDTH = 4  # dimensions and values, at most
QUERIES, KEYS, UNROLL, WARPS = 16, 32, 8, 1  # the fastest of some forty shapes that were measured
PARTIAL = 8192  # keys in one partial sum, at most


class KernelInputs(NamedTuple):
    """The inputs of a kernel, tokens last: of its own queries, and of all keys. `None` where there is nothing."""

    queries: Any
    start: Any  # added to all scores of a query
    least: Any  # keys of lower score have no weight, others weigh one
    seen: Visible | None
    keys: Any
    bias: Any  # added to all scores of a key
    values: Any


def exponential_sums(inputs: KernelInputs) -> Sums:
    """Sums over keys of two to the power of the score, times value and alone."""
    out = _along_keys(_sum_kernel, len(inputs.values) + 1, inputs)
    return out[:-1].T, out[-1]


def highest(inputs: KernelInputs) -> Float[Array, " n"]:
    """The greatest score of each query."""
    return _along_keys(_top_kernel, 1, inputs._replace(values=None))[0]


def tied_sums(inputs: KernelInputs) -> Float[Array, "n p"]:
    """Sums of values over the keys whose score is not below `least`."""
    return _along_keys(_sum_kernel, len(inputs.values), inputs).T


def _along_keys(kernel: Any, rows: int, inputs: KernelInputs) -> Float[Array, "rows n"]:
    """Call a kernel for every tile of queries, with tokens filled up to whole tiles."""
    n, m = inputs.queries.shape[1], inputs.keys.shape[1]
    parts = -(-m // PARTIAL)
    length = -(-m // (parts * KEYS * UNROLL)) * KEYS * UNROLL  # keys in one partial sum
    more_queries, more_keys = -n % QUERIES, parts * length - m

    def wide(a: Any, by: int, **how: Any) -> Any:
        return jax.tree.map(lambda a: jnp.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, by)], **how), a)

    seen = inputs.seen
    inputs = KernelInputs(
        wide(inputs.queries, more_queries),
        wide(inputs.start, more_queries),
        wide(inputs.least, more_queries),
        seen if seen is None else seen._replace(count=wide(seen.count, more_queries, mode="edge")),
        wide(inputs.keys, more_keys),
        wide(
            jnp.zeros(m, jnp.float32) if more_keys and inputs.bias is None else inputs.bias,
            more_keys,
            constant_values=-jnp.inf,
        ),
        wide(inputs.values, more_keys) if inputs.values is not None and len(inputs.values) else None,
    )
    tile = functools.partial(own, size=QUERIES, axis=-1)
    every = functools.partial(jax.tree.map, whole)
    specs = KernelInputs(
        tile(inputs.queries),
        tile(inputs.start),
        jax.tree.map(tile, inputs.least),
        None if inputs.seen is None else Visible(tile(inputs.seen.count), every(inputs.seen.slope)),
        *map(every, (inputs.keys, inputs.bias, inputs.values)),
    )
    out = jax.ShapeDtypeStruct((rows, inputs.queries.shape[1]), jnp.float32)
    results = launch(
        functools.partial(kernel, length),
        out_shape=out,
        grid=(out.shape[1] // QUERIES,),
        in_specs=[specs],
        out_specs=tile(out),
        warps=WARPS,
        stages=2,
    )(inputs)
    return results[:, :n]


def _sum_kernel(length: int, inputs: KernelInputs, out_ref: Any) -> None:
    p = 0 if inputs.values is None else inputs.values.shape[0]
    rows = out_ref.shape[0]  # one more than values, if there is a mass
    nothing = (jnp.zeros((QUERIES, KEYS), jnp.float32),) * rows
    least = None if inputs.least is None else inputs.least[:][:, None]

    def add(at: Any, masked: bool, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        for k in range(UNROLL):
            first = at + k * KEYS
            s = _scores(inputs, first, masked)
            e = power_of_two(s) if least is None else jnp.where(s >= least, 1.0, 0.0)
            added = [multiply_add(e, inputs.values[c, _keys(first)][None, :], sums[c]) for c in range(p)]
            sums = (*added, *(total + e for total in sums[p:]))
        return sums

    def partial_sum(part: Any, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        more = fold(inputs.seen, part * length, length, KEYS * UNROLL, add, nothing)
        return tuple(a + jnp.sum(b, axis=1) for a, b in zip(sums, more, strict=True))

    zero = (jnp.zeros(QUERIES, jnp.float32),) * rows
    for c, a in enumerate(jax.lax.fori_loop(0, inputs.keys.shape[1] // length, partial_sum, zero)):
        out_ref[c, :] = a


def _top_kernel(length: int, inputs: KernelInputs, out_ref: Any) -> None:
    bottom = jnp.full((QUERIES, KEYS), -jnp.inf, jnp.float32)
    climb = lambda at, masked, top: jnp.maximum(top, _scores(inputs, at, masked))  # noqa: E731
    out_ref[0, :] = jnp.max(fold(inputs.seen, 0, inputs.keys.shape[1], KEYS, climb, bottom), axis=1)


def _scores(inputs: KernelInputs, first: Any, masked: bool) -> Float[Array, "queries keys"]:
    """Scores of this program's queries for some keys."""
    at = _keys(first)
    s = jnp.broadcast_to(inputs.start[:][:, None], (QUERIES, KEYS))
    s = s if inputs.bias is None else s + inputs.bias[at][None, :]
    for c in range(inputs.queries.shape[0]):
        s = multiply_add(inputs.queries[c, :][:, None], inputs.keys[c, at][None, :], s)
    return positional(inputs.seen, s, first, masked)


def _keys(first: Any) -> Any:
    from jax.experimental import pallas as pl

    return pl.ds(first, KEYS)
