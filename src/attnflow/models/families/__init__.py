"""Families of pretrained transformers, made of `Block`s from a configuration and named tensors, as files hold them."""

from ._families import from_tensors as from_tensors
from ._families import names as names

# Public names of this room.
__all__ = ["from_tensors", "names"]
