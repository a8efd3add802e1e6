"""Writing files so that a reader sees the old one or the new one, never half of one; and reading JSON."""

import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from .errors import FileError, InputError, shown

Read = TypeVar("Read")


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


def read_json(path: str | os.PathLike, build: Callable[[Any], Read], what: str, written_by: str = "`save`") -> Read:
    """What `build` makes of the JSON in a file; `what` says in a refusal what it should have been."""
    try:
        text = path_of(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError:
        raise InputError(f"{path} is no JSON text; give a file written by {written_by}.") from None
    return parse_json(text, build, what, str(path), f"give a file written by {written_by}")


def parse_json(text: str, build: Callable[[Any], Read], what: str, source: str, remedy: str) -> Read:
    """What `build` makes of a JSON text."""
    return parsed(lambda: build(json.loads(text, parse_constant=_no_number)), what, source, remedy)


def parsed(build: Callable[[], Read], what: str, source: str, remedy: str) -> Read:
    """What `build` makes of foreign data; anything that goes wrong on the way is the data's fault."""
    try:
        return build()
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        why = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"{source} is no {what} ({why}); {remedy}.") from None


def check_format(record: Any, wanted: str) -> None:
    """Refuse, while a file is parsed, a record of another kind."""
    if not isinstance(record, dict) or record.get("format") != wanted:
        found = shown(record.get("format")) if isinstance(record, dict) else shown(record)
        raise ValueError(f"its format is {found}, not {wanted!r}")


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def cache_folder() -> Path:
    """Where fetched data and models are kept: `ATTNFLOW_CACHE`, or the user's cache folder."""
    named = os.environ.get("ATTNFLOW_CACHE")
    if named:
        return Path(named).expanduser()
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "attnflow"


def private_folder(name: str) -> Path:
    """A folder in the cache for programs that are loaded again: the user's alone, or they are refused.

    Machine code runs with the user's rights, and so may not be what somebody else has written.
    """
    folder = cache_folder() / name
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not is_private(folder):
        raise PermissionError(f"others may write to {folder}")
    return folder


def is_private(path: Path) -> bool:
    """Whether it is there, and the user alone can write to it."""
    if not path.exists():
        return False
    status = path.stat()
    mine = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return mine and not status.st_mode & 0o022
