"""One hash of the code that a cell depends on: after an edit no old cell may be used.

The hash covers every source file of attnflow except those of `UNHASHED` rooms and, for an experiment of another
package, every source file of that package. It is not finer, because the imports of a file do not show all the code that
a computation runs: an edited claim costs a computation, but a stale cell would cost a wrong verdict. An experiment that
reads other data puts their version or hash into its cells.
"""

import functools
import hashlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import InputError

PACKAGE = Path(__file__).parents[1]
UNHASHED = ("app", "cli", "plot", "report")  # these rooms only display results
CODE = frozenset({".py", ".pyx", ".c", ".cc", ".cpp", ".cu", ".h", ".so", ".pyd"})

_Stamp = tuple[tuple[str, int, int], ...]


def sources(compute: Callable[..., Any]) -> str:
    """The hash of the code behind `compute`, as it was when this process first hashed it."""
    return _hashed(_roots(compute))[0]


def sources_changed(compute: Callable[..., Any]) -> bool:
    """Whether a file was edited after `sources` hashed it: results of this process then belong to neither hash."""
    roots = _roots(compute)
    return _hashed(roots)[1] != _stamp(roots)


@functools.cache
def _hashed(roots: tuple[Path, ...]) -> tuple[str, _Stamp]:
    stamp, digest = _stamp(roots), hashlib.sha256()
    for root in roots:
        for path in _files(root):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{path.relative_to(root.parent).as_posix()} {content}\n".encode())
    return digest.hexdigest(), stamp


def _stamp(roots: tuple[Path, ...]) -> _Stamp:
    """Names, sizes and times of change: much cheaper than the contents, and enough to detect an edit."""
    files = ((path, path.stat()) for root in roots for path in _files(root))
    return tuple((str(path), status.st_size, status.st_mtime_ns) for path, status in files)


def _files(root: Path) -> Iterator[Path]:
    """The source files below `root` (or `root` itself), in alphabetical order."""
    if root.is_file():
        yield root
    for folder, below, names in os.walk(root):
        skipped = UNHASHED if Path(folder) == PACKAGE else ()
        below[:] = sorted(name for name in below if name not in skipped and not name.startswith((".", "__pycache__")))
        yield from (Path(folder, name) for name in sorted(names) if Path(name).suffix in CODE)


def _roots(compute: Callable[..., Any]) -> tuple[Path, ...]:
    """The folder of attnflow, and the package (or the single file) that defines `compute`."""
    compute = inspect.unwrap(compute)
    while isinstance(compute, functools.partial):
        compute = inspect.unwrap(compute.func)
    own = _outermost(compute.__module__)
    return (PACKAGE,) if own.is_relative_to(PACKAGE) else (PACKAGE, own)


def _outermost(name: str) -> Path:
    """The folder of the outermost package that holds this module, or the file of a module outside any package."""
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):  # a namespace package has no file, and may hold the packages of many
        module = sys.modules.get(".".join(parts[:depth]))
        if isinstance(module, ModuleType) and getattr(module, "__file__", None):
            file = Path(str(module.__file__))
            return file.parent if hasattr(module, "__path__") else file
    raise InputError(f"{name} has no source file, so no edit could be noticed; define the experiment in a module.")
