"""A strict environment: 64 bits, no silent broadcasting or promotion, our own warnings are errors."""

import gc
import os
import pathlib

# Two processes share the cores, and the matrices of tests are small: threads of BLAS would wait for each other, which
# takes half of the time where NumPy and SciPy do the work. (BLAS reads it when NumPy is imported: the processes
# that pytest starts for `-n 2` do so after this.)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import jaxlib

# Tests run thousands of small programs once or twice, and compiling them is most of the time. With these options XLA
# compiles them in three quarters of the time, to code that is as fast for tests. (Level 0 compiles faster still, to
# code three times as slow in long computations.) `make test XLA=default` tests the options of users, and so do the
# tests that start a program of their own without XLA_FLAGS.
QUICK_COMPILATION = (
    "--xla_backend_optimization_level=1 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_parallel_codegen_split_count=1"
)
if tuple(map(int, jaxlib.__version__.split(".")[:2])) < (0, 11):  # XLA ends the process where it has no such option
    QUICK_COMPILATION += " --xla_cpu_use_fusion_emitters=false"
if os.environ.get("ATTNFLOW_TEST_XLA", "quick") == "quick":
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {QUICK_COMPILATION}".strip()

import jax  # noqa: E402  (XLA reads its options once, when it starts)
import jaxtyping  # noqa: E402
import pytest  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
# Every garbage collection scans all compiled programs, which takes a twentieth of the whole time.
gc.set_threshold(50_000, 20, 50)


def pytest_configure(config: pytest.Config) -> None:
    # Not in pyproject.toml: the class would be imported there before jaxtyping's hook stands.
    config.addinivalue_line("filterwarnings", "error::attnflow.errors.AttnflowWarning")


# Files that take longest, first: two processes share the files, and the last ones should be short.
LONGEST = (
    "surface explore_server explore_page transport spectral sinkhorn experiments pair_sums simulate ensemble "
    "forecasting threads cli gpu_kernels native analyze pretrained matching sentiment normalization unified_paper "
    "gaussian interpolation properties hardmax mean_field smoothness"
).split()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {f"test_{name}": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(pathlib.Path(item.fspath).stem, len(rank)))


@pytest.fixture
def as_users_run():
    """Without the check of annotations, which refuses a value of the wrong type before the library does."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


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
