"""The one contract for sums over pairs; every attention map goes through it."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..errors import InputError
from ..spaces import Numbers, is_concrete
from ._blocked import blocked_sums
from ._checked import checked, projected
from ._dense import broadcast_sums, dense_sums, is_small
from ._direct import direct_sums
from ._pairs import AbstractPairs, Causal, Full
from ._prefix import seen_log_weight
from ._reductions import AbstractReduction, Hardmax, Pointwise, as_reduction, finite
from ._scores import Projected
from ._tiles import tile_logits
from ._unseen import shielded
from ._used import note
from .modes import is_spectral, modes_of, with_modes
from .native import native_sums
from .native_library import native
from .sharding import sharded_sums
from .spectral import spectral_sums

Reduce = Any  # a name, a reduction, a selection of keys, or a function of the score

ENGINES = {
    "dense": dense_sums,
    "blocked": blocked_sums,
    "sharded": sharded_sums,
    "broadcast": broadcast_sums,
    "native": native_sums,
    "direct": direct_sums,
}

NATIVE_QUERIES = 8  # fewer leave most of a vector empty


def resolve_kernel(kernel: Any, n: int, m: int) -> str:
    """The engine that serves `n` queries and `m` keys; `"auto"` chooses by shape.

    `"spectral"` and `"spectral:K"` are left as they are: the score says what they come to.
    """
    if isinstance(kernel, str) and kernel == "auto":
        if n >= NATIVE_QUERIES and native().ready:
            return "native"
        plain = plain_kernel(n, m)
        return "direct" if plain == "blocked" and jax.default_backend() == "gpu" else plain
    if not isinstance(kernel, str) or (kernel not in ENGINES and not is_spectral(kernel)):
        raise InputError(f"kernel {kernel!r} is unknown; choose auto, {', '.join(ENGINES)}, spectral.")
    return kernel


def plain_kernel(n: int, m: int) -> str:
    """The engine made of XLA's operations that serves `n` queries and `m` keys."""
    return "dense" if is_small(n, m) else "blocked"


def pair_sums(
    score: Any,
    x: Numbers,
    y: Numbers,
    values: Numbers,
    *,
    log_w: Numbers | None = None,
    pairs: Any = Full(),
    reduce: Reduce = "softmax",
    kernel: Any = "auto",
) -> tuple[Float[Array, "n p"], Float[Array, " n"]]:
    r"""Sums over keys $j$ for every query $i$,

    $$ \sum_j e^{\log w_j + \ell_{ij}}\; \phi(s_{ij} + b_{ij})\; v_j , $$

    where `score` gives $s$, `pairs` gives $b$ (inside) and $\ell$ (outside), and `reduce` says what $\phi$ is.

    **Arguments:**

    - `score`: an `AbstractScore`, `Inner(beta)` for example; `pairs`: `Full`, `Causal`, `Positional` or a transpose.
    - `x`, `y`: queries `(n, d)` and keys `(m, e)`, not always the same cloud.
    - `values`: `(m, p)` of any width; a number stands for a column of it.
    - `log_w`: log weights of the keys; `None` means $-\log m$, and $-\infty$ removes a key.
    - `reduce`: `"softmax"` or `"exp"` return `(sum / Z, log Z)`, `Total()` returns `(sum, log Z)`; a pointwise function
      returns `(sum, log of the outside mass)`; `Hardmax(tol)` `(weighted mean of the tied keys, log tied mass)`.
    - `kernel`: the engine (`dense`, `blocked`, `broadcast`); resolved once by `simulate` and passed down. `sharded`
      gives every device of `jax.local_devices()` a share of the queries.
      `native` is a kernel compiled for this processor, on all cores (`attnflow doctor` says whether there is one);
      `direct` is a kernel for GPUs, in float32 and up to four dimensions (interpreted, and slow, elsewhere).
      `spectral` (`spectral:K` with a number of modes) is for unit tokens on the circle and on $S^2$, in time
      proportional to the tokens and with an absolute error, for all pairs and for causal ones
      (docs/theory/fast-sums.md).

    **Returns:** `(num, log_z)`; a query that no key is left for gets `(0, -inf)` with zero gradient.

    In every engine a key (or value) that a query does not see, by `pairs` or by a weight of zero, does not matter to
    it, even if it is NaN or infinite: padding may hold anything. A query that sees such a key gets NaN, with a zero
    gradient; one that sees such a value gets it in that column of the sum.
    """
    x, y, values, log_w = checked(score, x, y, values, log_w, pairs)
    given = shielded(x, y, values, log_w, pairs)
    x, y, values, log_w = given[:4]
    m = y.shape[0]
    chosen = resolve_kernel(kernel, x.shape[0], m)
    reduction, selection = as_reduction(reduce)
    if is_spectral(chosen):
        beta, _ = score.zonal or (0.0, 0.0)
        engine = functools.partial(spectral_sums, modes_of(with_modes(chosen, beta, x.shape[1])), x, y, score)
    else:
        engine = functools.partial(ENGINES[chosen], score, projected(score, x, y))

    if chosen not in ("native", "direct"):  # these know what they can do, and say so themselves
        note(chosen)

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
    return given.restored(*reduction.result(num, log_z))


