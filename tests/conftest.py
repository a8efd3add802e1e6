"""A strict environment: 64 bits, no silent broadcasting or promotion, our own warnings are errors."""

import jax
import pytest

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")


def pytest_configure(config: pytest.Config) -> None:
    # Not in pyproject.toml: the class would be imported there before jaxtyping's hook stands.
    config.addinivalue_line("filterwarnings", "error::attnflow.errors.AttnflowWarning")


@pytest.fixture
def key() -> jax.Array:
    return jax.random.key(0)
