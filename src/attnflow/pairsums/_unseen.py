r"""What a query does not see does not matter to it, whatever it is: NaN and infinity times zero would be NaN.

Keys and values that are not finite are replaced before any engine sees them, and the queries that do see one of them
get NaN afterwards. This costs time proportional to the tokens, no engine knows of it, and derivatives are those of the
numbers that are left: zero for what is not seen, and no NaN of a query that nobody asked for spreads to its keys.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ._pairs import AbstractPairs


class Shielded(NamedTuple):
    """Tokens, values and log weights without NaN or infinity, and the queries whose result is NaN (`None`: no such)."""

    x: Float[Array, "n d"]
    y: Float[Array, "m e"]
    values: Float[Array, "m p"]
    log_w: Float[Array, " m"] | None
    spoiled: Bool[Array, " n"] | None

    def restored(self, result: Float[Array, "r *p"], rows: Int[Array, " r"] | None = None) -> Float[Array, "r *p"]:
        """Results of (some) queries, with NaN for those that are, or see, no numbers."""
        if self.spoiled is None:
            return result
        spoiled = self.spoiled if rows is None else self.spoiled[rows]
        return jnp.where(spoiled.reshape(-1, *(1,) * (result.ndim - 1)), jnp.nan, result)


def shielded(
    x: Float[Array, "n d"],
    y: Float[Array, "m e"],
    values: Float[Array, "m p"],
    log_w: Float[Array, " m"] | None,
    pairs: AbstractPairs,
) -> Shielded:
    """Nothing is done where every query sees every key: then NaN spreads to all by itself."""
    if log_w is None and pairs.complete:
        return Shielded(x, y, values, log_w, None)
    sound = _finite(y) & _finite(values)
    harmful = ~sound
    if log_w is not None:
        counts = log_w != -jnp.inf
        harmful = counts & (harmful | jnp.isnan(log_w))
        sound = sound & counts
        log_w = jnp.where(jnp.isnan(log_w), -jnp.inf, log_w)
    own = _finite(x)
    spoiled = ~own | pairs.sees(harmful, x.shape[0])
    return Shielded(_instead(x, own), _instead(y, sound), _instead(values, sound), log_w, spoiled)


def _finite(a: Float[Array, "m e"]) -> Bool[Array, " m"]:
    return jnp.all(jnp.isfinite(a), axis=1)


def _instead(a: Float[Array, "m e"], sound: Bool[Array, " m"]) -> Float[Array, "m e"]:
    """A unit vector in place of a token, which every score and every engine takes; any number would do for a value."""
    return jnp.where(sound[:, None], a, (jnp.arange(a.shape[1]) == 0).astype(a.dtype)[None, :])
