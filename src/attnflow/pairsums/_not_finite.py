r"""Unseen keys do not change a sum, even if they are NaN or infinite, although their products with zero would be NaN.

Keys and values that are not finite are replaced before any engine sees them, and the queries that do see one of them
get NaN afterwards. This costs time proportional to the tokens, engines need no code for it; derivatives are those of
the numbers that are left: zero for what is not seen, and the NaN of a query does not spread to its keys.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ._pairs import AbstractPairs
from ._reductions import Sums

# From so many coordinates on, a product with zeros is several times as fast as a look at every number.
PRODUCT_PAYS = 8


class Shielded(NamedTuple):
    """Tokens, values and log weights without entries that are not finite; and which results are NaN (`None`: none).

    These are the results of queries that are not finite or see such a key, and sums of such values, by column.
    """

    x: Float[Array, "n d"]
    y: Float[Array, "m e"]
    values: Float[Array, "m p"]
    log_w: Float[Array, " m"] | None
    spoiled: Bool[Array, " n"] | None = None
    spoiled_sums: Bool[Array, "n p"] | None = None

    def restored(self, num: Float[Array, "n p"], log_z: Float[Array, " n"]) -> Sums:
        """The results of an engine, with NaN where they belong."""
        if self.spoiled is not None:
            num, log_z = self.restored_rows(num), jnp.where(self.spoiled, jnp.nan, log_z)
        return (num if self.spoiled_sums is None else jnp.where(self.spoiled_sums, jnp.nan, num)), log_z

    def restored_rows(self, rows: Float[Array, "r m"], i: Int[Array, " r"] | None = None) -> Float[Array, "r m"]:
        """The weights of the queries `i`, by default of all, with NaN where they belong."""
        if self.spoiled is None:
            return rows
        return jnp.where((self.spoiled if i is None else self.spoiled[i])[:, None], jnp.nan, rows)


def shielded(
    x: Float[Array, "n d"],
    y: Float[Array, "m e"],
    values: Float[Array, "m p"],
    log_w: Float[Array, " m"] | None,
    pairs: AbstractPairs,
) -> Shielded:
    """Where every query sees every key, one bad key spoils all results, and only keys without weight are replaced."""
    own = _finite(x)
    if pairs.complete and log_w is None:
        return Shielded(x, y, values, log_w, ~(own & _finite(y).all()))
    counts = jnp.ones(len(y), bool) if log_w is None else log_w != -jnp.inf
    x = _instead(x, own)
    if pairs.complete:
        y = _instead(y, counts)
        return Shielded(x, y, _instead(values, counts), log_w, ~(own & _finite(y).all()))
    keys, numbers = _finite(y), jnp.isfinite(values)
    harmful = ~keys
    if log_w is not None:
        harmful = counts & (harmful | jnp.isnan(log_w))
        log_w = jnp.where(jnp.isnan(log_w), -jnp.inf, log_w)
    first = jnp.zeros(1, int)
    pairs.log_weight(first, first, len(x), len(y))  # errors of `pairs` are raised here, and not inside a transformation
    sees = functools.partial(pairs.sees, n=len(x))
    lost = counts[:, None] & ~numbers
    sums = jax.vmap(sees, in_axes=1, out_axes=1)(lost) if values.shape[1] else None
    return Shielded(
        x,
        _instead(y, keys & counts),
        jnp.where(counts[:, None] & numbers, values, 0),
        log_w,
        ~own | sees(harmful),
        sums,
    )


def _finite(a: Float[Array, "m e"]) -> Bool[Array, " m"]:
    """Whether all numbers of a row are finite."""
    if a.shape[1] < PRODUCT_PAYS:
        return jnp.all(jnp.isfinite(a), axis=1)
    # NaN and infinity times zero are NaN. Full precision: the largest numbers must not be rounded to infinity first.
    zeros = jnp.zeros(a.shape[1], a.dtype)
    return jnp.matmul(jax.lax.stop_gradient(a), zeros, precision="highest") == 0


def _instead(a: Float[Array, "m e"], sound: Bool[Array, " m"]) -> Float[Array, "m e"]:
    """A unit vector in place of a token, which every score and every engine takes; any numbers would do for values."""
    return jnp.where(sound[:, None], a, (jnp.arange(a.shape[1]) == 0).astype(a.dtype)[None, :])
