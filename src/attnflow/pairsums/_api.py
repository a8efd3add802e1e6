"""The one contract for sums over pairs; every attention map goes through it."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int

from ..errors import InputError
from ._dense import dense_sums, tile_logits
from ._pairs import AbstractPairs, Full
from ._reductions import AbstractReduction, Pointwise, as_reduction
from ._scores import AbstractScore, Projected

KERNELS = ("auto", "dense")

Reduce = str | AbstractReduction | Callable[[Array], Array]


def resolve_kernel(kernel: str, n: int, m: int, d: int) -> str:
    """The engine that serves `n` queries, `m` keys in dimension `d`; `"auto"` chooses by shape."""
    if kernel not in KERNELS:
        raise InputError(f"kernel {kernel!r} is unknown; choose one of {', '.join(KERNELS)}.")
    return "dense" if kernel == "auto" else kernel


def pair_sums(
    score: AbstractScore,
    x: Float[Array, "n d"],
    y: Float[Array, "m e"],
    values: Float[ArrayLike, "m p"] | float,
    *,
    log_w: Float[Array, " m"] | None = None,
    pairs: AbstractPairs = Full(),
    reduce: Reduce = "softmax",
    kernel: str = "auto",
) -> tuple[Float[Array, "n p"], Float[Array, " n"]]:
    r"""Sums over keys $j$ for every query $i$,

    $$ \sum_j e^{\log w_j + \ell_{ij}}\; \phi(s_{ij} + b_{ij})\; v_j , $$

    where `score` gives $s$, `pairs` gives $b$ (inside) and $\ell$ (outside), and `reduce` says what $\phi$ is.

    **Arguments:**

    - `x`, `y`: queries `(n, d)` and keys `(m, e)`, not always the same cloud.
    - `values`: `(m, p)` of any width; a number stands for a column of it.
    - `log_w`: log weights of the keys; `None` means $-\log m$, and $-\infty$ removes a key.
    - `reduce`: `"softmax"` or `"exp"` return `(sum / Z, log Z)`; a pointwise function returns
      `(sum, log of the outside mass)`; `Hardmax(tol)` returns `(weighted mean of the tied keys, log tied mass)`.
    - `kernel`: the engine; resolved once by `simulate` and passed down.

    **Returns:** `(num, log_z)`; a query that no key is left for gets `(0, -inf)` with zero gradient.
    """
    n, m = x.shape[0], y.shape[0]
    values = jnp.asarray(values, x.dtype)
    values = jnp.full((m, 1), values) if values.ndim == 0 else values
    resolve_kernel(kernel, n, m, x.shape[1])
    reduction = as_reduction(reduce)
    tile = score.project(x, y)
    num, log_z = dense_sums(score, tile, values, log_w, pairs, reduction)
    if log_w is None:
        num, log_z = reduction.scaled(num, log_z, -jnp.log(jnp.asarray(m, x.dtype)))
    if pairs.normalized:
        num, log_z = reduction.scaled(num, log_z, _minus_log_mass(score, tile, log_w, pairs))
    return num, log_z


def pair_weights(
    score: AbstractScore,
    x: Float[Array, "n d"],
    y: Float[Array, "m e"],
    *,
    rows: Int[ArrayLike, " r"] | slice | None = None,
    log_w: Float[Array, " m"] | None = None,
    pairs: AbstractPairs = Full(),
    reduce: Reduce = "softmax",
) -> Float[Array, "r m"]:
    """The weights themselves for some rows: `pair_weights(…) @ values` is the first result of `pair_sums(…)`.

    `rows` are indices (or a slice) of queries; `None` means all, an `n`-by-`m` array.
    """
    n, m = x.shape[0], y.shape[0]
    i = jnp.arange(n) if rows is None else jnp.arange(n)[rows]
    reduction = as_reduction(reduce)
    whole = score.project(x, y)
    bias = None if whole.query_bias is None else whole.query_bias[i]
    tile = Projected(whole.queries[i], whole.keys, bias, whole.key_bias)
    logits, outside = tile_logits(score, tile, log_w, pairs, i, jnp.arange(m), n, m)
    top = reduction.top(logits, outside)
    weights, mass = reduction.weights(logits, outside, top)
    # The weights of a row are its result for the identity matrix of values.
    num, log_z = reduction.finish(top, (weights, jnp.sum(mass, axis=1)))
    if log_w is None:
        num, log_z = reduction.scaled(num, log_z, -jnp.log(jnp.asarray(m, x.dtype)))
    if pairs.normalized:
        num, _ = reduction.scaled(num, log_z, _minus_log_mass(score, whole, log_w, pairs)[i])
    return num


def _minus_log_mass(
    score: AbstractScore, tile: Projected, log_w: Float[Array, " m"] | None, pairs: AbstractPairs
) -> Float[Array, " n"]:
    """Minus the log of each row's outside mass, relative to the scaling already done; zero for an empty row."""
    m = tile.keys.shape[0]
    nothing = jnp.zeros((m, 0), tile.keys.dtype)
    _, log_mass = dense_sums(score, tile, nothing, log_w, pairs, Pointwise(jnp.ones_like))
    if log_w is None:
        log_mass = log_mass - jnp.log(jnp.asarray(m, log_mass.dtype))
    return jnp.where(log_mass > -jnp.inf, -log_mass, 0)
