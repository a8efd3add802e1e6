r"""Causal sums in one pass over the tokens: earlier tokens enter by their moments.

$$ S_i(q) = \sum_{j \le i} e^{-\lambda(i-j)}\, q_j\, e^{\beta(\langle x_i, y_j\rangle - 1)} $$

Tokens come in tiles. At the start $s$ of a tile the moments of $e^{-\lambda(s-j)} q_j$, $j < s$, are carried. They give
each query of the tile its sum over all earlier tiles, up to the factor $e^{-\lambda(i-s)}$; the keys of the tile itself
are summed directly, a triangle. Then the moments fade by $e^{-\lambda\cdot\mathrm{tile}}$, and the tile is added. No
exponent is positive, so that nothing overflows however long the prompt is.

Reference: docs/theory/fast-sums.md, section Causal sums.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._tiles import cut

# Tokens in a tile, by dimension, as measured: a smaller tile has fewer pairs and more often the cost of a step.
TILE = {2: 128, 3: 256}


def prefix_sums(
    expansion: Any,
    tile: int,
    strict: bool,
    x: Float[Array, "n d"],
    y: Float[Array, "n d"],
    q: Float[Array, "n p"],
    beta: Float[Array, ""],
    slope: Float[Array, ""],
) -> Float[Array, "n p"]:
    """$S_i(q)$ of unit tokens for every column of charges; `strict` leaves out $j = i$."""
    coefficients, _ = expansion.coefficients(beta)
    n = x.shape[0]
    tile = min(tile, n)
    place = jnp.arange(tile, dtype=x.dtype)  # in the tile
    lag = place[:, None] - place[None, :]
    seen = lag > 0 if strict else lag >= 0
    fading = jnp.where(seen, jnp.exp(-slope * jnp.maximum(lag, 0)), 0)

    def triangle(x: Array, y: Array, q: Array) -> Array:
        kernel = jnp.exp(beta * jnp.matmul(x, y.T, precision=jax.lax.Precision.HIGHEST) - jnp.abs(beta))
        return jnp.matmul(fading * kernel, q, precision=jax.lax.Precision.HIGHEST)

    if n <= tile:
        return triangle(x, y, q)

    # A checkpoint: differentiation makes the trigonometric functions again instead of keeping them.
    @jax.checkpoint
    def step(moments: Array, part: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        x, y, q = part
        before = expansion.evaluate(x, expansion.convolve(moments, coefficients))
        sums = jnp.exp(-slope * place)[:, None] * before + triangle(x, y, q)
        new = expansion.moments(y, jnp.exp(-slope * (tile - place))[:, None] * q)
        return jnp.exp(-slope * tile) * moments + new, sums

    parts = (cut(x, tile), cut(y, tile), cut(q, tile))
    some = jax.tree.map(lambda a: a[0], parts)
    nothing = jnp.zeros(jax.eval_shape(expansion.moments, some[1], some[2]).shape, q.dtype)
    _, sums = jax.lax.scan(step, nothing, parts)
    return sums.reshape(-1, q.shape[1])[:n]


def seen_weight(w: Float[Array, " n"], slope: Float[Array, ""] | None, strict: bool) -> Float[Array, " n"]:
    r"""$\sum_{j \le i} e^{-\lambda(i-j)} w_j$ (`strict`: $j < i$): the whole weight that a query sees."""
    decay = jnp.ones_like(w) if slope is None else jnp.full_like(w, jnp.exp(-slope.astype(w.dtype)))
    w, decay = jax.lax.optimization_barrier((w, decay))  # equal weights are no reason to sum while compiling

    def join(early: tuple[Array, Array], late: tuple[Array, Array]) -> tuple[Array, Array]:
        return early[0] * late[0], late[0] * early[1] + late[1]

    _, total = jax.lax.associative_scan(join, (decay, w))
    return jnp.concatenate([jnp.zeros_like(w[:1]), decay[0] * total[:-1]]) if strict else total


def seen_log_weight(log_w: Float[Array, " n"], slope: Float[Array, ""] | None, strict: bool) -> Float[Array, " n"]:
    """The logarithm of that, where a query may see only keys much lighter than the heaviest of all."""
    decay = jnp.zeros_like(log_w) if slope is None else jnp.full_like(log_w, -slope.astype(log_w.dtype))
    log_w, decay = jax.lax.optimization_barrier((log_w, decay))

    def join(early: tuple[Array, Array], late: tuple[Array, Array]) -> tuple[Array, Array]:
        return early[0] + late[0], jnp.logaddexp(late[0] + early[1], late[1])

    _, total = jax.lax.associative_scan(join, (decay, log_w))
    return jnp.concatenate([jnp.full_like(log_w[:1], -jnp.inf), decay[0] + total[:-1]]) if strict else total
