"""The pickles of PyTorch files, read by a machine that can build numbers, text, lists, dictionaries and tensors.

Python's own unpickler calls whatever a pickle names. Nothing is called here: `pickletools` of the standard library
takes a pickle apart into operations, those that data need are carried out, and any other is refused by name.
"""

import io
import math
import pickletools
import warnings
from typing import Any, NamedTuple

from .tensors import shape_of

STORAGES = {  # class of torch: the type of its numbers
    "DoubleStorage": "F64",
    "FloatStorage": "F32",
    "HalfStorage": "F16",
    "BFloat16Storage": "BF16",
    "LongStorage": "I64",
    "IntStorage": "I32",
    "ShortStorage": "I16",
    "CharStorage": "I8",
    "ByteStorage": "U8",
    "BoolStorage": "BOOL",
}
REBUILT = {"_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_parameter"}


class Named(NamedTuple):
    """A class or function that a pickle names: its name alone, never the thing."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"[:100]


ORDERED = Named("collections", "OrderedDict")


class Storage(NamedTuple):
    """Where numbers lie: the key of a storage, the type of its numbers, how many there are."""

    key: str
    dtype: str
    numel: int


class PickledTensor(NamedTuple):
    """A tensor as a view of a storage."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


def unpickle(stream: io.BytesIO) -> Any:
    """The value of the pickle that begins here; the stream then stands at its end. Anything wrong is a `ValueError`."""
    machine = _Machine()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of strange escapes in old text, which is no text of ours
        for operation, argument, _ in pickletools.genops(stream):
            if operation.name == "STOP":
                break
            machine.carry_out(operation.name, argument)
    return machine.pop()


class _Mark:
    """Where on the stack a group of values begins."""


MARK = _Mark()
PUSHED = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING"),
    *("BINBYTES", "SHORT_BINBYTES"),
}
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "MARK": MARK}
EMPTY = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class _Machine:
    """The stack and the memo of a pickle. The memo is a dictionary: an index of 2^32 costs as much as an index of 1."""

    def __init__(self):
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def pop(self) -> Any:
        return self.stack.pop()

    def group(self) -> list[Any]:
        """What was pushed since the last mark."""
        for at in range(len(self.stack) - 1, -1, -1):
            if self.stack[at] is MARK:
                values, self.stack[at:] = self.stack[at + 1 :], []
                return values
        raise ValueError("its pickle closes a group that was never opened")

    def carry_out(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in PUSHED:
            stack.append(argument)
        elif name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name in EMPTY:
            stack.append(EMPTY[name]())
        elif name in TUPLES:
            values = [stack.pop() for _ in range(TUPLES[name])]
            stack.append(tuple(values[::-1]))
        elif name == "TUPLE":
            stack.append(tuple(self.group()))
        elif name == "LIST":
            stack.append(self.group())
        elif name == "DICT":
            stack.append(_with_items({}, self.group()))
        elif name in ("APPEND", "APPENDS"):
            values = [stack.pop()] if name == "APPEND" else self.group()
            _of_type(stack[-1], list).extend(values)
        elif name in ("SETITEM", "SETITEMS"):
            values = [stack.pop(), stack.pop()][::-1] if name == "SETITEM" else self.group()
            _with_items(stack[-1], values)
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            self.memo[int(argument)] = stack[-1]
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(self.memo[int(argument)])
        elif name == "GLOBAL":
            module, _, thing = argument.partition(" ")
            stack.append(_known(Named(module, thing)))
        elif name == "STACK_GLOBAL":
            thing, module = (_of_type(stack.pop(), str) for _ in range(2))
            stack.append(_known(Named(module, thing)))
        elif name == "REDUCE":
            arguments, thing = stack.pop(), stack.pop()
            stack.append(_built(thing, _of_type(arguments, tuple)))
        elif name == "BINPERSID":
            stack.append(_storage(stack.pop()))
        elif name == "BUILD":  # attributes of an ordered dictionary; the keys are all that is wanted
            stack.pop()
            _of_type(stack[-1], dict)
        elif name not in ("PROTO", "FRAME"):
            raise ValueError(f"its pickle has the operation {name}, which no tensor needs")


def _of_type(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ValueError(f"its pickle treats a {type(value).__name__} as a {kind.__name__}")
    return value


def _with_items(target: Any, values: list[Any]) -> dict[Any, Any]:
    _of_type(target, dict)
    if len(values) % 2:
        raise ValueError("its pickle has a key without a value")
    for key, value in zip(values[::2], values[1::2], strict=True):
        # The hash of nested tuples can take for ever.
        if not isinstance(key, str | int):
            raise ValueError(f"its pickle has a {type(key).__name__} as a key")
        target[key] = value
    return target


def _known(thing: Named) -> Named:
    tensors = thing.module == "torch._utils" and thing.name in REBUILT
    if tensors or thing == ORDERED or (thing.module == "torch" and thing.name in STORAGES):
        return thing
    raise ValueError(f"its pickle names {thing}, and nothing but tensors is read from a pickle")


def _built(thing: Any, arguments: tuple[Any, ...]) -> Any:
    if thing == ORDERED and not arguments:
        return {}
    if not isinstance(thing, Named) or thing.name not in REBUILT:
        # The text of nested tuples can take for ever, too.
        named = thing if isinstance(thing, Named) else f"a {type(thing).__name__}"
        raise ValueError(f"its pickle calls {named}, and nothing is called")
    if thing.name == "_rebuild_parameter":
        return _of_type(arguments[0], PickledTensor)
    storage, offset, sizes, strides = arguments[:4]
    _of_type(storage, Storage)
    shape, stride = shape_of(sizes, storage.key), shape_of(strides, storage.key)
    if type(offset) is not int or offset < 0 or len(stride) != len(shape):
        raise ValueError("a tensor has an offset or strides that make no sense")
    count = math.prod(shape)
    last = offset + sum((n - 1) * s for n, s in zip(shape, stride, strict=True)) if count else -1
    # A stride of zero could make any number of entries from one.
    if last >= storage.numel or count > storage.numel:
        raise ValueError(f"a tensor of shape {shape} does not fit in its storage of {storage.numel:,} numbers")
    return PickledTensor(storage, offset, shape, stride)


def _storage(about: Any) -> Storage:
    """A storage as torch describes it: ("storage", its class, its key, the device it was on, its size, view)."""
    kind, storage, key, _, numel, *view = _of_type(about, tuple)
    if kind != "storage" or type(storage) is not Named or storage.name not in STORAGES or any(view):
        raise ValueError("its pickle has a reference to something other than a storage of numbers")
    (numel,) = shape_of((numel,), _of_type(key, str))
    return Storage(key, STORAGES[storage.name], numel)
