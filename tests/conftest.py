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


@pytest.fixture
def call(capsys):
    """Run a command line in this process: `(exit code, standard output, standard error)`."""
    from attnflow.cli import main

    def run(*args):
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(a) for a in args])
        captured = capsys.readouterr()
        return left.value.code or 0, captured.out, captured.err

    return run
