"""The code a cell depends on, as one hash: an edit of it must never be answered from an old cell.

That is every source file of attnflow except those that only show (`UNSEEN`) and, for an experiment of another package,
every source file of that package. No finer: what a computation reaches is not told by the imports of its file, and a
claim or a figure in a hashed file costs a computation where a stale cell would cost a wrong verdict. Data that an
experiment reads from elsewhere belong into its cells, as a version or a hash.
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
UNSEEN = ("app", "cli", "plot", "report")  # rooms of attnflow that show results and compute none
CODE = frozenset({".py", ".pyx", ".c", ".cc", ".cpp", ".cu", ".h", ".so", ".pyd"})

_Stamp = tuple[tuple[str, int, int], ...]


def sources(compute: Callable[..., Any]) -> str:
    """The hash of the code behind `compute`, as it was when this process first asked."""
    return _hashed(_roots(compute))[0]


def sources_changed(compute: Callable[..., Any]) -> bool:
    """Whether a file has been edited since: what this process then computes belongs to neither hash."""
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
    """Names, sizes and times: a thousand times cheaper than the contents, and enough to notice an edit."""
    files = ((path, path.stat()) for root in roots for path in _files(root))
    return tuple((str(path), status.st_size, status.st_mtime_ns) for path, status in files)


def _files(root: Path) -> Iterator[Path]:
    """The source files below `root` (or `root` itself), in alphabetical order."""
    if root.is_file():
        yield root
    for folder, below, names in os.walk(root):
        hidden = UNSEEN if Path(folder) == PACKAGE else ()
        below[:] = sorted(name for name in below if name not in hidden and not name.startswith((".", "__pycache__")))
        yield from (Path(folder, name) for name in sorted(names) if Path(name).suffix in CODE)


def _roots(compute: Callable[..., Any]) -> tuple[Path, ...]:
    """Where the code lies: attnflow, and the package (or the one file) that `compute` comes from."""
    compute = inspect.unwrap(compute)
    while isinstance(compute, functools.partial):
        compute = inspect.unwrap(compute.func)
    own = _outermost(compute.__module__)
    return (PACKAGE,) if own.is_relative_to(PACKAGE) else (PACKAGE, own)


def _outermost(name: str) -> Path:
    """The folder of the outermost package that holds this module, or the module's file where it is in none."""
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):  # a namespace package has no file, and may hold the packages of many
        module = sys.modules.get(".".join(parts[:depth]))
        if isinstance(module, ModuleType) and getattr(module, "__file__", None):
            file = Path(str(module.__file__))
            return file.parent if hasattr(module, "__path__") else file
    raise InputError(f"{name} has no source file, so no edit could be noticed; define the experiment in a module.")
