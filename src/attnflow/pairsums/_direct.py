"""The direct engine: sums over pairs in float32, by kernels of a GPU.

In few dimensions the arithmetic units do it (`_few`), for all pairs, causal ones and hardmax; in more dimensions the
`tensor_cores`, for exponentials. What does not fit (float64, other pairs) is done by the blocked engine, as are
derivatives.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from . import tensor_cores as tensor
from ._blocked import blocked_sums
from ._bounded import upper_bound
from ._few import WIDTH, Few, exponential_sums, highest, tied_sums
from ._pairs import AbstractPairs, Causal, Full
from ._reductions import AbstractReduction, Exponential, Hardmax, Sums, finite
from ._rules import derived_from
from ._scores import AbstractScore, Projected
from ._seen import Seen
from ._used import note
from .gpu import LOG2E


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
    note("direct" if fits(score, tile, values, pairs, reduction, selection) else "blocked")
    if not fits(score, tile, values, pairs, reduction, selection):
        return blocked_sums(score, tile, values, log_w, pairs, reduction, selection)

    def blocked(score: AbstractScore, tile: Projected, values: Array, log_w: Any, pairs: Any, selection: Any) -> Sums:
        return blocked_sums(score, tile, values, log_w, pairs, reduction, selection)

    def direct(score: AbstractScore, tile: Projected, values: Array, log_w: Any, pairs: Any, selection: Any) -> Sums:
        if selection is not None:
            return reduction.finish(jnp.zeros(len(tile.queries), jnp.float32), _ties(tile, values, log_w, selection))
        given = _powers_of_two(tile, values, log_w, pairs)
        if not _see_themselves(tile, pairs):
            top = finite(highest(given) / LOG2E)
            return reduction.finish(top, _sums(given, top))
        bounded = upper_bound(score, tile, log_w, Full(), reduction, None)
        assert bounded is not None  # all pairs, exponentials
        bound, safe = bounded
        if _few(tile, values):
            top = jax.lax.cond(safe, lambda: bound, lambda: finite(highest(given) / LOG2E))
            return reduction.finish(top, _sums(given, top))
        within = lambda: reduction.finish(bound, _sums(given, bound))  # noqa: E731
        return jax.lax.cond(safe, within, lambda: blocked(score, tile, values, log_w, pairs, None))

    return derived_from(blocked, direct)(score, tile, values, log_w, pairs, selection)


def fits(
    score: AbstractScore,
    tile: Projected,
    values: Float[Array, "m p"],
    pairs: AbstractPairs,
    reduction: AbstractReduction,
    selection: Hardmax | None,
) -> bool:
    """Whether there is a kernel for it."""
    few, everyone = _few(tile, values), pairs.complete
    if selection is not None:
        known = few and everyone
    else:
        known = everyone or (isinstance(pairs, Causal) and (few or _see_themselves(tile, pairs)))
    return (
        known
        and isinstance(reduction, Exponential)
        and score.is_product
        and tile.queries.dtype == jnp.float32
        and 1 <= tile.queries.shape[1] <= tensor.WIDTH
        and values.shape[1] <= tensor.WIDTH
    )


def _few(tile: Projected, values: Array) -> bool:
    return max(tile.queries.shape[1], values.shape[1]) <= WIDTH


def _see_themselves(tile: Projected, pairs: AbstractPairs) -> bool:
    """Whether every query sees the key of its number, which is what a bound of the scores looks at."""
    if not isinstance(pairs, Causal):
        return True
    return not pairs.strict and pairs.at is None and len(tile.queries) == len(tile.keys)


def _powers_of_two(tile: Projected, values: Array, log_w: Array | None, pairs: AbstractPairs) -> Few:
    """Scores in powers of two, so that an exponential is one instruction; weights are part of them."""
    n, m = len(tile.queries), len(tile.keys)
    start = _start(tile)
    bias = tile.key_bias
    if log_w is not None:
        log_w = log_w.astype(jnp.float32)
        bias = log_w if bias is None else bias + log_w
    seen = Seen.by(pairs, n, m) if isinstance(pairs, Causal) else None
    if isinstance(pairs, Causal) and pairs.slope is not None and not pairs.strict:
        start = start + pairs.slope.astype(jnp.float32)  # a query that sees itself is at no distance from itself
    bias = None if bias is None else LOG2E * bias
    return Few(LOG2E * tile.queries.T, LOG2E * start, None, seen, tile.keys.T, bias, values.T)


def _sums(given: Few, top: Float[Array, " n"]) -> Sums:
    """Sums of weight times value, and of weight, relative to `top`."""
    given = given._replace(start=given.start - LOG2E * top)
    if max(len(given.queries), len(given.values)) <= WIDTH:
        return exponential_sums(given)
    return tensor.tensor_sums(given.queries.T, given.start, given.keys.T, given.bias, given.values.T, given.seen)


def _ties(tile: Projected, values: Array, log_w: Array | None, selection: Hardmax) -> Sums:
    """Sums over the best keys, in two passes that compute the same scores."""
    m = len(tile.keys)
    weight = jnp.ones(m, jnp.float32) if log_w is None else jnp.exp(log_w.astype(jnp.float32))
    bias = tile.key_bias
    if log_w is not None:  # a key without weight does not compete
        bias = jnp.where(log_w > -jnp.inf, jnp.zeros(m, jnp.float32) if bias is None else bias, -jnp.inf)
    given = Few(tile.queries.T, _start(tile), None, None, tile.keys.T, bias, None)
    least = highest(given) - selection.tol.astype(jnp.float32)
    weighted = jnp.concatenate([values * weight[:, None], weight[:, None]], axis=1)
    sums = tied_sums(given._replace(least=finite(least), values=weighted.T))
    return sums[:, :-1], sums[:, -1]


def _start(tile: Projected) -> Float[Array, " n"]:
    return jnp.zeros(len(tile.queries), jnp.float32) if tile.query_bias is None else tile.query_bias
