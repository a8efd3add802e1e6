"""The state of a process that computes: precision, compiled programs, devices and versions."""

import concurrent.futures
import contextlib
import functools
import hashlib
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import private_folder
from ..versions import NOT_INSTALLED, version
from ._sources import sources

PACKAGES = ("attnflow", "jax", "jaxlib", "equinox", "diffrax", "numpy", "scipy", "xarray")
MOST_BYTES = 1 << 30  # of compiled programs
# Settings of JAX that change the order of additions. A new process reads each from an environment variable.
INHERITED = ("jax_num_cpu_devices", "jax_platforms")
# Settings of JAX that change random numbers and products: all is computed with these, whatever the caller has set.
FIXED = {
    "jax_default_prng_impl": "threefry2x32",
    "jax_threefry_partitionable": True,
    "jax_random_seed_offset": 0,
    "jax_high_dynamic_range_gumbel": False,
    "jax_default_matmul_precision": None,
}


@functools.cache
def versions(compute: Callable[..., Any]) -> dict[str, str]:
    """The versions that the result of `compute` depends on; `sources` is a hash of the code."""
    return {**_installed(), "sources": sources(compute)[:12]}


@functools.cache
def _installed() -> dict[str, str]:
    installed = {"python": platform.python_version()}
    installed |= {name: version(name) for name in PACKAGES}
    return {name: present for name, present in installed.items() if present != NOT_INSTALLED}


@contextlib.contextmanager
def computing(dtype: str) -> Iterator[None]:
    """Compute, judge and draw in one precision and with the user's cache of compiled programs.

    Both are restored on leaving.
    """
    with compilation_cache(), in_precision(dtype):
        yield


@contextlib.contextmanager
def in_precision(dtype: str) -> Iterator[None]:
    """JAX computes in this precision and with the `FIXED` settings; the previous ones are restored on leaving."""
    import jax

    wanted = {"jax_enable_x64": dtype == "float64", **FIXED}
    with concurrent.futures.ThreadPoolExecutor(1) as aside:  # jax.enable_x64 of the caller affects this thread only
        before = aside.submit(_settings, wanted).result()
    try:
        for name, value in wanted.items():
            jax.config.update(name, value)
        for name, value in _settings(wanted).items():
            if value != wanted[name]:
                raise InputError(
                    f"a context of JAX keeps {name} = {value!r}, and {wanted[name]!r} is needed; leave it first."
                )
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


def _settings(names: Iterable[str]) -> dict[str, Any]:
    """The values of settings of JAX in this thread."""
    import jax

    return {name: getattr(jax.config, name) for name in names}


@contextlib.contextmanager
def heirs() -> Iterator[None]:
    """Processes started within this context compute bit-equal results.

    The numbers of devices and of threads decide the order of additions. So workers divide the cells among them, but
    each worker uses all cores.
    """
    import jax

    values = {name.upper(): getattr(jax.config, name) for name in INHERITED}
    # Equinox reads this variable once, on import; unset means "raise".
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
def compilation_cache() -> Iterator[None]:
    """Keep compiled programs in the user's cache folder, for other workers and later runs.

    They are machine code. In the run folder, which one gives to colleagues, they would run with the rights of others.
    """
    if "jax" not in sys.modules:  # JAX reads the variable on import
        # On every program it reloads, XLA's loader reports as errors two tuning hints that it does not recognise as
        # features of the host. Real failures reach Python as exceptions.
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if "equinox" not in sys.modules:  # Equinox reads the variable on import
        # JAX does not cache a program that may call Python to raise an error. With "nan" an error within a solve gives
        # NaN, which ends the run with a message and makes every claim fail.
        os.environ.setdefault("EQX_ON_ERROR", "nan")
    import jax
    from jax.experimental.compilation_cache import compilation_cache as cache

    options = {
        "jax_compilation_cache_dir": _programs(),
        "jax_persistent_cache_min_compile_time_secs": 0.2,
    }
    before = {name: getattr(jax.config, name) for name in options}
    try:
        for name, value in options.items():
            jax.config.update(name, value)
        cache.reset_cache()  # JAX reads the name of the folder once
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        cache.reset_cache()


def _programs() -> str | None:
    """Where they are kept; nowhere, if the folder cannot be written, or if others can."""
    try:
        folder = private_folder("programs")
    except (OSError, RuntimeError):  # there may be no home
        return None
    _forget(folder)
    return str(folder / f"{version('jaxlib')}-{_processor()}")


def _forget(folder: Path) -> None:
    """Delete the oldest programs, where all of them take more than `MOST_BYTES`."""
    kept = []
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # another process deletes, too
            if path.is_file():
                kept.append((path.stat().st_mtime, path.stat().st_size, path))
    excess = sum(size for _, size, _ in kept) - MOST_BYTES
    for _, size, path in sorted(kept):
        if excess <= 0:
            break
        with contextlib.suppress(OSError):
            path.unlink()
        excess -= size


def _processor() -> str:
    """A name for this kind of processor: machine code of one may be illegal on another that shares the home folder."""
    try:
        with open("/proc/cpuinfo") as f:
            features = next((line for line in f if line.startswith(("flags", "Features"))), "")
    except OSError:
        features = platform.processor()
    return f"{platform.machine()}-{hashlib.sha256(features.encode()).hexdigest()[:8]}"
