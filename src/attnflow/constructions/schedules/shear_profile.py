r"""A shear $x \mapsto x + f(\langle a, x\rangle)\,w$ with $w \perp a$ and $f$ piecewise linear: many neurons at once.

Neurons with the same $a$ and weights along $w$ commute, so $f$ may have any kinks; it is evaluated by one
interpolation, exact at its knots, where sums of steep neurons would lose their digits.
"""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from ...errors import InputError
from ...spaces import Number, Numbers
from ._lines import Lines, along, moved_along
from ._tiles import Moved
from .checked import direction, increasing, number, vector
from .piece import AbstractPiece
from .relu_piece import ReluPiece


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class ShearProfile(AbstractPiece):
    r"""$x \mapsto x + f(\langle a, x\rangle)\,w$: f takes `values (K,)` at `knots (K,)` and is linear between.

    Beyond the knots it goes on with `left_slope` and `right_slope`, by default constant. Volume is kept. It counts one
    piece for every knot where the slope jumps, one for a translation unless the first value is 0, and one for a slope
    on the left.
    """

    kind: ClassVar[str] = "shear"

    a: np.ndarray
    w: np.ndarray
    knots: np.ndarray
    values: np.ndarray
    left_slope: float
    right_slope: float

    def __init__(
        self,
        a: Numbers,
        w: Numbers,
        knots: Numbers,
        values: Numbers,
        *,
        left_slope: Number = 0.0,
        right_slope: Number = 0.0,
    ):
        a = direction("a", a)
        w = direction("w", w, len(a))
        product, size = abs(a @ w), np.linalg.norm(a) * np.linalg.norm(w)
        if product > 1e-12 * size:
            raise InputError(f"w and a have the cosine {product / size:.3g}; a shear needs w perpendicular to a.")
        knots = increasing("knots", knots)
        vars(self).update(
            a=a,
            w=w,
            knots=knots,
            values=vector("values", values, len(knots)),
            left_slope=number("left_slope", left_slope),
            right_slope=number("right_slope", right_slope),
        )

    @property
    def lines(self) -> Lines:
        """The graph of f."""
        return Lines(self.knots, self.values, self.left_slope, self.right_slope)

    @property
    def d(self) -> int:
        return len(self.a)

    @property
    def count(self) -> int:
        first, jumps = self.lines.neurons
        return int(self.values[0] != 0) + int(first != 0) + int(np.count_nonzero(jumps))

    @property
    def duration(self) -> float:
        return float(self.count)

    @property
    def inverted(self) -> "ShearProfile":
        return ShearProfile(
            self.a, self.w, self.knots, -self.values, left_slope=-self.left_slope, right_slope=-self.right_slope
        )

    def carry_tile(self, x: np.ndarray) -> Moved:
        return Moved(moved_along(x, self.lines(along(x, self.a)), self.w), np.zeros(len(x)))

    def expand(self) -> tuple[ReluPiece, ...]:
        first, jumps = self.lines.neurons
        pieces = [ReluPiece.translation(self.values[0] * self.w)] if self.values[0] != 0 else []
        if first != 0:
            pieces.append(ReluPiece(first * self.w, -self.a, self.knots[0]))
        pieces += [ReluPiece(c * self.w, self.a, -k) for c, k in zip(jumps, self.knots, strict=True) if c != 0]
        return tuple(pieces)

    @property
    def log_det_range(self) -> tuple[float, float]:
        return 0.0, 0.0

    def until(self, t: float | int) -> tuple[AbstractPiece, ...]:
        k, part = divmod(t, 1.0)
        return self._first(int(k)) + (self.expand()[int(k)].until(part) if part else ())

    def _first(self, k: int) -> tuple[AbstractPiece, ...]:
        """The first k neurons, fused."""
        slopes, (left, jumps) = self.lines.slopes, self.lines.neurons
        before = int(self.values[0] != 0) + int(left != 0)
        if k <= before:
            return self.expand()[:k]
        kept = np.flatnonzero(jumps)[k - before - 1] + 1
        known = {"left_slope": self.left_slope, "right_slope": slopes[kept]}
        return (ShearProfile(self.a, self.w, self.knots[:kept], self.values[:kept], **known),)

    def __repr__(self) -> str:
        return f"ShearProfile: {len(self.knots)} knots, {self.count} pieces of R^{self.d}"
