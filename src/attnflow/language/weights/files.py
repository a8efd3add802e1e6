"""A model on disk: its config, its tensors, its tokenizer."""

import contextlib
import hashlib
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ...errors import FileError, InputError, shown
from ...files import path_of
from .gguf import read_gguf
from .hub import inside, read_config, read_weights
from .llama_gguf import llama_of
from .packages import MODELS, located
from .tensors import Tensors
from .tokenizer import Tokenizer, read_tokenizer, tokenizer_of_gguf

SIGNS = {
    "albert": "albert_layer_groups.",
    "bert": "encoder.layer.0.attention.self.",
    "gpt2": "h.0.attn.c_attn.",
    "llama": "layers.0.self_attn.",
}
"""Part of the name of a tensor that only this family has."""

HASHED = (".json", ".safetensors", ".bin", ".gguf", ".txt")


class ModelFiles:
    """What a folder (or a GGUF file) says of a model: `config` as in config.json, `tensors` by name, read when they
    are asked for, and `tokenizer`."""

    def __init__(
        self, path: Path, config: Mapping[str, Any], tensors: Tensors, tokenizer: Callable[[], Tokenizer], name: str
    ):
        self.path, self.tensors, self.name = path, tensors, name
        # Configs before 2020 name no family; names of tensors do.
        known = {"model_type": kind} if (kind := _family(tensors)) else {}
        self.config = {**known, **config}
        self._tokenizer = tokenizer

    def __repr__(self) -> str:
        return f"ModelFiles({self.name!r}, {self.family}, {self.tensors.numbers:,} numbers)"

    @property
    def family(self) -> str:
        """The family of the model: `albert`, `bert`, `gpt2`, `llama`, or another that config.json names."""
        kind = self.config.get("model_type")
        return kind if isinstance(kind, str) else "unknown"

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Its tokenizer, built when it is first asked for: that may need the package `tokenizers`."""
        return self._tokenizer()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the files: what results were computed from."""
        files = [self.path] if self.path.is_file() else _hashed(self.path)
        total = hashlib.sha256()
        try:
            for file in files:
                with file.open("rb") as stream:
                    total.update(f"{file.name}\0".encode())
                    total.update(hashlib.file_digest(stream, "sha256").digest())
        except OSError as error:
            raise FileError(f"cannot read {self.path}: {error.strerror or error}.") from error
        return total.hexdigest()


def _hashed(folder: Path) -> list[Path]:
    """The files of a folder that a model is read from, in the order of their names; links out of it are none."""
    found = []
    for name in sorted(path.name for path in folder.iterdir() if path.suffix in HASHED):
        with contextlib.suppress(FileError):
            found.append(inside(folder, name))
    return [path for path in found if path is not None]


def _family(tensors: Tensors) -> str | None:
    return next((family for family, part in SIGNS.items() if any(part in name for name in tensors)), None)


def open_model(model: str | os.PathLike) -> ModelFiles:
    """The files of a model: a name of `attnflow models list`, a folder as Hugging Face lays it out, or a GGUF file.

    Nothing in these files is executed, and weights are memory-mapped: opening costs little, however large they are.
    """
    if isinstance(model, str) and model in MODELS:
        return _opened(located(model), model)
    path = path_of(model).expanduser()
    try:
        there = path.exists()
    except OSError as error:
        raise FileError(f"cannot read {shown(str(path))}: {error.strerror or error}.") from error
    if not there:
        raise FileError(
            f"model {shown(os.fspath(model))} is neither a folder or file nor one of {', '.join(MODELS)}; "
            "attnflow models list shows what can be fetched."
        )
    return _opened(path, path.name or str(path))


def _opened(path: Path, name: str) -> ModelFiles:
    if path.is_dir():
        inner = sorted(path.glob("*.gguf"))
        if (path / "config.json").exists() or not inner:
            config = read_config(path)
            return ModelFiles(path, config, read_weights(path), lambda: read_tokenizer(path), name)
        if len(inner) > 1:
            raise InputError(f"{path} holds {len(inner)} .gguf files; name one of them.")
        path = inside(path, inner[0].name) or inner[0]
    if path.suffix != ".gguf":
        raise InputError(f"{path} is no .gguf file; give one, or the folder that holds config.json and the weights.")
    read = read_gguf(path)
    config, tensors = llama_of(path, read)
    return ModelFiles(path, config, tensors, lambda: tokenizer_of_gguf(path, read.facts), name)
