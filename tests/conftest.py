"""A strict environment: 64 bits, no silent broadcasting or promotion, our own warnings are errors (pyproject.toml)."""

import jax
import pytest

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")


@pytest.fixture
def key() -> jax.Array:
    return jax.random.key(0)
