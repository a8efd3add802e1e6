"""The one contract for sums over pairs; every attention map goes through it."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..checks import flag
from ..engines import named
from ..errors import InputError
from ..spaces import Numbers, is_concrete
from ._arguments import checked, projected
from ._engine import AbstractPairSumEngine, Inputs, Problem, choose_sums
from ._not_finite import shielded
from ._pairs import Full
from ._prefix import seen_log_weight
from ._reductions import AbstractReduction, Pointwise, as_reduction, finite
from ._scores import Projected
from ._tiles import tile_logits
from ._traced_engines import note

Reduce = Any  # a name, a reduction, a selection of keys, or a function of the score


def check_kernel(kernel: Any) -> str:
    """The name of an engine, or `"auto"`; refused in a sentence where there is none of that name."""
    named("pair-sum engine", kernel)
    return kernel


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
    - `kernel`: the engine; `auto` is the fastest that can do it, and an engine that is named and cannot is refused in a
      sentence. `dense`, `blocked` and `broadcast` do everything. `sharded`
      gives every device of `jax.local_devices()` a share of the queries.
      `native` is a kernel compiled for this processor, on all cores (`attnflow doctor` says whether there is one);
      `direct` is a kernel for GPUs, in float32 (interpreted, and slow, elsewhere).
      `spectral` (`spectral:K` with a number of modes) is for unit tokens on the circle and on $S^2$, in time
      proportional to the tokens and with an absolute error, for all pairs and for causal ones
      (docs/theory/fast-sums.md).

    **Returns:** `(num, log_z)`; a query without keys gets `(0, -inf)` with zero gradient.

    In every engine a key (or value) that a query does not see, by `pairs` or by a weight of zero, does not matter to
    it, even if it is NaN or infinite: padding may hold anything. A query that sees such a key gets NaN, with a zero
    gradient; one that sees such a value gets it in that column of the sum.
    """
    x, y, values, log_w = checked(score, x, y, values, log_w, pairs)
    shield = shielded(x, y, values, log_w, pairs)
    x, y, values, log_w = shield[:4]
    (n, d), (m, p) = x.shape, values.shape
    tile = projected(score, x, y)
    reduction, selection = as_reduction(reduce)
    problem = Problem(n, m, d, p, tile.queries.shape[1], x.dtype, score, reduction, selection, pairs)
    choice = choose_sums(problem, kernel)
    note(choice)

    def sums(engine: AbstractPairSumEngine, problem: Problem, values: Array) -> tuple[Array, Array]:
        num, log_z = engine.run(problem, Inputs(x, y, tile, values, log_w))
        return (num, log_z) if log_w is not None else problem.reduction.scaled(num, log_z, -_log(m, log_z))

    num, log_z = sums(choice.engine, problem, values)
    if pairs.normalized:
        if choice.engine.looks_at_pairs:
            masses = replace(problem, reduction=Pointwise(jnp.ones_like), selection=None, p=0)
            able = choice.engine.why_not(masses) is None
            _, log_mass = sums(choice.engine if able else choose_sums(masses).engine, masses, values[:, :0])
        else:
            log_masses = jnp.full(m, -_log(m, num)) if log_w is None else log_w.astype(num.dtype)
            log_mass = seen_log_weight(log_masses, pairs.slope if pairs.outside else None, pairs.strict)
        num, log_z = reduction.scaled(num, log_z, jnp.where(log_mass > -jnp.inf, -log_mass, 0))
    return shield.restored(*reduction.result(num, log_z))


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
    log = flag("log", log)
    x, y, values, log_w = checked(score, x, y, 0.0, log_w, pairs)
    n, m = x.shape[0], y.shape[0]
    i = _rows(rows, n)
    reduction, selection = as_reduction(reduce)
    shield = shielded(x, y, values, log_w, pairs)
    whole = projected(score, shield.x, shield.y)
    bias = None if whole.query_bias is None else whole.query_bias[i]
    tile = Projected(whole.queries[i], whole.keys, bias, whole.key_bias)
    logits, outside = tile_logits(score, tile, shield.log_w, pairs, i, jnp.arange(m), n, m)
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
        return shield.restored_rows(reduction.log_weights(logits, outside, log_z, log_c), i)
    return shield.restored_rows(reduction.result(*reduction.scaled(num, log_z, log_c))[0], i)


def _rows(rows: Any, n: int) -> Int[Array, " r"]:
    """Numbers of queries, refused where there is no such query."""
    if rows is None or isinstance(rows, slice):
        return jnp.arange(n) if rows is None else jnp.arange(n)[rows]
    if is_concrete(rows):
        try:
            indices = np.asarray(rows)
        except (TypeError, ValueError, OverflowError):
            indices = np.asarray("")
        whole = np.issubdtype(indices.dtype, np.integer) and indices.ndim == 1
        if not whole or not ((-n <= indices) & (indices < n)).all():
            raise InputError(f"rows = {rows!r} are not numbers of the {n} queries; give whole numbers, or a slice.")
    return jnp.arange(n)[jnp.asarray(rows)]


def _log(m: int, like: Array) -> Array:
    return jnp.log(jnp.asarray(m, like.dtype))