def pair_weights(
    score: Any,
    x: Numbers,
    y: Numbers,
    *,
    rows: Numbers | slice | None = None,
    log_w: Numbers | None = None,
    pairs: Any = Full(),
    reduce: Reduce = "softmax",
    log: bool = False,
) -> Float[Array, "r m"]:
    r"""The weights themselves for some rows: `pair_weights(…) @ values` is the first result of `pair_sums(…)`.

    `rows` are indices (or a slice) of queries; `None` means all, an `n`-by-`m` array. `log=True` gives their
    logarithms, which do not underflow where the weights do; $-\infty$ is a pair that is left out.
    """
    x, y, values, log_w = checked(score, x, y, 0.0, log_w, pairs)
    n, m = x.shape[0], y.shape[0]
    i = _rows(rows, n)
    reduction, selection = as_reduction(reduce)
    given = shielded(x, y, values, log_w, pairs)
    whole = projected(score, given.x, given.y)
    bias = None if whole.query_bias is None else whole.query_bias[i]
    tile = Projected(whole.queries[i], whole.keys, bias, whole.key_bias)
    logits, outside = tile_logits(score, tile, given.log_w, pairs, i, jnp.arange(m), n, m)
    if selection is not None:
        logits = selection.ties(logits, selection.best(logits, outside))

    def weights(reduction: AbstractReduction) -> tuple[Array, Array]:
        top = reduction.top(logits, outside)
        tile_weights, mass = reduction.weights(logits, outside, finite(top))
        # The weights of a row are its result for the identity matrix of values.
        return reduction.finish(top, (tile_weights, jnp.sum(mass, axis=1)))

    num, log_z = weights(reduction)
    log_c = -_log(m, log_z) if log_w is None else jnp.zeros_like(log_z[0])
    if pairs.normalized:
        _, log_mass = weights(Pointwise(jnp.ones_like))
        log_c = jnp.where(log_mass > -jnp.inf, -log_mass, 0)
    if log:
        return given.restored_rows(reduction.log_weights(logits, outside, log_z, log_c), i)
    return given.restored_rows(reduction.result(*reduction.scaled(num, log_z, log_c))[0], i)


def _rows(rows: Any, n: int) -> Int[Array, " r"]:
    """Numbers of queries, refused where there is no such query."""
    if rows is None or isinstance(rows, slice):
        return jnp.arange(n) if rows is None else jnp.arange(n)[rows]
    if is_concrete(rows):
        try:
            given = np.asarray(rows)
        except (TypeError, ValueError, OverflowError):
            given = np.asarray("")
        if not np.issubdtype(given.dtype, np.integer) or given.ndim != 1 or not ((-n <= given) & (given < n)).all():
            raise InputError(f"rows = {rows!r} are not numbers of the {n} queries; give whole numbers, or a slice.")
    return jnp.arange(n)[jnp.asarray(rows)]


def _positional_mass(pairs: AbstractPairs, log_w: Array | None, m: int, dtype: Any) -> Float[Array, "*n"]:
    """Log of the outside weight of each query, where it is known without looking at pairs."""
    log_w = jnp.full(m, -jnp.log(m), dtype) if log_w is None else log_w.astype(dtype)
    if not isinstance(pairs, Causal):
        return jax.nn.logsumexp(log_w)
    return seen_log_weight(log_w, pairs.slope if pairs.outside else None, pairs.strict)


def _log(m: int, like: Array) -> Array:
    return jnp.log(jnp.asarray(m, like.dtype))
