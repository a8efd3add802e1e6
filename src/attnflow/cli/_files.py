"""Checks of an output path before any work is done."""

from pathlib import Path

from ..errors import FileError


def refuse_to_overwrite(path: Path, force: bool) -> None:
    """Refuse an existing file unless `force`, and a path that cannot be written."""
    if path.is_dir():
        raise FileError(f"{path} is a folder; give the name of a file.")
    if path.exists() and not force:
        raise FileError(f"{path} is already there; choose another --out, or add --force to overwrite it.")
    parent = next(p for p in path.absolute().parents if p.exists())
    if not parent.is_dir():
        raise FileError(f"cannot write {path}: {parent} is not a folder.")
