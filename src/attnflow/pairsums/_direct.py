r"""The direct engine: sums over all pairs in float32, by kernels of a GPU.

In few dimensions a program keeps a tile of queries and goes along all keys. With scores in powers of two, relative to a
top $t_i$,

$$ e_{ij} = 2^{\langle q_i, k_j\rangle + b_j - t_i}, $$

a pair in dimension $d$ costs $d$ multiply-adds for its score, one exponential, and $p + 1$ multiply-adds for $p$ values
and the mass: the arithmetic units, not memory, are the limit. Partial sums of a few thousand keys are added up at the
end, so that rounding errors do not grow with the number of tokens.

In more dimensions the tensor cores do it (`_tensor`). What does not fit (float64, pairs other than all) is done by the
blocked engine, as are derivatives.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from . import _tensor as tensor
from ._blocked import blocked_sums
from ._bounded import upper_bound
from ._gpu import LOG2E, launch, multiply_add, power_of_two, whole
from ._pairs import AbstractPairs, Full
from ._reductions import AbstractReduction, Exponential, Hardmax, Sums, finite
from ._scores import AbstractScore, Projected

WIDTH = 4  # few dimensions and values are at most so many
QUERIES, KEYS, UNROLL, WARPS = 16, 32, 8, 1  # the fastest of some forty shapes that were measured
PARTIAL = 8192  # keys in one partial sum, at most


def direct_sums(
    score: AbstractScore,
    tile: Projected,
    values: Float[Array, "m p"],
    log_w: Float[Array, " m"] | None,
    pairs: AbstractPairs,
    reduction: AbstractReduction,
    selection: Hardmax | None = None,
) -> Sums:
    """`(num, log_z)`; `log_w=None` counts every key with weight one."""
    if not fits(score, tile, values, pairs, reduction, selection):
        return blocked_sums(score, tile, values, log_w, pairs, reduction, selection)

    def blocked(tile: Projected, values: Array, log_w: Array | None) -> Sums:
        return blocked_sums(score, tile, values, log_w, pairs, reduction)

    @jax.custom_jvp
    def direct(tile: Projected, values: Array, log_w: Array | None) -> Sums:
        bounded = upper_bound(score, tile, log_w, pairs, reduction, None)
        assert bounded is not None  # all pairs, exponentials
        bound, safe = bounded
        arrays = _arrays(tile, log_w)
        if max(tile.queries.shape[1], values.shape[1]) <= WIDTH:
            top = jax.lax.cond(safe, lambda: bound, lambda: finite(_highest(*arrays)))
            return reduction.finish(top, _sums(*arrays, values, top))
        within = lambda: reduction.finish(bound, _sums(*arrays, values, bound))  # noqa: E731
        return jax.lax.cond(safe, within, lambda: blocked(tile, values, log_w))

    # Forward and reverse: the tangent map of the blocked engine is linear, and can be transposed.
    @direct.defjvp
    def _(primals, tangents):
        return jax.jvp(blocked, primals, tangents)

    return direct(tile, values, log_w)


def fits(
    score: AbstractScore,
    tile: Projected,
    values: Float[Array, "m p"],
    pairs: AbstractPairs,
    reduction: AbstractReduction,
    selection: Hardmax | None,
) -> bool:
    """Whether the kernel can do it."""
    everyone = isinstance(pairs, Full) and pairs.skip is None
    return (
        everyone
        and isinstance(reduction, Exponential)
        and selection is None
        and score.is_product
        and tile.queries.dtype == jnp.float32
        and 1 <= tile.queries.shape[1] <= tensor.WIDTH
        and values.shape[1] <= tensor.WIDTH
    )


def _arrays(tile: Projected, log_w: Float[Array, " m"] | None) -> tuple[Array, Array | None, Array, Array | None]:
    """Queries and keys with coordinates first, and what is added for each of them, all in powers of two."""
    bias = tile.key_bias
    if log_w is not None:
        log_w = log_w.astype(jnp.float32)
        bias = log_w if bias is None else bias + log_w
    scaled = lambda a: None if a is None else LOG2E * a  # noqa: E731
    return LOG2E * tile.queries.T, scaled(tile.query_bias), tile.keys.T, scaled(bias)


def _sums(queries: Array, start: Array | None, keys: Array, bias: Array | None, values: Array, top: Array) -> Sums:
    """Sums of weight times value, and of weight, relative to `top`."""
    below = -LOG2E * top
    start = below if start is None else start + below
    if max(len(queries), values.shape[1]) > WIDTH:
        return tensor.tensor_sums(queries.T, start, keys.T, bias, values)
    out = _along_keys(_sum_kernel, values.shape[1] + 1, queries, start, keys, bias, values.T)
    return out[:-1].T, out[-1]


def _highest(queries: Array, start: Array | None, keys: Array, bias: Array | None) -> Array:
    """The greatest score of each query."""
    start = jnp.zeros_like(queries[0]) if start is None else start
    return _along_keys(_top_kernel, 1, queries, start, keys, bias, keys[:0])[0] / LOG2E


def _along_keys(
    kernel: Any, rows: int, queries: Array, start: Array, keys: Array, bias: Array | None, values: Array
) -> Float[Array, "rows n"]:
    """Call a kernel for every tile of queries, with tokens filled up to whole tiles."""
    from jax.experimental import pallas as pl

    n, m = queries.shape[1], keys.shape[1]
    parts = -(-m // PARTIAL)
    length = -(-m // (parts * KEYS * UNROLL)) * KEYS * UNROLL  # keys in one partial sum
    missing = parts * length - m
    if missing and bias is None:
        bias = jnp.zeros(m, jnp.float32)
    wide = lambda a, by, fill=0.0: jnp.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, by)], constant_values=fill)  # noqa: E731
    keys, values = wide(keys, missing), wide(values, missing)
    queries, start = wide(queries, -n % QUERIES), wide(start, -n % QUERIES)
    given = [queries, start, keys] + ([values] if values.shape[0] else [])
    if bias is not None:
        given.append(wide(bias, missing, -jnp.inf))
    mine = lambda a: pl.BlockSpec((*a.shape[:-1], QUERIES), lambda i: (0,) * (a.ndim - 1) + (i,))  # noqa: E731
    out = jax.ShapeDtypeStruct((rows, queries.shape[1]), jnp.float32)
    found = launch(
        functools.partial(kernel, len(values), bias is not None, length),
        out_shape=out,
        grid=(queries.shape[1] // QUERIES,),
        in_specs=[mine(queries), mine(start), *map(whole, given[2:])],
        out_specs=mine(out),
        warps=WARPS,
        stages=2,
    )(*given)
    return found[:, :n]


def _sum_kernel(p: int, biased: bool, length: int, q_ref: Any, start_ref: Any, k_ref: Any, *refs: Any) -> None:
    v_ref, bias_ref, out_ref = _named(p, biased, refs)
    logits = _scores(q_ref, start_ref, k_ref, bias_ref)
    nothing = (jnp.zeros((QUERIES, KEYS), jnp.float32),) * (p + 1)

    def partial_sum(part: Any, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        def more(step: Any, sums: tuple[Array, ...]) -> tuple[Array, ...]:
            for k in range(UNROLL):
                at = _at(part * length + (step * UNROLL + k) * KEYS)
                e = power_of_two(logits(at))
                added = [multiply_add(e, v_ref[c, at][None, :], sums[c]) for c in range(p)]
                sums = (*added, sums[p] + e)
            return sums

        found = jax.lax.fori_loop(0, length // (KEYS * UNROLL), more, nothing)
        return tuple(a + jnp.sum(b, axis=1) for a, b in zip(sums, found, strict=True))

    zero = (jnp.zeros(QUERIES, jnp.float32),) * (p + 1)
    for c, a in enumerate(jax.lax.fori_loop(0, k_ref.shape[1] // length, partial_sum, zero)):
        out_ref[c, :] = a


def _top_kernel(p: int, biased: bool, length: int, q_ref: Any, start_ref: Any, k_ref: Any, *refs: Any) -> None:
    _, bias_ref, out_ref = _named(p, biased, refs)
    logits = _scores(q_ref, start_ref, k_ref, bias_ref)
    bottom = jnp.full((QUERIES, KEYS), -jnp.inf, jnp.float32)
    climb = lambda step, top: jnp.maximum(top, logits(_at(step * KEYS)))  # noqa: E731
    out_ref[0, :] = jnp.max(jax.lax.fori_loop(0, k_ref.shape[1] // KEYS, climb, bottom), axis=1)


def _named(p: int, biased: bool, refs: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """References to the values and the biases, where there are any, and to the results."""
    return refs[0] if p else None, refs[-2] if biased else None, refs[-1]


def _scores(q_ref: Any, start_ref: Any, k_ref: Any, bias_ref: Any) -> Any:
    """`at -> (QUERIES, KEYS)`: scores of this program's queries for some keys."""
    queries = [q_ref[c, :][:, None] for c in range(q_ref.shape[0])]
    start = start_ref[:][:, None]

    def logits(at: Any) -> Array:
        s = jnp.broadcast_to(start, (QUERIES, KEYS))
        s = s if bias_ref is None else s + bias_ref[at][None, :]
        for c, q in enumerate(queries):
            s = multiply_add(q, k_ref[c, at][None, :], s)
        return s

    return logits


def _at(first: Any) -> Any:
    from jax.experimental import pallas as pl

    return pl.ds(first, KEYS)
