"""Arguments of sums over pairs, checked once before an engine gets them."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..errors import InputError
from ..spaces import warn_if_narrowed
from ._pairs import AbstractPairs
from ._scores import AbstractScore, Projected

Given = tuple[Float[Array, "n d"], Float[Array, "m e"], Float[Array, "m p"], Float[Array, " m"] | None]


def checked(score: Any, x: Any, y: Any, values: Any, log_w: Any, pairs: Any) -> Given:
    """Queries, keys, values and log weights as arrays that fit each other, refused in a sentence otherwise."""
    if not isinstance(score, AbstractScore):
        raise InputError(f"a {type(score).__name__} is no score; give one, for example Inner(beta).")
    if not isinstance(pairs, AbstractPairs):
        raise InputError(f"a {type(pairs).__name__} is no pairs object; give Full, Causal or Positional.")
    warn_if_narrowed("entries of x, y, values or log_w", x, y, values, log_w)
    x, y = _cloud("x", x), _cloud("y", y)
    m = y.shape[0]
    values = _numbers("values", values).astype(x.dtype)
    values = jnp.full((m, 1), values) if values.ndim == 0 else values
    if values.ndim != 2 or len(values) != m:
        raise InputError(f"values have shape {values.shape} for {m} keys; give ({m}, p), or a number.")
    if log_w is not None:
        log_w = _numbers("log_w", log_w)
        if log_w.shape != (m,):
            raise InputError(f"log_w has shape {log_w.shape} for {m} keys; give one log weight per key.")
    return x, y, values, log_w


def projected(score: AbstractScore, x: Float[Array, "n d"], y: Float[Array, "m e"]) -> Projected:
    """The projections of the tokens by the score, refused in a sentence where queries and keys do not fit."""
    tile = score.project(x, y)
    d, e = tile.queries.shape[1], tile.keys.shape[1]
    if d != e:
        raise InputError(f"queries have dimension {d} and keys {e}; give tokens of one dimension, or matrices Q and K.")
    return tile


def _cloud(name: str, tokens: Any) -> Float[Array, "n d"]:
    tokens = _numbers(name, tokens)
    if tokens.ndim != 2 or 0 in tokens.shape:
        raise InputError(f"{name} has shape {tokens.shape}; give a cloud (n, d), tokens as rows (batches by jax.vmap).")
    return tokens


def _numbers(name: str, values: Any) -> Array:
    """Real numbers as floats; text, truth values and complex numbers are refused."""
    try:
        array = jnp.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} = {values!r} is not an array of numbers.") from None
    if jnp.issubdtype(array.dtype, jnp.integer):
        array = array.astype(jnp.result_type(float))
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise InputError(f"{name} has dtype {array.dtype}; give real numbers.")
    return array
