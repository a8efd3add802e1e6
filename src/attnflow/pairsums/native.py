r"""The native engine: sums over pairs by a kernel of our own for this processor.

XLA makes several operations of them, each of which reads and writes all pairs. `pair_sums.cc` is one: it keeps a tile
of pairs in the first-level cache, from the scores to the sums. Where there is no such kernel (no compiler, see
`native_library`), and for what it does not know (reductions other than exponentials, pairs other than all and causal
ones), the dense and the blocked engine do the work, as they do for derivatives.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ._blocked import blocked_sums
from ._dense import dense_sums, is_small
from ._pairs import AbstractPairs, Causal
from ._reductions import AbstractReduction, Exponential, Hardmax, Sums, finite
from ._rules import derived_from
from ._scores import AbstractScore, Projected
from ._used import note
from .native_library import PAIR_SUMS, native


def native_sums(
    score: AbstractScore,
    tile: Projected,
    values: Float[Array, "m p"],
    log_w: Float[Array, " m"] | None,
    pairs: AbstractPairs,
    reduction: AbstractReduction,
    selection: Hardmax | None = None,
    rows: Int[Array, " n"] | None = None,
    of: int | None = None,
) -> Sums:
    """`(num, log_z)`; `log_w=None` counts every key with weight one, and `rows`, `of` are as for blocked sums."""

    def plain(score: AbstractScore, tile: Projected, values: Array, log_w: Any, pairs: Any, rows: Any) -> Sums:
        if rows is None and is_small(len(tile.queries), len(tile.keys)):
            return dense_sums(score, tile, values, log_w, pairs, reduction, selection)
        return blocked_sums(score, tile, values, log_w, pairs, reduction, selection, rows=rows, of=of)

    def kernel(score: AbstractScore, tile: Projected, values: Array, log_w: Any, pairs: Any, rows: Any) -> Sums:
        return reduction.finish(*_relative_sums(tile, values, log_w, pairs, rows, of))

    fits = _fits(score, tile, values, pairs, reduction, selection)
    small = rows is None and is_small(len(tile.queries), len(tile.keys))
    note("native" if fits else "dense" if small else "blocked")
    return (derived_from(plain, kernel) if fits else plain)(score, tile, values, log_w, pairs, rows)


def _fits(
    score: AbstractScore,
    tile: Projected,
    values: Float[Array, "m p"],
    pairs: AbstractPairs,
    reduction: AbstractReduction,
    selection: Hardmax | None,
) -> bool:
    """Whether there is a kernel, and it knows this."""
    dtype = tile.queries.dtype
    counts = len(tile.keys) <= 2 / float(jnp.finfo(dtype).eps)  # positions are numbers of this kind
    return (
        native().ready
        and isinstance(reduction, Exponential)
        and selection is None
        and score.is_product
        and (pairs.complete or (type(pairs) is Causal and counts))
        and dtype in (jnp.float32, jnp.float64)
        and tile.queries.shape[1] > 0
        and tile.keys.dtype == dtype
        and values.dtype == dtype
    )


def _relative_sums(
    tile: Projected, values: Array, log_w: Array | None, pairs: AbstractPairs, rows: Array | None, of: int | None
) -> tuple[Float[Array, " n"], Sums]:
    """The greatest score of each query, and the sums relative to it."""
    dtype = tile.queries.dtype
    (n, _), (m, p) = tile.queries.shape, values.shape
    biases = [b.astype(dtype) for b in (tile.key_bias, log_w) if b is not None]
    nothing = jnp.zeros(0, dtype)
    bias = sum(biases[1:], start=biases[0]) if biases else nothing
    numbers = jnp.arange(n) if rows is None else rows
    last, slope = seen(pairs, numbers, n if of is None else of, m, dtype)
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
