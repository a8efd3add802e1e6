"""The contents of the library, as data: attention maps, models, initial laws, experiments, engines, schemes.

A module in one of the rooms below that defines an `Entry` (or an `Experiment`, an engine, a scheme) is found by walking
the package on demand; other distributions add theirs through an entry point whose group is the room's dotted name, for
example

    [project.entry-points."attnflow.attention"]
    cosine = "my_package.cosine:ENTRY"

Property tests select entries by their symmetries; command-line flags and documentation are generated from `Param`.
"""

import functools
import importlib
import importlib.metadata
import math
import os
import pkgutil
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .errors import AttnflowWarning, InputError, shown

__all__ = ["ROOMS", "Entry", "Param", "entries", "get"]

Kind = Literal["attention", "model", "law", "experiment", "pair-sum engine", "trajectory engine", "scheme"]

ROOMS: dict[Kind, str] = {
    "attention": "attnflow.attention",
    "model": "attnflow.models",
    "law": "attnflow.spaces",
    "experiment": "attnflow.experiments",
    "pair-sum engine": "attnflow.pairsums.engines",
    "trajectory engine": "attnflow.flows.engines",
    "scheme": "attnflow.flows.schemes",
}


@dataclass(frozen=True)
class Param:
    """One parameter of an entry: its default, range, scale of a slider, symbol in formulas, and a line of help."""

    default: float | int | bool
    bounds: tuple[float | int, float | int] | None = None
    scale: Literal["linear", "log"] = "linear"
    symbol: str = ""
    help: str = ""

    def __post_init__(self):
        if not isinstance(self.default, int | float) or not math.isfinite(self.default):
            raise InputError(f"default = {shown(self.default)} should be a finite number, True or False.")
        pair = isinstance(self.bounds, tuple) and len(self.bounds) == 2
        if self.bounds is not None and not (pair and self.bounds[0] <= self.default <= self.bounds[1]):
            raise InputError(f"bounds = {shown(self.bounds)} should be two numbers around {self.default!r}, or None.")

    @property
    def type(self) -> type:
        return type(self.default)

    def check(self, name: str, value: Any) -> Any:
        """`value` as this parameter's type: refused if it is of another kind, or outside the bounds.

        A whole number may be written `2.0`; nothing else is converted (`bool("false")` is true, and `int(2.7)` is 2).
        """
        # Numbers of NumPy and JAX are taken for what they hold.
        plain = value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value
        if not self._fits(plain):
            word = {bool: "true or false", int: "a whole number"}.get(self.type, "a number")
            shown = repr(plain) if isinstance(plain, (str, int, float)) else repr(value)
            raise InputError(f"{name} = {shown} should be {word}.")
        value = plain
        if self.bounds is not None and not self.bounds[0] <= value <= self.bounds[1]:
            low, high = self.bounds
            raise InputError(f"{name} = {value:g} is outside [{low:g}, {high:g}]; choose a value in that range.")
        return self.type(value)

    def _fits(self, value: Any) -> bool:
        if self.type is bool or isinstance(value, bool):
            return self.type is bool and isinstance(value, bool)
        if not isinstance(value, (int, float)) or math.isnan(value):
            return False
        if math.isinf(value):
            return self.bounds is not None  # the check of the bounds refuses it and gives the range
        return self.type is float or value == int(value)


