r"""One neuron with constant weights.

With $s = \langle a, x\rangle + b$ and $c = \langle a, w\rangle$ the field $v(x) = w\,s_+$ has the flow

$$ \Phi_t(x) = x + t\,\varphi(ct)\,s_+\,w, \qquad \varphi(z) = \frac{e^z - 1}{z}, \qquad
   \log\det D\Phi_t(x) = ct\,1_{s > 0}. $$

The sign of $s$ never changes, so that the flow of $-w$ is the inverse.
"""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from ...spaces import Number, Numbers
from ._growth import check_growth, check_times, phi
from ._kernel import neurons_on_tile
from ._tiles import Moved
from .checked import number, vector
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

    def __init__(self, w: Numbers, a: Numbers, b: Number, t: Number = 1.0):
        w, t = vector("w", w), number("t", t)
        check_times("t", np.array(t))
        vars(self).update(w=w, a=vector("a", a, len(w)), b=number("b", b), t=t)
        check_growth(self._growth)

    @classmethod
    def translation(cls, w: Numbers, t: Number = 1.0) -> "ReluPiece":
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
    def _growth(self) -> np.ndarray:
        return self.t * np.einsum("pd,pd->p", self.a[None], self.w[None])

    @property
    def inverted(self) -> "ReluPiece":
        return ReluPiece(-self.w, self.a, self.b, self.t)

    def carry_tile(self, x: np.ndarray) -> Moved:
        step = self.t * phi(self._growth) * self.w
        return Moved(*neurons_on_tile(x, step[None], self.a[None], np.array([self.b]), self._growth))

    def expand(self) -> "tuple[ReluPiece, ...]":
        return (self,)

    @property
    def log_det_range(self) -> tuple[float, float]:
        ct = float(self._growth[0])
        return min(ct, 0.0), max(ct, 0.0)

    def until(self, t: float | int) -> "tuple[ReluPiece, ...]":
        return (ReluPiece(self.w, self.a, self.b, t),) if t > 0 else ()

    def __repr__(self) -> str:
        return f"ReluPiece(w={self.w.tolist()}, a={self.a.tolist()}, b={self.b!r}, t={self.t!r})"
