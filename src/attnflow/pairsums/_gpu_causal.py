r"""Causal pairs inside a kernel: query $i$ sees the first $c_i$ keys, and key $j$ with weight $2^{-\lambda (c_i - j)}$.

The queries of a program visit the keys up to the last one that any of them sees. Most earlier keys are seen by all of
them, and need no mask.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ._pairs import Causal
from .gpu import LOG2E, multiply_add


class Visible(NamedTuple):
    """Arrays, or references to them inside a kernel; `slope` is `None` where there is none."""

    count: Any
    slope: Any

    @classmethod
    def by(cls, pairs: Causal, n: int, m: int) -> "Visible":
        count = pairs.position(jnp.arange(n), n, m) + (0 if pairs.strict else 1)
        slope = None if pairs.slope is None else jnp.atleast_1d(LOG2E * pairs.slope.astype(jnp.float32))
        return cls(count.astype(jnp.int32), slope)


def fold(seen: Visible | None, first: Any, length: int, step: int, body: Callable[..., Any], state: Any) -> Any:
    """`body(at, masked, state)` for every step of keys between `first` and `first + length` that some query sees."""

    def walk(start: Any, stop: Any, state: Any, masked: bool) -> Any:
        return jax.lax.fori_loop(start, stop, lambda k, state: body(first + k * step, masked, state), state)

    if seen is None:
        return walk(0, length // step, state, False)
    count = seen.count[:]
    by_all = jnp.clip(jnp.min(count) - first, 0, length) // step
    by_some = (jnp.clip(jnp.max(count) - first, 0, length) + step - 1) // step
    return walk(by_all, by_some, walk(0, by_all, state, False), True)


def positional(seen: Visible | None, s: Array, first: Any, masked: bool) -> Array:
    """Scores of the keys from `first` on, with the slope, and without keys that a query does not see."""
    if seen is None or (seen.slope is None and not masked):
        return s
    ahead = seen.count[:][:, None] - (first + jnp.arange(s.shape[1], dtype=jnp.int32))[None, :]
    if seen.slope is not None:
        s = multiply_add(-seen.slope[0], ahead.astype(jnp.float32), s)
    return jnp.where(ahead > 0, s, -jnp.inf) if masked else s
