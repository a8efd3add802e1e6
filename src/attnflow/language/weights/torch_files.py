"""Files that `torch.save` wrote: a zip archive with a pickle and raw numbers, or before 2020 one stream of both.

Nothing of torch is needed, and nothing a file names is called (`pickled.py`).
"""

import io
import math
import zipfile
import zlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...files import parsed
from .pickled import PickledTensor, Storage, unpickle
from .safetensors import TYPES
from .tensors import Stored, Tensors, bfloat16, mapped

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
LARGEST_PICKLE = 8 * 2**20
"""Bytes; room for fifty thousand tensors. Objects in memory take many times the size of their pickle."""

SHARED = 4
"""How many times the bytes of a file its tensors may take."""

LOCAL_HEADER = 30
REMEDY = "fetch it again, or give the weights as safetensors"


class Place(NamedTuple):
    """Where the numbers of a storage are in the file: the first byte, and how many bytes."""

    at: int
    size: int


def read_torch(path: Path) -> Tensors:
    """The tensors of a PyTorch file, old or new; one with anything else in it is refused."""
    data = mapped(path)
    read = _from_zip if data[:4].tobytes() == b"PK\x03\x04" else _from_stream
    return parsed(lambda: read(path, data), "PyTorch file of tensors", str(path), REMEDY)


def _from_zip(path: Path, data: np.ndarray) -> Tensors:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, OSError) as error:
        raise ValueError(str(error)) from None
    pickles = [name for name in entries if name.endswith("data.pkl")]
    if len(pickles) != 1:
        raise ValueError(f"it holds {len(pickles)} files data.pkl, and one is needed")
    root = pickles[0].removesuffix("data.pkl")
    order = entries.get(f"{root}byteorder")
    if order is not None and _content(data, order).tobytes() != b"little":
        raise ValueError("its numbers are big-endian")
    stream = _content(data, entries[pickles[0]])
    if len(stream) > LARGEST_PICKLE:
        raise ValueError(f"its pickle has {len(stream):,} bytes, and at most {LARGEST_PICKLE:,} are read")
    found = _state(unpickle(io.BytesIO(stream.tobytes())))

    def place(storage: Storage) -> Place:
        numbers = _content(data, entries[f"{root}data/{storage.key}"])
        return Place(_start(data, numbers), len(numbers))

    return _tensors(data, found, {t.storage.key: place(t.storage) for t in found.values()})


def _start(data: np.ndarray, part: np.ndarray) -> int:
    return part.__array_interface__["data"][0] - data.__array_interface__["data"][0]


def _content(data: np.ndarray, entry: zipfile.ZipInfo) -> np.ndarray:
    """The bytes of a file in the archive where they lie: torch compresses nothing."""
    if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1 or entry.file_size != entry.compress_size:
        raise ValueError(f"{entry.filename[:80]} in it is compressed or encrypted, which torch.save never does")
    header = data[entry.header_offset : entry.header_offset + LOCAL_HEADER].tobytes()
    if len(header) < LOCAL_HEADER or header[:4] != b"PK\x03\x04":
        raise ValueError(f"{entry.filename[:80]} is not where its table of contents says")
    name, extra = (int.from_bytes(header[k : k + 2], "little") for k in (26, 28))
    begin = entry.header_offset + LOCAL_HEADER + name + extra
    if begin + entry.file_size > len(data):
        raise ValueError(f"{entry.filename[:80]} goes beyond the end; it was cut short")
    return data[begin : begin + entry.file_size]


def _from_stream(path: Path, data: np.ndarray) -> Tensors:
    """The old format: five pickles (a mark, a version, a machine, the tensors, keys of storages), then the storages."""
    stream = io.BytesIO(data[:LARGEST_PICKLE].tobytes())
    if unpickle(stream) != MAGIC or unpickle(stream) != PROTOCOL:
        raise ValueError("it does not begin as torch.save begins")
    machine = unpickle(stream)
    if not isinstance(machine, dict) or machine.get("little_endian") is not True:
        raise ValueError("its numbers are big-endian")
    found = _state(unpickle(stream))
    keys = unpickle(stream)
    if not isinstance(keys, list) or any(type(key) is not str for key in keys) or len(set(keys)) < len(keys):
        raise ValueError("it does not list its storages")
    types = {t.storage.key: t.storage for t in found.values()}
    places, at = {}, stream.tell()
    for key in keys:
        if key not in types:
            raise ValueError(f"it has a storage {str(key)[:40]!r} of which no tensor is known")
        numel = int.from_bytes(data[at : at + 8].tobytes(), "little")
        places[key] = Place(at + 8, numel * np.dtype(TYPES[types[key].dtype]).itemsize)
        at += 8 + places[key].size
        if at > len(data):
            raise ValueError(f"its storages need {at:,} bytes, and {len(data):,} are there; it was cut short")
    return _tensors(data, found, places)


def _state(value: Any) -> dict[str, PickledTensor]:
    """The tensors of a state dictionary, or of one that is an entry of another."""
    if isinstance(value, Mapping) and isinstance(value.get("state_dict"), Mapping):
        value = value["state_dict"]
    if not isinstance(value, Mapping):
        raise ValueError("it holds no dictionary of tensors")
    found = {str(name): tensor for name, tensor in value.items() if isinstance(tensor, PickledTensor)}
    if not found:
        raise ValueError("it holds no tensor")
    return found


def _tensors(data: np.ndarray, found: Mapping[str, PickledTensor], places: Mapping[str, Place]) -> Tensors:
    stored, asked = {}, 0
    for name, tensor in found.items():
        place = places[tensor.storage.key]
        if place.size < tensor.storage.numel * np.dtype(TYPES[tensor.storage.dtype]).itemsize:
            raise ValueError(f"the storage of {name!r} is cut short")
        asked += math.prod(tensor.shape) * np.dtype(TYPES[tensor.storage.dtype]).itemsize
        stored[name] = Stored(tensor.storage.dtype, tensor.shape, partial(_read, data, tensor, place.at))
    # Tied weights share a storage; a small file of which thousands of tensors are views would fill the memory.
    if asked > SHARED * len(data):
        raise ValueError(f"its tensors take {asked:,} bytes, and the file has {len(data):,}")
    return Tensors(stored)


def _read(data: np.ndarray, tensor: PickledTensor, at: int) -> np.ndarray:
    kind = np.dtype(TYPES[tensor.storage.dtype])
    begin = at + tensor.offset * kind.itemsize
    extent = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride, strict=True))
    if not math.prod(tensor.shape):
        return np.zeros(tensor.shape, kind)
    flat = np.frombuffer(data, kind, count=extent, offset=begin)
    array = np.lib.stride_tricks.as_strided(
        flat, tensor.shape, [s * kind.itemsize for s in tensor.stride], writeable=False
    )
    if tensor.storage.dtype == "BF16":
        return bfloat16(array)
    return array != 0 if tensor.storage.dtype == "BOOL" else array
