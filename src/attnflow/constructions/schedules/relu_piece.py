r"""One neuron with constant weights, and many of them, one after another.

With $s = \langle a, x\rangle + b$ and $c = \langle a, w\rangle$ the field $v(x) = w\,s_+$ has the flow

$$ \Phi_t(x) = x + t\,\varphi(ct)\,s_+\,w, \qquad \varphi(z) = \frac{e^z - 1}{z}, \qquad
   \log\det D\Phi_t(x) = ct\,1_{s > 0}. $$

The sign of $s$ never changes, so that the flow of $-w$ is the inverse.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from ...errors import InputError
from ...spaces import Numbers
from ._checked import doubles, frozen, number, vector
from ._kernel import neurons_on_tile
from ._tiles import Moved
from .piece import AbstractPiece


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class ReluPiece(AbstractPiece):
    r"""The flow of $w\,(\langle a, x\rangle + b)_+$ for a time $t$: `w (d,)`, `a (d,)`, numbers `b` and `t > 0`."""

    kind: ClassVar[str] = "neuron"

    w: np.ndarray
    a: np.ndarray
    b: float
    t: float

    def __init__(self, w: Numbers, a: Numbers, b: float, t: float = 1.0):
        w, t = vector("w", w), number("t", t)
        _check_times("t", np.array(t))
        vars(self).update(w=w, a=vector("a", a, len(w)), b=number("b", b), t=t)
        _check_growth(t * (self.a[None] @ self.w))

    @classmethod
    def translation(cls, w: Numbers, t: float = 1.0) -> "ReluPiece":
        """The constant field w for a time t: a = 0 and b = 1."""
        w = vector("w", w)
        return cls(w, np.zeros(len(w)), 1.0, t)

    @property
    def d(self) -> int:
        return len(self.w)

    @property
    def count(self) -> int:
        return 1

    @property
    def duration(self) -> float:
        return self.t

    @property
    def inverted(self) -> "ReluPiece":
        return ReluPiece(-self.w, self.a, self.b, self.t)

    def carry_tile(self, x: np.ndarray) -> Moved:
        return ReluPieces.of(self).carry_tile(x)

    def expand(self) -> "tuple[ReluPiece, ...]":
        return (self,)

    @property
    def log_det_range(self) -> tuple[float, float]:
        return ReluPieces.of(self).log_det_range

    def until(self, t: float) -> "tuple[ReluPiece, ...]":
        return (ReluPiece(self.w, self.a, self.b, t),) if t > 0 else ()

    def __repr__(self) -> str:
        return f"ReluPiece(w={self.w.tolist()}, a={self.a.tolist()}, b={self.b!r}, t={self.t!r})"


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
        t = np.full(len(W), number("t", t)) if np.ndim(t) == 0 else _fitting("t", t, W.shape[:1])
        _check_times("t", t)
        vars(self).update(W=W, A=A, b=b, t=frozen(t))
        _check_growth(self.growth)

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
    def _steps(self) -> np.ndarray:
        return (self.t * phi(self.growth))[:, None] * self.W

    def carry_tile(self, x: np.ndarray) -> Moved:
        return Moved(*neurons_on_tile(x, self._steps, self.A, self.b, self.growth))

    def expand(self) -> tuple[ReluPiece, ...]:
        return tuple(map(ReluPiece, self.W, self.A, self.b.tolist(), self.t.tolist()))

    @property
    def log_det_range(self) -> tuple[float, float]:
        return float(np.minimum(self.growth, 0).sum()), float(np.maximum(self.growth, 0).sum())

    def until(self, t: float) -> "tuple[ReluPieces, ...]":
        return self.split(t)[0]

    def split(self, t: float) -> "tuple[tuple[ReluPieces, ...], tuple[ReluPieces, ...]]":
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


def phi(z: np.ndarray) -> np.ndarray:
    """(e^z - 1)/z, by its series where z is small."""
    small = abs(z) < 1e-8
    safe = np.where(small, 1.0, z)
    return np.where(small, 1 + z / 2, np.expm1(safe) / safe)


def _arrays(piece: ReluPiece | ReluPieces) -> tuple[np.ndarray, ...]:
    if isinstance(piece, ReluPieces):
        return piece.W, piece.A, piece.b, piece.t
    return piece.w[None], piece.a[None], np.array([piece.b]), np.array([piece.t])


def _fitting(name: str, value: Numbers, shape: tuple[int, ...]) -> np.ndarray:
    array = doubles(name, value)
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape} and W has {shape[0]} rows; give it the shape {shape}.")
    return frozen(np.array(array))


def _check_times(name: str, t: np.ndarray) -> None:
    if (t <= 0).any():
        raise InputError(f"{name} = {t.min():g} is no duration; take t > 0, and -w to run a piece backwards.")


def _check_growth(ct: np.ndarray) -> None:
    if (far := np.flatnonzero(~(abs(ct) <= 700))).size:
        k = int(far[0])
        raise InputError(
            f"piece {k} expands volume by e^{ct[k]:.4g}, beyond the range of float64; take a shorter time."
        )
