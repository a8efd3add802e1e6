"""The one contract for sums over pairs; every attention map goes through it."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int

from ..errors import InputError
from ._blocked import blocked_sums
from ._dense import broadcast_sums, dense_sums, is_small
from ._direct import direct_sums
from ._library import native
from ._modes import is_spectral, modes_of, with_modes
from ._native import native_sums
from ._pairs import AbstractPairs, Causal, Full
from ._prefix import seen_weight
from ._reductions import AbstractReduction, Hardmax, Pointwise, as_reduction, finite
from ._scores import AbstractScore, Projected
from ._sharded import sharded_sums
from ._spectral import spectral_sums
from ._tiles import tile_logits

Reduce = str | AbstractReduction | Hardmax | Callable[[Array], Array]

ENGINES = {
    "dense": dense_sums,
    "blocked": blocked_sums,
    "sharded": sharded_sums,
    "broadcast": broadcast_sums,
    "native": native_sums,
    "direct": direct_sums,
}

NATIVE_QUERIES = 8  # fewer leave most of a vector empty


def resolve_kernel(kernel: str, n: int, m: int) -> str:
    """The engine that serves `n` queries and `m` keys; `"auto"` chooses by shape.

    `"spectral"` and `"spectral:K"` are left as they are: the score says what they come to.
    """
    if kernel == "auto":
        if n >= NATIVE_QUERIES and native().ready:
            return "native"
        plain = plain_kernel(n, m)
        return "direct" if plain == "blocked" and jax.default_backend() == "gpu" else plain
    if kernel not in ENGINES and not is_spectral(kernel):
        raise InputError(f"kernel {kernel!r} is unknown; choose auto, {', '.join(ENGINES)}, spectral.")
    return kernel


def plain_kernel(n: int, m: int) -> str:
    """The engine made of XLA's operations that serves `n` queries and `m` keys."""
    return "dense" if is_small(n, m) else "blocked"


def pair_sums(
    score: AbstractScore,
    x: Float[Array, "n d"],
    y: Float[Array, "m e"],
    values: Float[ArrayLike, "m p"] | float | int,
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
    - `kernel`: the engine (`dense`, `blocked`, `sharded`, `broadcast`); resolved once by `simulate` and passed down.
      `native` is a kernel compiled for this processor, on one core (`attnflow doctor` says whether there is one);
      `direct` is a kernel for GPUs, in float32 and up to four dimensions (interpreted, and slow, elsewhere).
      `spectral` (`spectral:K` with a number of modes) is for unit tokens on the circle and on $S^2$, in time
      proportional to the tokens and with an absolute error, for all pairs and for causal ones
      (docs/theory/fast-sums.md).

    **Returns:** `(num, log_z)`; a query that no key is left for gets `(0, -inf)` with zero gradient.
    """
    m = y.shape[0]
    values = jnp.asarray(values, x.dtype)
    values = jnp.full((m, 1), values) if values.ndim == 0 else values
    log_w = None if log_w is None else jnp.asarray(log_w)
    chosen = resolve_kernel(kernel, x.shape[0], m)
    reduction, selection = as_reduction(reduce)
    if is_spectral(chosen):
        beta, _ = score.zonal or (0.0, 0.0)
        engine = functools.partial(spectral_sums, modes_of(with_modes(chosen, beta, x.shape[1])), x, y, score)
    else:
        engine = functools.partial(ENGINES[chosen], score, score.project(x, y))

    def sums(reduction: AbstractReduction, selection: Hardmax | None, values: Array) -> tuple[Array, Array]:
        num, log_z = engine(values, log_w, pairs, reduction, selection)
        return (num, log_z) if log_w is not None else reduction.scaled(num, log_z, -_log(m, log_z))

    num, log_z = sums(reduction, selection, values)
    if pairs.normalized:
        if is_spectral(chosen):
            log_mass = _positional_mass(pairs, log_w, m, num.dtype)
        else:
            _, log_mass = sums(Pointwise(jnp.ones_like), None, values[:, :0])
        num, log_z = reduction.scaled(num, log_z, jnp.where(log_mass > -jnp.inf, -log_mass, 0))
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
    reduction, selection = as_reduction(reduce)
    whole = score.project(x, y)
    bias = None if whole.query_bias is None else whole.query_bias[i]
    tile = Projected(whole.queries[i], whole.keys, bias, whole.key_bias)
    logits, outside = tile_logits(score, tile, log_w, pairs, i, jnp.arange(m), n, m)

    def weights(reduction: AbstractReduction, selection: Hardmax | None) -> tuple[Array, Array]:
        kept = logits if selection is None else selection.ties(logits, selection.best(logits, outside))
        top = reduction.top(kept, outside)
        tile_weights, mass = reduction.weights(kept, outside, finite(top))
        # The weights of a row are its result for the identity matrix of values.
        num, log_z = reduction.finish(top, (tile_weights, jnp.sum(mass, axis=1)))
        return (num, log_z) if log_w is not None else reduction.scaled(num, log_z, -_log(m, log_z))

    num, log_z = weights(reduction, selection)
    if pairs.normalized:
        _, log_mass = weights(Pointwise(jnp.ones_like), None)
        num, _ = reduction.scaled(num, log_z, jnp.where(log_mass > -jnp.inf, -log_mass, 0))
    return num


def _positional_mass(pairs: AbstractPairs, log_w: Array | None, m: int, dtype: Any) -> Float[Array, "*n"]:
    """Log of the outside weight of each query, where it is known without looking at pairs."""
    log_w = jnp.full(m, -jnp.log(m), dtype) if log_w is None else log_w.astype(dtype)
    if not isinstance(pairs, Causal):
        return jax.nn.logsumexp(log_w)
    top = finite(jax.lax.stop_gradient(jnp.max(log_w, keepdims=True)))
    seen = seen_weight(jnp.exp(log_w - top), pairs.slope if pairs.outside else None, pairs.strict)
    return jnp.where(seen > 0, jnp.log(jnp.where(seen > 0, seen, 1)) + top, -jnp.inf)


def _log(m: int, like: Array) -> Array:
    return jnp.log(jnp.asarray(m, like.dtype))
