"""GGUF: facts about a model (with its tokenizer), a table of tensors, then their numbers, often quantised.

Reference: the format is specified with ggml. Arrays have the shape that PyTorch gives them: GGUF lists axes in reverse.
"""

import math
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...files import parsed
from .quantised import BLOCK_TYPES, BlockType
from .tensors import MAX_NDIM, Stored, Tensors, mapped, shape_of

WHOLE = {0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 10: "<u8", 11: "<i8"}
NUMBERS = {**WHOLE, 6: "<f4", 7: "?", 12: "<f8"}
TEXT, ARRAY = 8, 9
LARGEST_HEADER = 64 * 2**20
"""Bytes; the tokenizers of large models take ten million."""


class Gguf(NamedTuple):
    """What a GGUF file holds."""

    facts: dict[str, Any]
    tensors: Tensors


def read_gguf(path: Path) -> Gguf:
    """Facts and tensors; counts and sizes that cannot be are refused before memory is taken for them."""
    data = mapped(path)
    return parsed(lambda: _gguf(data), "GGUF file", str(path), "fetch it again")


class _Reader:
    """Reads from the start of a file; every length is compared with what is left before anything is read."""

    def __init__(self, data: np.ndarray):
        self.data, self.at = data[:LARGEST_HEADER], 0

    def take(self, size: int) -> bytes:
        return self.bytes(size).tobytes()

    def bytes(self, size: int) -> np.ndarray:
        self.needs(size, 1)
        self.at += size
        return self.data[self.at - size : self.at]

    def needs(self, count: int, each: int) -> None:
        left = len(self.data) - self.at
        if count * each > left:
            raise ValueError(f"at byte {self.at:,} it claims {count:,} entries, and {left:,} bytes of header are left")

    def number(self, kind: str) -> Any:
        (value,) = np.frombuffer(self.take(np.dtype(kind).itemsize), kind)
        return value.item()

    def text(self) -> str:
        return self.take(self.number("<u8")).decode(errors="replace")

    def value(self) -> Any:
        return self.of_type(self.number("<u4"))

    def of_type(self, kind: int) -> Any:
        if kind == TEXT:
            return self.text()
        if kind == ARRAY:
            return self.array()
        if kind not in NUMBERS:
            raise ValueError(f"it has a value of type {kind}, which GGUF does not know")
        if NUMBERS[kind] == "?":
            return self.number("<u1") != 0
        return self.number(NUMBERS[kind])

    def array(self) -> Any:
        kind, count = self.number("<u4"), self.number("<u8")
        if kind == TEXT:
            self.needs(count, 8)
            return [self.text() for _ in range(count)]
        if kind not in NUMBERS:
            raise ValueError(f"it has a list of values of type {kind}, which is not read")
        size = np.dtype(NUMBERS[kind]).itemsize
        self.needs(count, size)
        raw = self.bytes(count * size)
        return (raw != 0) if NUMBERS[kind] == "?" else np.frombuffer(raw, NUMBERS[kind])


def _gguf(data: np.ndarray) -> Gguf:
    reader = _Reader(data)
    if reader.take(4) != b"GGUF":
        raise ValueError("it does not begin with the letters GGUF")
    version = reader.number("<u4")
    if version not in (2, 3):
        raise ValueError(f"it has version {version}, and 2 and 3 are read")
    tensors, facts = reader.number("<u8"), reader.number("<u8")
    reader.needs(facts, 13)
    reader.needs(tensors, 24)
    known = dict(_fact(reader) for _ in range(facts))
    table = [_entry(reader) for _ in range(tensors)]
    alignment = known.get("general.alignment", 32)
    if type(alignment) is not int or not 1 <= alignment <= 2**16 or alignment & (alignment - 1):
        raise ValueError("its alignment is no power of two")
    start = -(-reader.at // alignment) * alignment
    _check_apart(table)
    return Gguf(known, Tensors(dict(_stored(data, start, *entry) for entry in table)))


def _fact(reader: _Reader) -> tuple[str, Any]:
    return reader.text(), reader.value()


def _entry(reader: _Reader) -> tuple[str, tuple[int, ...], BlockType, int]:
    name, axes = reader.text(), reader.number("<u4")
    if axes > MAX_NDIM:
        raise ValueError(f"tensor {name[:80]!r} claims {axes:,} axes")
    shape = shape_of([reader.number("<u8") for _ in range(axes)][::-1], name[:80])
    kind, offset = reader.number("<u4"), reader.number("<u8")
    if kind not in BLOCK_TYPES:
        known = ", ".join(block.name for block in BLOCK_TYPES.values())
        raise ValueError(f"tensor {name[:80]!r} has numbers of type {kind} of ggml; those read are {known}")
    return name, shape, BLOCK_TYPES[kind], offset


def _check_apart(table: list[tuple[str, tuple[int, ...], BlockType, int]]) -> None:
    """Refuse two tensors of one name, or in one place: few bytes would be many tensors."""
    if len({name for name, *_ in table}) < len(table):
        raise ValueError("it has the name of a tensor twice")
    at = 0
    for name, shape, block, offset in sorted(table, key=lambda entry: entry[3]):
        if offset < at:
            raise ValueError(f"tensor {name[:80]!r} overlaps another")
        at = offset + math.prod(shape) // block.numbers * block.bytes


def _stored(
    data: np.ndarray, start: int, name: str, shape: tuple[int, ...], block: BlockType, offset: int
) -> tuple[str, Stored]:
    count = math.prod(shape)
    if (shape[-1] if shape else 1) % block.numbers:
        raise ValueError(f"tensor {name[:80]!r} has rows of {shape[-1]} numbers, not a multiple of {block.numbers}")
    size = count // block.numbers * block.bytes
    begin = start + offset
    if begin + size > len(data):
        ends = f"ends at byte {begin + size:,}, and the file at {len(data):,}"
        raise ValueError(f"tensor {name[:80]!r} {ends}; it was cut short")
    return name, Stored(block.name, shape, partial(_read, data, begin, size, shape, block))


def _read(data: np.ndarray, at: int, size: int, shape: tuple[int, ...], block: BlockType) -> np.ndarray:
    return block.read(data[at : at + size].reshape(-1, block.bytes)).reshape(shape)
