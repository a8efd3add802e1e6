"""Exponentials relative to a bound of the scores that costs nothing, instead of to the row maximum.

A row maximum is a second pass over the pairs. Relative to an upper bound nothing overflows; and nothing underflows if
one key of the row is near the bound. On the sphere that is the query itself, so one key is tested: the one with the
query's number. Only if it is far below the bound for some query must there be a maximum.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ._engine import Inputs, Problem
from ._rules import decided_together
from ._scores import Projected


def upper_bound(
    problem: Problem, inputs: Inputs, *, common: bool = False
) -> tuple[Float[Array, " n"], Bool[Array, ""]] | None:
    """A top for every row, and whether no row loses digits relative to it; `None` where no bound is known.

    A `common` top is the same for all rows. Only complete pairs have a bound: others may leave out the key that is
    tested, or all keys of a row, which it would not see.
    """
    if not problem.exponential or not problem.pairs.complete:
        return None
    score, tile, log_w = problem.score, inputs.tile, inputs.log_w
    n, m = tile.queries.shape[0], tile.keys.shape[0]
    if inputs.rows is None and n <= m:
        own = lambda a: a[:n]  # noqa: E731
    else:
        numbers = jnp.minimum(inputs.numbers, m - 1)
        own = lambda a: a[numbers]  # noqa: E731
    key_bias = None if tile.key_bias is None else own(tile.key_bias)
    low = score.matched(Projected(tile.queries, own(tile.keys), tile.query_bias, key_bias))
    top = score.bound(tile)
    top = jnp.broadcast_to(jnp.max(top), top.shape) if common else top
    if log_w is not None:
        log_w = log_w.astype(top.dtype)
        low, heaviest = low + own(log_w), jnp.max(log_w)
        top = top + jnp.where(heaviest == -jnp.inf, 0, heaviest)
    top, low = jax.lax.stop_gradient((top, low))
    # A row's sum is at least exp(low - top), which may be small but must be far from the smallest number.
    margin = -0.5 * jnp.log(jnp.finfo(top.dtype).tiny)
    return top, decided_together(jnp.max(top - low) < margin)
