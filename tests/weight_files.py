"""Small files of weights, written from the descriptions of their formats, and not by the library."""

import collections
import io
import json
import pickle
import struct
import sys
import types
import zipfile

import numpy as np

STORAGES = {"f4": "FloatStorage", "f8": "DoubleStorage", "f2": "HalfStorage", "i8": "LongStorage", "b1": "BoolStorage"}
NAMES = {"f4": "F32", "f8": "F64", "f2": "F16", "i8": "I64", "b1": "BOOL", "i4": "I32"}


def safetensors(tensors, change=None):
    """A safetensors file; `change` spoils its header before it is written."""
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name, array in tensors.items():
        raw = np.ascontiguousarray(array).tobytes()
        kind = NAMES[array.dtype.str[1:]]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    if change is not None:
        change(header)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


class _Tensor:
    def __init__(self, key, array, storage=None):
        self.key, self.array, self.storage = key, array, array if storage is None else storage


class _Storage:
    def __init__(self, key, array):
        self.key, self.array = key, array


class _Pickler(pickle.Pickler):
    """Pickles as torch does, with stand-ins for its functions: only their names are in the file."""

    def __init__(self, stream, old):
        super().__init__(stream, protocol=2)
        self.old = old

    def reducer_override(self, value):
        if isinstance(value, _Tensor):
            stride = tuple(s // value.array.itemsize for s in value.array.strides)
            start = value.array.__array_interface__["data"][0] - value.storage.__array_interface__["data"][0]
            storage = _Storage(value.key, value.storage)
            shape = (storage, start // value.array.itemsize, value.array.shape, stride, False)
            return sys.modules["torch._utils"]._rebuild_tensor_v2, (*shape, collections.OrderedDict())
        return NotImplemented

    def persistent_id(self, value):
        if isinstance(value, _Storage):
            kind = getattr(sys.modules["torch"], STORAGES[value.array.dtype.str[1:]])
            return ("storage", kind, value.key, "cpu", value.array.size, *([None] if self.old else []))
        return None


def _with_names(write):
    """With modules called torch and torch._utils, so that pickle can write the names of what is in them."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for name in STORAGES.values():
        setattr(torch, name, type(name, (), {"__module__": "torch"}))

    def rebuild(*arguments):
        raise AssertionError("a reader called it")

    rebuild.__module__, rebuild.__qualname__, rebuild.__name__ = "torch._utils", *["_rebuild_tensor_v2"] * 2
    utils._rebuild_tensor_v2 = rebuild  # pyright: ignore[reportAttributeAccessIssue]
    before = {name: sys.modules.pop(name, None) for name in ("torch", "torch._utils")}
    sys.modules |= {"torch": torch, "torch._utils": utils}
    try:
        return write()
    finally:
        for name, module in before.items():
            sys.modules.pop(name)
            if module is not None:
                sys.modules[name] = module


def torch_pickle(value, old=False):
    """The pickle of a dictionary of arrays, as torch writes it."""

    def write():
        stream = io.BytesIO()
        numbered = enumerate(value.items())
        named = collections.OrderedDict((name, _Tensor(str(i), a, a.base)) for i, (name, a) in numbered)
        _Pickler(stream, old).dump(named)
        return stream.getvalue()

    return _with_names(write)


def torch_zip(tensors, pickled=None, compression=zipfile.ZIP_STORED):
    """A file of torch.save of today."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        archive.writestr("archive/data.pkl", torch_pickle(tensors) if pickled is None else pickled)
        archive.writestr("archive/byteorder", "little")
        for i, array in enumerate(tensors.values()):
            archive.writestr(f"archive/data/{i}", _storage(array))
        archive.writestr("archive/version", "3\n")
    return out.getvalue()


def torch_stream(tensors, pickled=None):
    """A file of torch.save before 2020."""
    machine = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    out = b"".join(pickle.dumps(v, protocol=2) for v in (0x1950A86A20F9469CFC6C, 1001, machine))
    out += torch_pickle(tensors, old=True) if pickled is None else pickled
    out += pickle.dumps([str(i) for i in range(len(tensors))], protocol=2)
    for array in tensors.values():
        raw = _storage(array)
        out += struct.pack("<q", len(raw) // array.itemsize) + raw
    return out


def _storage(array):
    return (array if array.base is None else array.base).tobytes()


class Raw:
    """Bytes of a tensor of GGUF as they are in the file, its shape as PyTorch gives it, the number of its type."""

    def __init__(self, kind, shape, data):
        self.kind, self.shape, self.data = kind, shape, data


def gguf(facts, tensors, *, version=3, count=None, alignment=32):
    """A GGUF file. `tensors`: arrays in float32, or `Raw`; `count`: how many it claims to have."""
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors) if count is None else count, len(facts))
    for name, value in facts.items():
        out += _text(name) + _value(value)
    body = b""
    for name, tensor in tensors.items():
        kind, raw = (tensor.kind, tensor.data) if isinstance(tensor, Raw) else (0, tensor.astype("<f4").tobytes())
        shape = tensor.shape
        body += b"\0" * (-len(body) % alignment)
        out += _text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape[::-1])
        out += struct.pack("<IQ", kind, len(body))
        body += raw
    return out + b"\0" * (-len(out) % alignment) + body


def _text(text):
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value):
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    if value and isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
    return struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)
