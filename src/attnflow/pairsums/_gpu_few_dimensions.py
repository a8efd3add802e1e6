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

from ._gpu_causal import Seen, fold, positional
from ._reductions import Sums
from .gpu import launch, multiply_add, own, power_of_two, whole

WIDTH = 4  # dimensions and values, at most
QUERIES, KEYS, UNROLL, WARPS = 16, 32, 8, 1  # the fastest of some forty shapes that were measured
PARTIAL = 8192  # keys in one partial sum, at most


class Few(NamedTuple):
    """The inputs of a kernel, tokens last: of its own queries, and of all keys. `None` where there is nothing."""

    queries: Any
    start: Any  # added to all scores of a query
    least: Any  # keys of lower score have no weight, others weigh one
    seen: Seen | None
    keys: Any
    bias: Any  # added to all scores of a key
    values: Any


def exponential_sums(given: Few) -> Sums:
    """Sums over keys of two to the power of the score, times value and alone."""
    out = _along_keys(_sum_kernel, len(given.values) + 1, given)
    return out[:-1].T, out[-1]


def highest(given: Few) -> Float[Array, " n"]:
    """The greatest score of each query."""
    return _along_keys(_top_kernel, 1, given._replace(values=None))[0]


def tied_sums(given: Few) -> Float[Array, "n p"]:
    """Sums of values over the keys whose score is not below `least`."""
    return _along_keys(_sum_kernel, len(given.values), given).T


def _along_keys(kernel: Any, rows: int, given: Few) -> Float[Array, "rows n"]:
    """Call a kernel for every tile of queries, with tokens filled up to whole tiles."""
    n, m = given.queries.shape[1], given.keys.shape[1]
    parts = -(-m // PARTIAL)
    length = -(-m // (parts * KEYS * UNROLL)) * KEYS * UNROLL  # keys in one partial sum
    more_queries, more_keys = -n % QUERIES, parts * length - m

    def wide(a: Any, by: int, **how: Any) -> Any:
        return jax.tree.map(lambda a: jnp.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, by)], **how), a)

    seen = given.seen
    given = Few(
        wide(given.queries, more_queries),
        wide(given.start, more_queries),
        wide(given.least, more_queries),
        seen if seen is None else seen._replace(count=wide(seen.count, more_queries, mode="edge")),
        wide(given.keys, more_keys),
        wide(
            jnp.zeros(m, jnp.float32) if more_keys and given.bias is None else given.bias,
            more_keys,
            constant_values=-jnp.inf,
        ),
        wide(given.values, more_keys) if given.values is not None and len(given.values) else None,
    )
    tile = functools.partial(own, size=QUERIES, axis=-1)
    every = functools.partial(jax.tree.map, whole)
    specs = Few(
        tile(given.queries),
        tile(given.start),
        jax.tree.map(tile, given.least),
        None if given.seen is None else Seen(tile(given.seen.count), every(given.seen.slope)),
        *map(every, (given.keys, given.bias, given.values)),
    )
    out = jax.ShapeDtypeStruct((rows, given.queries.shape[1]), jnp.float32)
    results = launch(
        functools.partial(kernel, length),
        out_shape=out,
        grid=(out.shape[1] // QUERIES,),
        in_specs=[specs],
        out_specs=tile(out),
        warps=WARPS,
        stages=2,
    )(given)
    return results[:, :n]


def _sum_kernel(length: int, given: Few, out_ref: Any) -> None:
    p = 0 if given.values is None else given.values.shape[0]
    rows = out_ref.shape[0]  # one more than values, if there is a mass
    nothing = (jnp.zeros((QUERIES, KEYS), jnp.float32),) * rows
    least = None if given.least is None else given.least[:][:, None]

    def add(at: Any, masked: bool, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        for k in range(UNROLL):
            first = at + k * KEYS
            s = _scores(given, first, masked)
            e = power_of_two(s) if least is None else jnp.where(s >= least, 1.0, 0.0)
            added = [multiply_add(e, given.values[c, _keys(first)][None, :], sums[c]) for c in range(p)]
            sums = (*added, *(total + e for total in sums[p:]))
        return sums

    def partial_sum(part: Any, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        more = fold(given.seen, part * length, length, KEYS * UNROLL, add, nothing)
        return tuple(a + jnp.sum(b, axis=1) for a, b in zip(sums, more, strict=True))

    zero = (jnp.zeros(QUERIES, jnp.float32),) * rows
    for c, a in enumerate(jax.lax.fori_loop(0, given.keys.shape[1] // length, partial_sum, zero)):
        out_ref[c, :] = a


def _top_kernel(length: int, given: Few, out_ref: Any) -> None:
    bottom = jnp.full((QUERIES, KEYS), -jnp.inf, jnp.float32)
    climb = lambda at, masked, top: jnp.maximum(top, _scores(given, at, masked))  # noqa: E731
    out_ref[0, :] = jnp.max(fold(given.seen, 0, given.keys.shape[1], KEYS, climb, bottom), axis=1)


def _scores(given: Few, first: Any, masked: bool) -> Float[Array, "queries keys"]:
    """Scores of this program's queries for some keys."""
    at = _keys(first)
    s = jnp.broadcast_to(given.start[:][:, None], (QUERIES, KEYS))
    s = s if given.bias is None else s + given.bias[at][None, :]
    for c in range(given.queries.shape[0]):
        s = multiply_add(given.queries[c, :][:, None], given.keys[c, at][None, :], s)
    return positional(given.seen, s, first, masked)


def _keys(first: Any) -> Any:
    from jax.experimental import pallas as pl

    return pl.ds(first, KEYS)
