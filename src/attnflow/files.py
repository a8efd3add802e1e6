"""Writing files so that a reader sees the old one or the new one, never half of one."""

import os
import secrets
from pathlib import Path
from typing import Any

from .errors import FileError, InputError, shown


def path_of(path: Any) -> Path:
    """A path as users give it: text or a path-like object."""
    try:
        text = os.fspath(path)
        if isinstance(text, str) and text and "\0" not in text:
            return Path(text)
    except TypeError:
        pass
    raise InputError(f"path = {shown(path)} is no path; give the name of a file.")


def write_atomically(path: str | os.PathLike, data: bytes | str) -> Path:
    """Write `data` beside `path` under a temporary name, then rename it into place.

    Any failure (no permission, disk full) removes the temporary file and is reported in one sentence; what stood at
    `path` before is untouched. Two processes may write the same path at once: the last rename wins, whole.
    """
    path = path_of(path)
    if isinstance(data, str):
        data = data.encode()
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
        with open(beside, "xb") as f:  # with the permissions of any new file of the user's
            temporary = beside
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}; nothing was left behind.") from error
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
    return path


def cache_folder() -> Path:
    """Where fetched data and models are kept: `ATTNFLOW_CACHE`, or the user's cache folder."""
    named = os.environ.get("ATTNFLOW_CACHE")
    if named:
        return Path(named).expanduser()
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "attnflow"
