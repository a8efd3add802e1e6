"""A row of the table: a public name, a valid small call, and the relations that hold for it."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import attnflow as af

# Relations of a function of points: each is declared, or named in `without`.
GEOMETRIC = ("permutation", "rotation", "translation", "scale", "splitting")

Expected = Callable[[Any, Any], Any]


def arguments(**arguments: Any) -> Callable[[], Mapping[str, Any]]:
    """Arguments that are cheap to make."""
    return lambda: arguments


def same(out: Any, how: Any) -> Any:
    """The result does not change."""
    return out


def rows_permuted(out: Any, order: Any) -> Any:
    """One row for each token."""
    return out[..., order, :]


def entries_permuted(out: Any, order: Any) -> Any:
    """One number for each token."""
    return out[..., order]


def both_permuted(out: Any, order: Any) -> Any:
    """One number for each pair of tokens."""
    return out[..., order, :][..., :, order]


def turned(out: Any, rotation: Any) -> Any:
    """Vectors turn with the tokens."""
    return out @ rotation.T


def shifted(out: Any, vector: Any) -> Any:
    """Points move with the tokens."""
    return out + vector


def first_rows(out: Any, n: int) -> Any:
    """Rows of the tokens that were there before one of them was split."""
    return out[..., :n, :]


def first_entries(out: Any, n: int) -> Any:
    """Entries of the tokens that were there before one of them was split."""
    return out[..., :n]


@dataclass(frozen=True)
class Row:
    """What is public under `name` (a dotted path below `attnflow`); `case` tells rows of one name apart."""

    name: str
    case: str = field(default="", kw_only=True)

    @property
    def label(self) -> str:
        return f"{self.name}[{self.case}]" if self.case else self.name

    @property
    def object(self) -> Any:
        return lookup(self.name)


@dataclass(frozen=True)
class Call(Row):
    """A valid small call `name(**arguments())`, and what must hold for it.

    Arguments that are NumPy arrays of floats, and plain numbers, are replaced by bad ones in the relations `nonfinite`
    and `junk`, one at a time. Everything else (models, spaces, text, functions) is replaced by text in `junk`.

    - `read`: the numbers of the result that the other relations compare, by default all of them.
    - `elementwise`: arguments that may have any shape, the empty one too.
    - `traced`: arguments of type float or array for which the call works inside `jit`, `vmap`, `grad` and `jvp`.
      `differentiable=False` leaves out the last two (a reason stands in `without`).
    - `points`: the arguments that hold points and move together, such as `("x", "y")`; `weights`: that of the masses of
      the first of them, if there is one. Then, how the result changes when points are permuted (the first argument and
      its weights), rotated, translated, scaled (the degree of homogeneity), or when the weight of a point is split.
      `scales`: the factors tried, as powers of ten.
    - `run`: the argument that takes a `Run` in place of an array.
    - `tolerance`, `float32_tolerance`: relative to the largest number of the result.
    - `without`: a relation, or `relation:argument`, or `relation:argument:kind`, and why it does not apply.
    """

    arguments: Callable[[], Mapping[str, Any]] = dict
    read: Callable[[Any], Any] | None = None
    elementwise: tuple[str, ...] = ()
    traced: tuple[str, ...] = ()
    differentiable: bool = True
    points: tuple[str, ...] = ()
    weights: str = ""
    permutation: Expected | None = None
    rotation: Expected | None = None
    translation: Expected | None = None
    scale: float | None = None
    scales: tuple[float, float] = (-150, 150)
    splitting: Expected | None = None
    run: str = ""
    tolerance: float = 1e-10
    float32_tolerance: float = 1e-3
    without: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self):
        for relation, reason in self.without.items():
            assert len(reason) > 10, f"{self.label}: say why {relation} does not apply"
        if self.points:
            for relation in GEOMETRIC:
                declared = getattr(self, relation) is not None
                assert declared != (relation in self.without), f"{self.label}: declare {relation}, or say why not"
        assert bool(self.traced) != ("jit" in self.without), (
            f"{self.label}: name traced arguments, or say why not (jit)"
        )
        assert self.differentiable or "grad" in self.without, f"{self.label}: say why there is no derivative (grad)"

    def applies(self, relation: str, *more: str) -> bool:
        """Whether a relation, of an argument, of a kind of bad value, is not switched off."""
        keys = [":".join((relation, *more[:k])) for k in range(len(more) + 1)]
        return not any(key in self.without for key in keys)

    def __call__(self, **changed: Any) -> Any:
        return self.object(**{**self.arguments(), **changed})

    def numbers(self, **changed: Any) -> Any:
        """What the relations compare."""
        out = self(**changed)
        return out if self.read is None else self.read(out)

    @cached_property
    def result(self) -> Any:
        """The result of the call as it stands, which every relation compares with: computed once."""
        return self()

    @cached_property
    def unchanged(self) -> Any:
        """The numbers of that result."""
        return self.result if self.read is None else self.read(self.result)


@dataclass(frozen=True)
class ResultOf(Row):
    """A class whose objects the library makes, not users: the result of another row's call, `part` of it if given."""

    row: str = ""
    part: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Abstract(Row):
    """A class to derive from: it cannot be made itself."""


@dataclass(frozen=True)
class Constant(Row):
    """Data, an enumeration or an error class: nothing to call; `reason` says what it is."""

    reason: str = ""


def lookup(name: str) -> Any:
    """The object under a dotted path below `attnflow`."""
    thing: Any = af
    for part in name.split("."):
        try:
            thing = getattr(thing, part)
        except AttributeError:
            thing = importlib.import_module(f"{thing.__name__}.{part}")
    return thing
