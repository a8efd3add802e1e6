"""What a part of a schedule can do: move points, move them back, and say by how much it expands volume."""

import abc
import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from ...errors import InputError, shown
from ...files import write_atomically
from ...spaces import Numbers
from ._json import from_text, read, written
from ._tiles import Moved, in_tiles
from .checked import points

if TYPE_CHECKING:
    from .relu_piece import ReluPiece


P = TypeVar("P", bound="AbstractPiece")


class AbstractPiece(abc.ABC):
    """A part of a schedule: a flow for a time `duration`, known in closed form.

    A piece gives `carry_tile` and `inverted`; the rest follows. `count` is the number of elementary neurons it stands
    for, and `expand` lists them.
    """

    kind: ClassVar[str]  # its name in files

    @property
    @abc.abstractmethod
    def d(self) -> int:
        """The dimension of points."""

    @property
    @abc.abstractmethod
    def count(self) -> int:
        """How many pieces of constant weights this is."""

    @property
    @abc.abstractmethod
    def duration(self) -> float:
        """The time it takes."""

    @property
    @abc.abstractmethod
    def inverted(self) -> "AbstractPiece":
        """The piece that brings points back."""

    @abc.abstractmethod
    def carry_tile(self, x: np.ndarray) -> Moved:
        """What `carry` gives, for a few thousand points of float64 at most."""

    @abc.abstractmethod
    def expand(self) -> "tuple[ReluPiece, ...]":
        """The neurons, first to last."""

    @property
    @abc.abstractmethod
    def log_det_range(self) -> tuple[float, float]:
        """Two numbers between which `log_det` lies everywhere."""

    @abc.abstractmethod
    def until(self, t: float | int) -> "tuple[AbstractPiece, ...]":
        """What it does until a time `0 <= t <= duration` after it started: whole neurons, and a part of one."""

    def carry(self, x: Numbers) -> Moved:
        """The images of points `(n, d)`, and the log determinants there: `forward` and `log_det` in one."""
        return self._carry("x", x)

    def forward(self, x: Numbers) -> np.ndarray:
        """The images of points `(n, d)`."""
        return self.carry(x).x

    def inverse(self, y: Numbers) -> np.ndarray:
        """The points `(n, d)` whose images these are."""
        return self.inverted._carry("y", y).x

    def log_det(self, x: Numbers) -> np.ndarray:
        r"""$\log|\det D\Phi(x)|$ at points `(n, d)`."""
        return self.carry(x).log_det

    def _carry(self, name: str, x: Numbers) -> Moved:
        given = points(name, x, self.d)
        moved = in_tiles(self.carry_tile, given)
        if not (known := np.isfinite(moved.x)).all():
            k = int(np.argmin(known.all(axis=1)))
            raise InputError(f"{name}[{k}] = {shown(given[k].tolist())} is moved beyond the range of float64.")
        return moved

    def to_json(self) -> str:
        """The piece as JSON, to the last digit."""
        return written(self)

    def save(self, path: str | os.PathLike) -> Path:
        """Write the piece as JSON, to the last digit; `load` reads it back."""
        return write_atomically(path, written(self))

    @classmethod
    def from_json(cls: type[P], text: str) -> P:
        """The piece that `to_json` wrote; other texts are refused in a sentence."""
        return _of_kind(cls, from_text(text, _kinds()))

    @classmethod
    def load(cls: type[P], path: str | os.PathLike) -> P:
        """The piece that `save` wrote; other files are refused in a sentence."""
        return _of_kind(cls, read(path, _kinds()))

    def __eq__(self, other: Any) -> bool:
        return type(other) is type(self) and all(map(_same, _values(self), _values(other)))

    __hash__ = None  # type: ignore[assignment]  # arrays have none


def _values(piece: AbstractPiece) -> list[Any]:
    return [getattr(piece, field.name) for field in dataclasses.fields(piece)]  # type: ignore[arg-type]


def _same(mine: Any, other: Any) -> bool:
    return np.array_equal(mine, other) if isinstance(mine, np.ndarray) else mine == other


def _kinds() -> dict[str, type[AbstractPiece]]:
    """The pieces of this library by their names in files; a file can make no others."""
    return {one.kind: one for one in AbstractPiece.__subclasses__() if one.__module__.rpartition(".")[0] == __package__}


def _of_kind(cls: type[P], piece: AbstractPiece) -> P:
    if not isinstance(piece, cls):
        raise InputError(f"this is a {type(piece).__name__} and no {cls.__name__}; load it as what it is.")
    return piece
