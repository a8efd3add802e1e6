"""What a part of a schedule can do: move points, move them back, and say by how much it expands volume."""

import abc
import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...spaces import Numbers
from ._checked import points

if TYPE_CHECKING:
    from .relu_piece import ReluPiece


class Moved(NamedTuple):
    r"""Points after a map, `x (n, d)`, and $\log|\det|$ of its Jacobian where each came from, `log_det (n,)`."""

    x: np.ndarray
    log_det: np.ndarray


class AbstractPiece(abc.ABC):
    """A part of a schedule: a flow for a time `duration`, known in closed form.

    A piece gives `carry` and `inverted`; the rest follows. `count` is the number of elementary neurons it stands for,
    and `expand` lists them.
    """

    @property
    @abc.abstractmethod
    def d(self) -> int:
        """The dimension of points."""

    @property
    @abc.abstractmethod
    def count(self) -> int:
        """How many pieces of constant weights this is."""

    @property
    def duration(self) -> float:
        """The time it takes."""
        return float(self.count)

    @property
    @abc.abstractmethod
    def inverted(self) -> "AbstractPiece":
        """The piece that brings points back."""

    @abc.abstractmethod
    def carry(self, x: np.ndarray) -> Moved:
        """The images of points `(n, d)` of float64, and the log determinants there."""

    @abc.abstractmethod
    def expand(self) -> "tuple[ReluPiece, ...]":
        """The neurons, first to last."""

    def forward(self, x: Numbers) -> np.ndarray:
        """The images of points `(n, d)`."""
        return self.carry(points("x", x, self.d)).x

    def inverse(self, y: Numbers) -> np.ndarray:
        """The points `(n, d)` whose images these are."""
        return self.inverted.carry(points("y", y, self.d)).x

    def log_det(self, x: Numbers) -> np.ndarray:
        r"""$\log|\det D\Phi(x)|$ at points `(n, d)`."""
        return self.carry(points("x", x, self.d)).log_det

    def __eq__(self, other: Any) -> bool:
        return type(other) is type(self) and all(map(_same, _values(self), _values(other)))

    __hash__ = None  # type: ignore[assignment]  # arrays have none


def _values(piece: AbstractPiece) -> list[Any]:
    return [getattr(piece, field.name) for field in dataclasses.fields(piece)]  # type: ignore[arg-type]


def _same(mine: Any, other: Any) -> bool:
    return np.array_equal(mine, other) if isinstance(mine, np.ndarray) else mine == other
