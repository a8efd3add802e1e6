"""Named arrays in files, read when they are asked for and not before."""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import FileError

MAX_NDIM = 8
"""More axes than any tensor of a transformer has."""


class Stored(NamedTuple):
    """One tensor in a file: the name of its type there, its shape, and how to read it."""

    dtype: str
    shape: tuple[int, ...]
    read: Callable[[], np.ndarray]


class Tensors(Mapping[str, np.ndarray]):
    """A mapping from names to arrays; each is read from its memory-mapped file when it is asked for.

    Numbers in float16, float32, float64 and whole numbers are views of the file, which cannot be written to; bfloat16
    and quantised numbers, for which NumPy has no type, become float32. `shapes` and `dtypes` are what the file says of
    the arrays, without reading any.
    """

    def __init__(self, stored: Mapping[str, Stored]):
        self._stored = dict(stored)

    def __getitem__(self, name: str) -> np.ndarray:
        return self._stored[name].read()

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)

    def __repr__(self) -> str:
        return f"Tensors({len(self)} arrays, {self.numbers:,} numbers)"

    @property
    def stored(self) -> Mapping[str, Stored]:
        """What is known of each array without reading it."""
        return self._stored

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every array."""
        return {name: entry.shape for name, entry in self._stored.items()}

    @property
    def dtypes(self) -> dict[str, str]:
        """The type of every array, as its file names it."""
        return {name: entry.dtype for name, entry in self._stored.items()}

    @property
    def numbers(self) -> int:
        """How many numbers there are in all."""
        return sum(math.prod(entry.shape) for entry in self._stored.values())


def mapped(path: Path) -> np.ndarray:
    """The bytes of a file, memory-mapped, which cannot be written to."""
    try:
        if path.stat().st_size == 0:
            raise FileError(f"{path} is empty; fetch it again.")
        return np.memmap(path, np.uint8, mode="r").view(np.ndarray)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error


def shape_of(sizes: object, name: str) -> tuple[int, ...]:
    """A shape as a file states it; anything but a few whole numbers is a `ValueError`."""
    if not isinstance(sizes, list | tuple) or len(sizes) > MAX_NDIM:
        raise ValueError(f"tensor {name!r} has no shape of at most {MAX_NDIM} axes")
    for size in sizes:
        if type(size) is not int or not 0 <= size < 2**48:
            raise ValueError(f"tensor {name!r} has a shape that is not made of whole numbers")
    return tuple(sizes)


def bfloat16(bits: np.ndarray) -> np.ndarray:
    """float32 of the same value: bfloat16 is its upper half."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
