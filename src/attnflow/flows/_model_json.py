"""Models as data: a module to JSON and arrays, and back, without pickle.

Only classes of the library and of registered plugins are ever made, each through its own constructor, so a file can
add values and nothing else. (By convention every constructor takes its fields by keyword.)
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from .. import attention, models, pairsums, spaces
from ..errors import FileError
from ..registry import entries


class NotStorable(Exception):
    """The object holds something that cannot be stored, such as a Python function."""


def encode(value: Any, arrays: dict[str, Any], known: dict[str, type] | None = None) -> Any:
    """JSON for a module, scalar, array or nothing; arrays go to `arrays` under a name that stands in the JSON."""
    known = known_classes() if known is None else known
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if eqx.is_array(value):
        name = f"parameter_{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, (tuple, list)):
        return {"tuple": [encode(v, arrays, known) for v in value]}
    if isinstance(value, eqx.Module) and known.get(_name(type(value))) is type(value):
        fields = {f.name: encode(getattr(value, f.name), arrays, known) for f in dataclasses.fields(value)}
        return {"type": _name(type(value)), "fields": fields}
    raise NotStorable(type(value).__name__)


def decode(spec: Any, arrays: dict[str, Any], known: dict[str, type] | None = None) -> Any:
    """The inverse of `encode`."""
    known = known_classes() if known is None else known
    if not isinstance(spec, dict):
        return spec
    if "array" in spec:
        return jnp.asarray(arrays[spec["array"]])
    if "tuple" in spec:
        return tuple(decode(v, arrays, known) for v in spec["tuple"])
    if spec["type"] not in known:
        raise FileError(f"the file needs {spec['type']!r}, which is not installed here; install its plugin.")
    return known[spec["type"]](**{k: decode(v, arrays, known) for k, v in spec["fields"].items()})


def known_classes() -> dict[str, type]:
    """Every class a file may name, by its full name."""
    own = [vars(room).values() for room in (models, pairsums, attention, spaces)]
    registered = [e.factory for kind in ("attention", "model") for e in entries(kind).values()]
    candidates = [c for room in own for c in room] + registered
    return {_name(c): c for c in candidates if isinstance(c, type) and issubclass(c, eqx.Module)}


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
