"""safetensors: the size of a header, the header in JSON, and the bytes of all tensors one after the other."""

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...files import parsed
from .tensors import Stored, Tensors, bfloat16, mapped, shape_of

LARGEST_HEADER = 16 * 2**20
"""Bytes; room for a hundred thousand tensors. JSON takes many times its size when it is parsed."""

TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "u1",
    "BOOL": "u1",
}


def read_safetensors(path: Path) -> Tensors:
    """The tensors of one file; a header that lies is refused before any is read."""
    data = mapped(path)
    return parsed(lambda: _tensors(data), "safetensors file", str(path), "fetch it again")


def _tensors(data: np.ndarray) -> Tensors:
    if len(data) < 8:
        raise ValueError(f"it ends after {len(data)} bytes")
    size = int.from_bytes(data[:8].tobytes(), "little")
    if size > LARGEST_HEADER:
        raise ValueError(f"its header claims {size:,} bytes, and at most {LARGEST_HEADER:,} are read")
    if 8 + size > len(data):
        raise ValueError(f"its header claims {size:,} bytes, and {len(data) - 8:,} are there")
    header = json.loads(data[8 : 8 + size].tobytes().decode(), object_pairs_hook=_no_name_twice)
    if not isinstance(header, dict):
        raise ValueError("its header is not a JSON object")
    header.pop("__metadata__", None)
    body = data[8 + size :]
    entries = {name: _entry(name, about) for name, about in header.items()}
    _check_layout({name: (begin, end) for name, (_, _, begin, end) in entries.items()}, len(body))
    return Tensors(
        {
            name: Stored(dtype, shape, partial(_read, body[begin:end], dtype, shape))
            for name, (dtype, shape, begin, end) in entries.items()
        }
    )


def _no_name_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("its header has a name twice")
    return made


def _entry(name: str, about: Any) -> tuple[str, tuple[int, ...], int, int]:
    """Type, shape, first byte and end of a tensor."""
    dtype, offsets = about["dtype"], about["data_offsets"]
    if not isinstance(dtype, str) or dtype not in TYPES:
        raise ValueError(f"tensor {name!r} has type {str(dtype)[:40]!r}; known are {', '.join(TYPES)}")
    shape = shape_of(about["shape"], name)
    begin, end = shape_of(offsets, name)
    needed = math.prod(shape) * np.dtype(TYPES[dtype]).itemsize
    if end - begin != needed:
        raise ValueError(f"tensor {name!r} of shape {shape} needs {needed:,} bytes, and has {end - begin:,}")
    return dtype, shape, begin, end


def _check_layout(ranges: dict[str, tuple[int, int]], size: int) -> None:
    """Tensors follow each other without overlap or gap, from the first byte to the last, as the format demands."""
    at = 0
    for name, (begin, end) in sorted(ranges.items(), key=lambda item: item[1]):
        if begin != at:
            raise ValueError(f"tensor {name!r} {'overlaps another' if begin < at else 'leaves a gap before it'}")
        at = end
    if at != size:
        raise ValueError(f"its tensors take {at:,} bytes, and {size:,} are there")


def _read(data: np.ndarray, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    array = np.frombuffer(data, TYPES[dtype]).reshape(shape)
    if dtype == "BF16":
        return bfloat16(array)
    return array != 0 if dtype == "BOOL" else array
