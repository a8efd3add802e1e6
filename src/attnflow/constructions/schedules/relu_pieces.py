"""Many neurons with constant weights, one after another, as arrays; they run as one program."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from ...errors import InputError
from ...spaces import Numbers
from ._growth import check_growth, check_times, phi
from ._kernel import neurons_on_tile
from ._tiles import Moved
from .checked import doubles, frozen
from .piece import AbstractPiece
from .relu_piece import ReluPiece


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class ReluPieces(AbstractPiece):
    """Neurons one after another: `W (p, d)`, `A (p, d)`, `b (p,)`, `t (p,)`."""

    kind: ClassVar[str] = "neurons"

    W: np.ndarray
    A: np.ndarray
    b: np.ndarray
    t: np.ndarray

    def __init__(self, W: Numbers, A: Numbers, b: Numbers, t: Numbers = 1.0):
        W = frozen(np.array(doubles("W", W)))
        if W.ndim != 2 or 0 in W.shape:
            raise InputError(f"W has shape {W.shape}; give the weights w of all pieces as rows (p, d).")
        A, b = _fitting("A", A, W.shape), _fitting("b", b, W.shape[:1])
        t = doubles("t", t)
        t = np.full(len(W), t) if t.ndim == 0 else _fitting("t", t, W.shape[:1])
        check_times("t", t)
        vars(self).update(W=W, A=A, b=b, t=frozen(t))
        check_growth(self.growth)

    @classmethod
    def of(cls, *pieces: "ReluPiece | ReluPieces") -> "ReluPieces":
        """Single pieces, and many, in their order."""
        return cls(*(np.concatenate(parts) for parts in zip(*map(_arrays, pieces), strict=True)))

    @property
    def d(self) -> int:
        return self.W.shape[1]

    @property
    def count(self) -> int:
        return len(self.W)

    @property
    def duration(self) -> float:
        return float(self.t.sum())

    @property
    def inverted(self) -> "ReluPieces":
        return ReluPieces(-self.W[::-1], self.A[::-1], self.b[::-1], self.t[::-1])

    @cached_property
    def growth(self) -> np.ndarray:
        r"""$ct = t\langle a, w\rangle$ of every piece: by its exponential it expands volume where it is on."""
        return self.t * np.einsum("pd,pd->p", self.A, self.W)

    @cached_property
    def steps(self) -> np.ndarray:
        r"""How far a point with $\langle a, x\rangle + b = 1$ is moved, `(p, d)`."""
        return (self.t * phi(self.growth))[:, None] * self.W

    def carry_tile(self, x: np.ndarray) -> Moved:
        return Moved(*neurons_on_tile(x, self.steps, self.A, self.b, self.growth))

    def expand(self) -> tuple[ReluPiece, ...]:
        return tuple(map(ReluPiece, self.W, self.A, self.b.tolist(), self.t.tolist()))

    @property
    def log_det_range(self) -> tuple[float, float]:
        return float(np.minimum(self.growth, 0).sum()), float(np.maximum(self.growth, 0).sum())

    def until(self, t: float | int) -> "tuple[ReluPieces, ...]":
        return self.split(t)[0]

    def split(self, t: float | int) -> "tuple[tuple[ReluPieces, ...], tuple[ReluPieces, ...]]":
        """The neurons before a time and those after it; one that runs then becomes two."""
        ends = np.cumsum(self.t)
        k = int(np.searchsorted(ends, t, side="right"))
        if k == self.count:
            return (self,), ()
        done = t - (ends[k - 1] if k else 0.0)
        before = ((self._part(slice(k)),) if k else ()) + ((self._part(slice(k, k + 1), done),) if done > 0 else ())
        after = (self._part(slice(k, None)) if done <= 0 else self._shortened(k, done),)
        return (ReluPieces.of(*before),) if before else (), after

    def _part(self, which: slice, t: float | None = None) -> "ReluPieces":
        return ReluPieces(self.W[which], self.A[which], self.b[which], self.t[which] if t is None else t)

    def _shortened(self, k: int, done: float) -> "ReluPieces":
        """From piece k on, which has run for some time."""
        t = self.t[k:].copy()
        t[0] -= done
        return ReluPieces(self.W[k:], self.A[k:], self.b[k:], t)

    def __repr__(self) -> str:
        return f"ReluPieces: {self.count} pieces of R^{self.d}"


def _arrays(piece: ReluPiece | ReluPieces) -> tuple[np.ndarray, ...]:
    if isinstance(piece, ReluPieces):
        return piece.W, piece.A, piece.b, piece.t
    return piece.w[None], piece.a[None], np.array([piece.b]), np.array([piece.t])


def _fitting(name: str, value: Numbers, shape: tuple[int, ...]) -> np.ndarray:
    array = doubles(name, value)
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape} and W has {shape[0]} rows; give it the shape {shape}.")
    return frozen(np.array(array))
