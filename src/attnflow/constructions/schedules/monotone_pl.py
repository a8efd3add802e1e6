r"""A monotone piecewise linear map along one direction: $x \mapsto x + (T(s) - s)\,e$ with $s = \langle e, x\rangle$.

It is the exact flow of $K + 2$ neurons for $K$ knots: a translation, the slope on the left, and then one neuron for
every knot, which changes the slope on its right. Knot k stands at $y_k$ when its neuron starts.
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
class MonotonePL(AbstractPiece):
    r"""$x \mapsto x + (T(s) - s)\,e$ with $s = \langle e, x\rangle$, a unit vector `e`, T increasing, piecewise linear.

    T sends `x_knots (K,)` to `y_knots (K,)`, both increasing; slopes beyond are by default those next to them. It
    counts K + 2 pieces, or K + 1 if the first knot stays.
    """

    kind: ClassVar[str] = "monotone"

    e: np.ndarray
    x_knots: np.ndarray
    y_knots: np.ndarray
    left_slope: float
    right_slope: float

    def __init__(
        self,
        e: Numbers,
        x_knots: Numbers,
        y_knots: Numbers,
        *,
        left_slope: Number | None = None,
        right_slope: Number | None = None,
    ):
        e, x_knots = direction("e", e), increasing("x_knots", x_knots)
        if abs(np.linalg.norm(e) - 1) > 1e-12:
            raise InputError(f"e has length {np.linalg.norm(e):.15g}; give a unit vector.")
        y_knots = increasing("y_knots", vector("y_knots", y_knots, len(x_knots)))
        secants = np.diff(y_knots) / np.diff(x_knots)
        vars(self).update(
            e=e,
            x_knots=x_knots,
            y_knots=y_knots,
            left_slope=_positive("left_slope", left_slope, secants[:1]),
            right_slope=_positive("right_slope", right_slope, secants[-1:]),
        )

    @property
    def lines(self) -> Lines:
        """The graph of T."""
        return Lines(self.x_knots, self.y_knots, self.left_slope, self.right_slope)

    @property
    def d(self) -> int:
        return len(self.e)

    @property
    def count(self) -> int:
        return len(self.x_knots) + 1 + int(self.x_knots[0] != self.y_knots[0])

    @property
    def duration(self) -> float:
        return float(self.count)

    @property
    def inverted(self) -> "MonotonePL":
        return MonotonePL(
            self.e, self.y_knots, self.x_knots, left_slope=1 / self.left_slope, right_slope=1 / self.right_slope
        )

    def carry_tile(self, x: np.ndarray) -> Moved:
        s = along(x, self.e)
        return Moved(moved_along(x, self.lines(s) - s, self.e), np.log(self.lines.slope_at(s)))

    def expand(self) -> tuple[ReluPiece, ...]:
        y, slopes = self.y_knots, self.lines.slopes
        before = np.concatenate([[1.0], slopes[1:-1]])
        shift = y[0] - self.x_knots[0]
        pieces = [ReluPiece.translation(shift * self.e)] if shift != 0 else []
        pieces.append(ReluPiece(-np.log(slopes[0]) * self.e, -self.e, y[0]))
        pieces += [ReluPiece(np.log(s / p) * self.e, self.e, -k) for s, p, k in zip(slopes[1:], before, y, strict=True)]
        return tuple(pieces)

    @property
    def log_det_range(self) -> tuple[float, float]:
        logs = np.log(self.lines.slopes)
        return float(logs.min()), float(logs.max())

    def until(self, t: float | int) -> tuple[AbstractPiece, ...]:
        k, part = divmod(t, 1.0)
        return self._first(int(k)) + (self.expand()[int(k)].until(part) if part else ())

    def _first(self, k: int) -> tuple[AbstractPiece, ...]:
        """The first k neurons, fused."""
        kept = k - (self.count - len(self.x_knots))
        if kept <= 0:
            return self.expand()[:k]
        known = {"left_slope": self.left_slope, "right_slope": self.lines.slopes[kept]}
        return (MonotonePL(self.e, self.x_knots[:kept], self.y_knots[:kept], **known),)

    def __repr__(self) -> str:
        return f"MonotonePL: {len(self.x_knots)} knots, {self.count} pieces of R^{self.d}"


def _positive(name: str, slope: Number | None, default: np.ndarray) -> float:
    if slope is None:
        if not default.size:
            raise InputError(f"one knot leaves {name} open; give it, a positive number.")
        return float(default[0])
    value = number(name, slope)
    if value <= 0:
        raise InputError(f"{name} = {value:g} is not positive, and the map must increase; give a positive number.")
    return value
