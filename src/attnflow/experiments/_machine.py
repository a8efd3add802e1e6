"""What a process needs to know of its machine: compiled programs to share, threads to divide, versions to record."""

import contextlib
import functools
import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from .._cores import usable_cores

PACKAGES = ("attnflow", "jax", "jaxlib", "diffrax", "numpy", "scipy", "xarray")


def versions() -> dict[str, str]:
    """The versions a result depends on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


@functools.cache
def library_version() -> str:
    """The version of attnflow itself."""
    return metadata.version("attnflow")


def divide_threads(workers: int) -> None:
    """Let this process use its share of the cores. To be called before NumPy and JAX are imported."""
    share = str(max(1, usable_cores() // workers))
    for variable in ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # NPROC is XLA's
        os.environ.setdefault(variable, share)
    devices = min(int(os.environ.get("JAX_NUM_CPU_DEVICES", share)), int(share))  # the parent's choice is for itself
    os.environ["JAX_NUM_CPU_DEVICES"] = str(devices)


@contextlib.contextmanager
def compilation_cache(root: Path) -> Iterator[None]:
    """Keep compiled programs in the run folder, so that other workers and later runs need not compile them again."""
    if "jax" not in sys.modules:  # both are read when the libraries are imported
        # On every program it reloads, XLA's loader reports as errors two tuning hints that it does not recognise as
        # features of the host. Real failures reach Python as exceptions.
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        # A program that can call back into Python to raise is not cached. With this an error inside a solve gives
        # NaN instead, which ends the run with a sentence and which no claim survives.
        os.environ.setdefault("EQX_ON_ERROR", "nan")
    import jax
    from jax.experimental.compilation_cache import compilation_cache as cache

    options = {
        "jax_compilation_cache_dir": str(root / "cache" / _processor()),
        "jax_persistent_cache_min_compile_time_secs": 0.2,
    }
    before = {name: getattr(jax.config, name) for name in options}
    try:
        for name, value in options.items():
            jax.config.update(name, value)
        cache.reset_cache()  # JAX reads the folder's name once
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        cache.reset_cache()


def _processor() -> str:
    """A name for this kind of processor: machine code of one may be illegal on another that shares the folder."""
    try:
        with open("/proc/cpuinfo") as f:
            features = next((line for line in f if line.startswith(("flags", "Features"))), "")
    except OSError:
        features = platform.processor()
    return f"{platform.machine()}-{hashlib.sha256(features.encode()).hexdigest()[:8]}"
