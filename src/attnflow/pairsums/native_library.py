"""The kernel for this processor (`pair_sums.cc`): compiled when it is first used, kept, and made known to XLA.

It needs a C++ compiler: the one that `CXX` names, or the first of `COMPILERS` on the path. The library is kept in the
cache folder, by source, compiler, release of XLA and processor. `ATTNFLOW_NATIVE=off` in the environment turns it off.
"""

import contextlib
import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import NamedTuple

import jax

from ..files import is_private, private_folder
from ..versions import version

SOURCE = Path(__file__).with_name("pair_sums.cc")
PAIR_SUMS, TRAJECTORIES = "attnflow_pair_sums", "attnflow_trajectories"  # what it has
FLAGS = (
    *("-std=c++17", "-O3", "-march=native", "-shared", "-fPIC", "-fno-exceptions", "-fno-rtti"),
    *("-fno-math-errno", "-fno-trapping-math"),  # a square root of vectors sets no error number
)
COMPILERS = ("c++", "g++", "clang++")
PATIENCE = 120  # seconds that a compiler may take; it takes two or three


class Native(NamedTuple):
    """Whether there is a kernel for this processor, and a sentence that says why, or why not."""

    ready: bool
    reason: str


_one_at_a_time = threading.Lock()


def native() -> Native:
    """Find the kernel, or compile it, and make it known to XLA; once in a process."""
    with _one_at_a_time:  # or several threads would compile it
        return _native()


@functools.cache
def _native() -> Native:
    if os.environ.get("ATTNFLOW_NATIVE", "").lower() in ("off", "0", "no", "false"):
        return Native(False, "turned off by ATTNFLOW_NATIVE")
    if jax.default_backend() != "cpu":
        return Native(False, "a GPU has kernels of its own")
    compiler = _compiler()
    if compiler is None:
        return Native(False, "no C++ compiler was found; install one (g++ or clang++), or name it in CXX")
    try:
        library, where = _library(compiler)
        for name in (PAIR_SUMS, TRAJECTORIES):
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform="cpu")
    except Exception as error:  # whatever the error is, other engines do the work
        return Native(False, f"{compiler[0]} did not make them: {_reason(error)}")
    return Native(True, f"compiled by {compiler[0]} ({where})")


def _compiler() -> list[str] | None:
    try:
        named = shlex.split(os.environ.get("CXX", ""))
    except ValueError:  # an open quotation
        return None
    if named:
        return named if shutil.which(named[0]) else None
    return next(([name] for name in COMPILERS if shutil.which(name)), None)


def _library(compiler: list[str]) -> tuple[ctypes.CDLL, str]:
    """The kernel of this source, compiler, release of XLA and processor, and where it is; made if it is not there."""
    command = [*compiler, *FLAGS, f"-I{jax.ffi.include_dir()}"]
    inputs = (SOURCE.read_bytes(), repr((command, version("jaxlib"), _processor())).encode())
    name = f"pair_sums-{hashlib.sha256(b''.join(inputs)).hexdigest()[:16]}.so"
    try:
        kept = private_folder("native") / name
        if is_private(kept):
            with contextlib.suppress(OSError):  # half a file, after a crash: it is made again
                return ctypes.CDLL(str(kept)), str(kept)
        with tempfile.TemporaryDirectory(dir=kept.parent) as workshop:  # others see the whole file or none
            os.replace(_built(command, Path(workshop) / name), kept)
        return ctypes.CDLL(str(kept)), str(kept)
    except (OSError, RuntimeError):  # no file can be written or loaded there, or there is no home folder
        with tempfile.TemporaryDirectory(prefix="attnflow-") as workshop:  # once it is loaded its file may go
            return ctypes.CDLL(str(_built(command, Path(workshop) / name))), "not kept"


def _built(command: list[str], path: Path) -> Path:
    subprocess.run(
        [*command, str(SOURCE), "-o", str(path)],
        check=True,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PATIENCE,
    )
    path.chmod(0o700)  # whatever the user's files are by default: what a group may write is not loaded again
    return path


def _reason(error: Exception) -> str:
    """The reason of an error, in a line."""
    words = str(error)
    if isinstance(error, subprocess.CalledProcessError):
        words = f"{error.stderr}\nit ended with status {error.returncode}"
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[0] if lines else repr(error))


def _processor() -> str:
    """The key of a processor: machines with other instructions may share a home folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        return f"{platform.machine()} {platform.processor()} {platform.node()}"