@dataclass(frozen=True)
class Entry:
    """A built-in or third-party attention map, model or initial law.

    - `factory(**params)` makes the object.
    - `spaces`: names of the spaces it lives on.
    - `symmetries`: which of `"permutation"`, `"rotation"`, `"splitting"` (of a token's weight) its dynamics has.
    - `monotone`: `"increasing"` or `"decreasing"` if its declared energy is so along the flow on the sphere.
    - `closed_form`: `"module:function"` in `attnflow.reductions` that predicts it exactly from some initial state.
    - `papers`: keys for `attnflow cite`.
    - `needs`: settings without which it makes no sense, such as the number of tokens it was built for.
    - `page`: whether `attnflow explore` can step it; a model that brings its own steps it cannot.
    """

    kind: Kind
    name: str
    factory: Callable[..., Any]
    summary: str
    params: Mapping[str, Param] = field(default_factory=dict)
    spaces: tuple[str, ...] = ("sphere", "euclidean")
    symmetries: frozenset[str] = frozenset()
    monotone: Literal["increasing", "decreasing"] | None = None
    closed_form: str | None = None
    papers: tuple[str, ...] = ()
    needs: Mapping[str, str | int] = field(default_factory=dict)
    page: bool = True

    def __post_init__(self):
        if self.kind not in ROOMS or not callable(self.factory):
            known = ", ".join(ROOMS)
            raise InputError(f"an entry is one of {known} with a function that makes it; got {shown(self.kind)}.")
        if not isinstance(self.page, bool):
            raise InputError(f"page = {shown(self.page)} should be True or False.")

    def build(self, **values: Any) -> Any:
        """Make the object from checked parameter values; the others take their defaults."""
        unknown = sorted(set(values) - set(self.params))
        if unknown:
            known = ", ".join(self.params) or "none"
            raise InputError(f"{self.kind} {self.name!r} has no parameter {unknown[0]!r}; it has: {known}.")
        checked = {k: p.check(k, values.get(k, p.default)) for k, p in self.params.items()}
        return self.factory(**checked)


def entries(kind: Any) -> dict[str, Any]:
    """All entries of a kind, built-in and third-party, by name (experiments: by id), in alphabetical order."""
    if not isinstance(kind, str) or kind not in ROOMS:
        raise InputError(f"kind {kind!r} is unknown; there are: {', '.join(ROOMS)}.")
    room = ROOMS[kind]
    known: dict[str, Any] = {}
    for module in _walk(room, kind):
        known.update(_named(vars(module).values(), kind))
    for point in _plugins(room, installed()):
        try:
            loaded = point.load()
        except Exception as error:  # a broken plugin must not take the library down
            warnings.warn(f"plugin {point.name!r} ({point.value}) could not be loaded: {error}", AttnflowWarning, 2)
            continue
        known.update(_named([loaded, *vars(loaded).values()] if hasattr(loaded, "__dict__") else [loaded], kind))
    return dict(sorted(known.items()))


def get(kind: Any, name: Any) -> Any:
    """The entry of that name, or one sentence saying which names there are."""
    known = entries(kind)
    if not isinstance(name, str) or name not in known:
        raise InputError(f"{kind} {name!r} is unknown; there are: {', '.join(known)}.")
    return known[name]


@functools.lru_cache(64)
def _plugins(room: str, installed: object) -> tuple[importlib.metadata.EntryPoint, ...]:
    # It reads the metadata of everything installed, 5 ms, and a state of the page needs it ten times: once is enough.
    return tuple(importlib.metadata.entry_points(group=room))


def installed() -> tuple[tuple[str, int], ...]:
    """The search path and when each folder changed: another tuple when something has been installed."""
    return tuple((str(p), os.stat(p).st_mtime_ns if os.path.isdir(p) else 0) for p in sys.path)


def _walk(package: str, kind: Kind):
    root = importlib.import_module(package)
    yield root
    for info in pkgutil.iter_modules(root.__path__, f"{package}."):
        if info.name.rpartition(".")[2].startswith("_"):  # helpers, which have no entries
            continue
        module = importlib.import_module(info.name)
        if info.ispkg and not _named(vars(module).values(), kind):  # the folder of an experiment holds its parts
            yield from _walk(info.name, kind)
        else:
            yield module


def _named(objects, kind: Kind) -> dict[str, Any]:
    # Recognised by what they carry, not by class: importing Experiment here would pull in xarray for `--help`.
    return {o.name: o for o in objects if not isinstance(o, type) and getattr(o, "kind", None) == kind}
