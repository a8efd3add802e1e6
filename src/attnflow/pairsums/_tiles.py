"""The sum over one tile of keys, the building block of every engine."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ._pairs import AbstractPairs
from ._reductions import AbstractReduction, Sums
from ._scores import AbstractScore, Projected
from .algebra import MATMUL, Algebra


def tile_logits(
    score: AbstractScore,
    tile: Projected,
    log_w: Float[Array, " b"] | None,
    pairs: AbstractPairs,
    i: Int[Array, " a"],
    j: Int[Array, " b"],
    n: int,
    m: int,
    algebra: Algebra = MATMUL,
) -> tuple[Float[Array, "a b"], Float[Array, "_ b"] | None]:
    """Scores with the inside bias, and the outside log weights (one row for all if they are equal), of a tile."""
    logits = score.logits(tile, algebra)
    bias = pairs.logit(i, j, n, m)
    if bias is not None:
        logits = logits + bias.astype(logits.dtype)
    outside = pairs.log_weight(i, j, n, m)
    if outside is not None:
        outside = outside.astype(logits.dtype)
    if log_w is not None:
        row = log_w.astype(logits.dtype)[None, :]
        outside = row if outside is None else outside + row
    return logits, outside


def tile_sums(
    reduction: AbstractReduction,
    logits: Float[Array, "a b"],
    outside: Float[Array, "_ b"] | None,
    values: Float[Array, "b p"],
    top: Float[Array, " a"],
    algebra: Algebra = MATMUL,
) -> Sums:
    """Weighted sum of the values and mass of a tile, relative to `top`."""
    weights, mass = reduction.weights(logits, outside, top, algebra.exp)
    weights = algebra.keep(weights)
    return algebra.contract(weights, values), jnp.sum(weights if mass is weights else mass, axis=1)


def cut(x: Array, size: int, fill: float = 0) -> Array:
    """Cut the first axis into tiles, the last one filled up."""
    missing = -x.shape[0] % size
    if missing:
        x = jnp.pad(x, [(0, missing)] + [(0, 0)] * (x.ndim - 1), constant_values=fill)
    return x.reshape(x.shape[0] // size, size, *x.shape[1:])
