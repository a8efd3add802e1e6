"""A model as Hugging Face lays it out in a folder: config.json, weights in one file or in several, a tokenizer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import FileError, InputError
from ...files import parse_json
from .safetensors import read_safetensors
from .tensors import Tensors
from .torch_files import read_torch

LARGEST_JSON = 64 * 2**20
LARGEST_CONFIG = 2**20
"""Bytes. Objects in memory take many times the size of their JSON."""

WEIGHTS: dict[str, Callable[[Path], Tensors]] = {
    "model.safetensors": read_safetensors,
    "pytorch_model.bin": read_torch,
}
"""Names of weights in one file; in several, an index of that name and `.index.json` says which tensor is where."""


def inside(folder: Path, name: str) -> Path | None:
    """The file of that name in a folder, or None; a link that leads out of it is refused.

    Hugging Face's own cache keeps a model as links into a folder `blobs` beside it: those are followed.
    """
    path = folder / name
    if not path.exists():
        return None
    root, target = folder.resolve(), path.resolve()
    blobs = root.parent.parent / "blobs" if root.parent.name == "snapshots" else None
    if not target.is_relative_to(root) and not (blobs and target.is_relative_to(blobs)):
        raise FileError(f"{path} is a link that leads out of its folder; put the file itself there.")
    if not target.is_file():
        raise FileError(f"{path} is no file; a file is wanted there.")
    return path


def read_object(path: Path, what: str, largest: int = LARGEST_JSON) -> dict[str, Any]:
    """The JSON object in a file."""
    return parse_json(text_of(path, what, largest), _object, what, str(path), "fetch it again")


def text_of(path: Path, what: str, largest: int = LARGEST_JSON) -> str:
    """The text of a file of reasonable size."""
    try:
        if path.stat().st_size > largest:
            raise InputError(f"{path} has {path.stat().st_size:,} bytes, which is too much for a {what}.")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path} is no {what}: it is not text in UTF-8; fetch it again.") from None
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    return value


def read_config(folder: Path) -> dict[str, Any]:
    """The facts of config.json."""
    path = inside(folder, "config.json")
    if path is None:
        raise FileError(f"{folder} has no config.json; give a folder as Hugging Face lays it out, or a .gguf file.")
    return read_object(path, "config.json of a model", LARGEST_CONFIG)


def read_weights(folder: Path) -> Tensors:
    """The tensors of a folder, in whichever format they are."""
    for name, read in WEIGHTS.items():
        if path := inside(folder, name):
            return read(path)
        if index := inside(folder, f"{name}.index.json"):
            return _sharded(folder, index, read)
    listed = ", ".join(f"{name} or {name}.index.json" for name in WEIGHTS)
    raise FileError(f"{folder} has no weights ({listed}); give a folder with one of them, or a .gguf file.")


def _sharded(folder: Path, index: Path, read: Callable[[Path], Tensors]) -> Tensors:
    """The tensors of several files, each from the file that the index names."""
    places = parse_json(
        text_of(index, "index of weights"),
        lambda value: {str(k): _plain(v) for k, v in value["weight_map"].items()},
        "index of weights",
        str(index),
        "fetch it again",
    )
    stored = {}
    for name in sorted(set(places.values())):
        path = inside(folder, name)
        if path is None:
            raise FileError(f"{index} names {name}, which is not there; fetch it.")
        shard = read(path).stored
        missing = [tensor for tensor, place in places.items() if place == name and tensor not in shard]
        if missing:
            raise InputError(f"{index} says that {missing[0]} is in {name}, and it is not; fetch both again.")
        stored |= {tensor: entry for tensor, entry in shard.items() if places.get(tensor) == name}
    return Tensors(stored)


def _plain(name: Any) -> str:
    """The name of a file in the same folder."""
    if not isinstance(name, str) or Path(name).name != name or name in ("", ".", "..") or "\\" in name:
        raise ValueError(f"{json.dumps(name)[:80]} is no name of a file beside it")
    return name
