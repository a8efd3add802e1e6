"""Checks of the arguments of all laws of initial tokens: number of tokens, dimension, random key."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ..checks import whole
from ..errors import InputError, shown


def checked_shape(n: Any, d: Any) -> tuple[int, int]:
    """`n` tokens in dimension `d`, two whole numbers."""
    n, d = (whole(name, value, least=-(2**62), most=2**31 - 1) for name, value in (("n", n), ("d", d)))
    if n < 1 or d < 1:
        raise InputError(f"n = {n} tokens in dimension d = {d}: both must be at least 1.")
    return n, d


def checked_key(key: Any) -> PRNGKeyArray:
    """One random key, of the new kind or of the old (two numbers)."""
    try:
        typed = key if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else jax.random.wrap_key_data(key)
        if typed.ndim == 0:
            return key
    except (AttributeError, TypeError, ValueError):
        pass
    raise InputError(f"key = {shown(key)} is no random key; give for example key=jax.random.key(0).")


def key_or_fixed(key: Any) -> PRNGKeyArray:
    """The random key given, or the same one at every call."""
    return jax.random.key(0) if key is None else checked_key(key)


def generator(key: Any) -> np.random.Generator:
    """NumPy's generator for a random key of JAX; `jax.random.key(k)` gives what NumPy gives for the seed `k`."""
    key = key_or_fixed(key)
    words = jax.random.key_data(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key
    return np.random.default_rng(np.asarray(words)[::-1])


def draws(key: Any) -> np.random.Generator:
    """Numbers of NumPy's generator for a random key; none of them are those of a user's generator of the same seed."""
    return generator(key).spawn(1)[0]
