"""How a process computes: in which precision, with which compiled programs, devices and versions."""

import concurrent.futures
import contextlib
import functools
import hashlib
import os
import platform
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from ..errors import InputError
from ._sources import sources

PACKAGES = ("attnflow", "jax", "jaxlib", "equinox", "diffrax", "numpy", "scipy", "xarray")
# Settings of JAX that change numbers; each has an environment variable, which a new process reads.
INHERITED = (
    "jax_num_cpu_devices",
    "jax_platforms",
    "jax_default_prng_impl",
    "jax_threefry_partitionable",
    "jax_default_matmul_precision",
)


def versions(compute: Callable[..., Any]) -> dict[str, str]:
    """The versions that what `compute` gives depends on; `sources` is a hash of the code, which an edit changes."""
    return {**_installed(), "sources": sources(compute)[:12]}


@functools.cache
def _installed() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


@contextlib.contextmanager
def computing(root: Path, dtype: str) -> Iterator[None]:
    """Whatever is computed, judged or drawn in here, whichever process and however often, is so in one precision.

    Afterwards the process is as it was.
    """
    with compilation_cache(root), in_precision(dtype):
        yield


@contextlib.contextmanager
def in_precision(dtype: str) -> Iterator[None]:
    """JAX computes with this many bits, and afterwards as before."""
    from ..floating_point import precision

    with concurrent.futures.ThreadPoolExecutor(1) as aside:  # a jax.enable_x64 around us holds in our thread alone
        before = aside.submit(precision).result()
    try:
        if precision(dtype) != dtype:
            raise InputError(f"jax.enable_x64 keeps JAX in {precision()}, and {dtype} is needed; leave it first.")
        yield
    finally:
        precision(before)


@contextlib.contextmanager
def heirs() -> Iterator[None]:
    """Processes started in here compute to the last bit as this one does.

    How many devices share a sum, and how many threads a product of matrices, decides the order of additions. So workers
    divide the cells between them and not the cores: the system does that.
    """
    import jax

    values = {name.upper(): getattr(jax.config, name) for name in INHERITED}
    # Equinox has read this if it is imported, as it was then; what is not set means "raise".
    wanted = {name: str(value).lower() for name, value in values.items() if value not in (None, -1)}
    wanted["EQX_ON_ERROR"] = os.environ.get("EQX_ON_ERROR", "raise")
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextlib.contextmanager
def compilation_cache(root: Path) -> Iterator[None]:
    """Keep compiled programs in the run folder, so that other workers and later runs need not compile them again."""
    if "jax" not in sys.modules:  # it is read when the library is imported
        # On every program it reloads, XLA's loader reports as errors two tuning hints that it does not recognise as
        # features of the host. Real failures reach Python as exceptions.
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if "equinox" not in sys.modules:  # likewise
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
