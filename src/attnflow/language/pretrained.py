"""A real model ready to run: its layers as a model of the library, and its tokenizer."""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError, shown
from ..models import LayerStack
from ..models.families import from_tensors
from .weights import Encoded, ModelFiles, open_model


@dataclasses.dataclass(frozen=True, eq=False)
class Pretrained:
    """The layers of a model, `model`, with the files they were read from, `files`.

    albert = af.language.load("rxnmapper")
    tokens = albert.encode("CCO>>CC=O")
    run = af.simulate(albert.model, albert.embed(tokens), solver="layers")
    """

    model: LayerStack
    files: ModelFiles
    changes: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __repr__(self) -> str:
        changed = "".join(f", {name}={value!r}" for name, value in self.changes.items())
        return f"Pretrained({self.files.name!r}, {self.files.family}, {self.model.depth} layers{changed})"

    @property
    def longest(self) -> int | None:
        """How many tokens its table of positions has; `None` where positions are rotations."""
        embedding = self.model.embedding
        return None if embedding is None or embedding.positions is None else len(embedding.positions)

    def encode(self, text: str) -> Encoded:
        """The tokens of a text."""
        return self.files.tokenizer.encode(text)

    def embed(self, tokens: Encoded | np.ndarray | Sequence[int]) -> Any:
        """The tokens before the first layer, `(n, d)`."""
        return self.model.embed(tokens.ids if isinstance(tokens, Encoded) else tokens)


def load(model: str | os.PathLike | ModelFiles, *, dtype: str = "float32", **changes: Any) -> Pretrained:
    """Read a model: a name of `attnflow models list`, a folder as Hugging Face lays it out, or a GGUF file.

    **Arguments:** `dtype`, float32 or float64; `changes`, interventions: `normalization="sphere"` puts tokens on the
    sphere in place of LayerNorm, `values="identity"` freezes V, `beta=3` scales every score, `layers=[5] * 500` says
    which layers run (see `models.LayerStack.changed`).
    """
    unknown = sorted(set(changes) - {"normalization", "values", "beta", "layers"})
    if unknown:
        raise InputError(f"{unknown[0]} = {shown(changes[unknown[0]])} is no intervention; see models.LayerStack.")
    files = model if isinstance(model, ModelFiles) else open_model(model)
    return Pretrained(from_tensors(files.config, files.tensors, dtype=dtype, **changes), files, changes)
