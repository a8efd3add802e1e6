r"""A schedule: pieces one after another, and what they do to points and densities.

$$ \Phi = \Phi_p \circ \dots \circ \Phi_1, \qquad
   \log\rho_T(y) = \log\rho_0(\Phi^{-1}(y)) + \log|\det D\Phi^{-1}(y)|, $$

exact, with no solver of differential equations and no estimate of a trace.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast, final

import numpy as np
from jaxtyping import PRNGKeyArray

from ...errors import InputError, shown
from ...flows import Run
from ...models import ReluFlow
from ...spaces import Number, Numbers
from ._python import program
from ._report import ScheduleReport, report_of
from ._run import check_within, model_of, run_of
from ._tiles import Moved
from .checked import masses
from .densities import BaseDensity, BaseSampler, log_density_of, sample_of
from .piece import AbstractPiece
from .relu_piece import ReluPiece
from .relu_pieces import ReluPieces

if TYPE_CHECKING:
    import matplotlib.figure


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Schedule(AbstractPiece):
    r"""Pieces of constant weights, first to last.

    `forward` moves points, `inverse` brings them back, `log_density` is the density of a law after the schedule.
    `pieces` is the number of neurons, `switches` the number of jumps of the weights between them, `blocks` the pieces
    as they were given.
    """

    kind: ClassVar[str] = "schedule"

    blocks: tuple[AbstractPiece, ...]

    def __init__(self, pieces: Iterable[AbstractPiece]):
        blocks = tuple(_flat(pieces))
        if not blocks:
            raise InputError("a schedule without pieces has no dimension; give at least one.")
        d = blocks[0].d
        for k, piece in enumerate(blocks):
            if piece.d != d:
                raise InputError(f"piece {k} is one of R^{piece.d} and the first one of R^{d}; take one dimension.")
        vars(self).update(blocks=blocks)

    @classmethod
    def from_arrays(cls, W: Numbers, A: Numbers, b: Numbers, t: Numbers = 1.0) -> "Schedule":
        """Neurons as arrays: `W (p, d)`, `A (p, d)`, `b (p,)`, and durations `t (p,)`, or one for all."""
        return cls([ReluPieces(W, A, b, t)])

    @property
    def d(self) -> int:
        return self.blocks[0].d

    @property
    def count(self) -> int:
        return sum(piece.count for piece in self.blocks)

    @property
    def pieces(self) -> int:
        """The number of pieces of constant weights."""
        return self.count

    @property
    def switches(self) -> int:
        """How often weights jump: one less than pieces."""
        return max(self.count - 1, 0)

    @property
    def duration(self) -> float:
        return sum(piece.duration for piece in self.blocks)

    @property
    def inverted(self) -> "Schedule":
        """The schedule of the inverse map: inverse pieces, last to first."""
        return self._inverted

    @cached_property
    def _inverted(self) -> "Schedule":
        return Schedule([piece.inverted for piece in reversed(self.blocks)])

    def then(self, other: AbstractPiece) -> "Schedule":
        """This schedule, and the other one after it."""
        if not isinstance(other, AbstractPiece):
            raise InputError(f"{shown(other)} is no piece; give a schedule or a piece of one.")
        return Schedule([self, other])

    def __matmul__(self, first: AbstractPiece) -> "Schedule":
        """`after @ first`, as maps are composed."""
        return Schedule([first]).then(self) if isinstance(first, AbstractPiece) else NotImplemented

    def carry_tile(self, x: np.ndarray) -> Moved:
        log_det = np.zeros(len(x))
        for piece in self._packed:
            x, more = piece.carry_tile(x)
            log_det += more
        return Moved(x, log_det)

    def log_density(self, y: Numbers, base: BaseDensity) -> np.ndarray:
        """The log density at points `(n, d)` of the law `base` after the schedule.

        `base` has `log_density(x) -> (n,)`, or is that function, or a distribution of SciPy.
        """
        x, log_det = self.inverted._carry("y", y)
        return log_density_of(base, x) + log_det

    def sample(self, base: BaseSampler, n: int, *, key: PRNGKeyArray) -> np.ndarray:
        """n points `(n, d)` of the law `base` after the schedule."""
        return self.forward(sample_of(base, n, self.d, key))

    def push(self, x: Numbers, weights: Numbers | None = None) -> tuple[np.ndarray, np.ndarray | None]:
        """A weighted measure after the schedule: points move, weights stay."""
        y = self.forward(x)
        if weights is None:
            return y, None
        return y, masses(weights, len(y))

    def expand(self) -> tuple[ReluPiece, ...]:
        return tuple(neuron for piece in self.blocks for neuron in piece.expand())

    @property
    def log_det_range(self) -> tuple[float, float]:
        low, high = np.sum([piece.log_det_range for piece in self.blocks], axis=0)
        return float(low), float(high)

    @cached_property
    def neurons(self) -> ReluPieces:
        """All neurons as arrays `W`, `A`, `b`, `t`."""
        each = [[p] if isinstance(p, ReluPieces) else p.expand() for p in self.blocks]
        return ReluPieces.of(*(one for some in each for one in some))

    @property
    def weight_norm(self) -> float:
        r"""$\sup_t|(w, a, b)(t)|_\infty$, the largest entry of the weights. It depends on how neurons are scaled."""
        return self.report().weight_norm

    def report(self, x: Numbers | None = None) -> ScheduleReport:
        """Counts, norms and bounds; with points `x`, also how exactly they come back."""
        return report_of(self, x)

    def until(self, t: float | int) -> tuple[AbstractPiece, ...]:
        check_within(t, self.duration)
        pieces: list[AbstractPiece] = []
        for piece in self.blocks:
            if t <= 0:
                break
            pieces += [piece] if t >= piece.duration else piece.until(t)
            t -= piece.duration
        return tuple(pieces)

    def timeline(self, x: Numbers | None = None, weights: Numbers | None = None) -> "matplotlib.figure.Figure":
        r"""Draw which neuron is on when: what it does and how strongly, its weights, and with points also for how many.

        A bar is as high as $|w||a|$ (of a translation $|w|b$), the rate at which a neuron moves points apart.
        """
        from ._timeline import timeline

        return timeline(self, x, weights)

    def animate(
        self,
        path: str | os.PathLike,
        x: Numbers,
        base: BaseDensity | None = None,
        *,
        weights: Numbers | None = None,
        frames: int = 120,
        fps: Number = 25,
        dpi: Number = 110,
    ) -> Path:
        """Write a film (.mp4 or .gif) of points `x (n, d)`, and beside it of the density that began as `base`.

        Without `base` there are points alone; of more than two coordinates the first two are shown. A line marks where
        the neuron is switched on, an arrow where it pushes to. Neurons of a `ShearProfile` are shown together.
        """
        from ._animate import animate

        return animate(self, path, x, base, weights, frames, fps, dpi)

    def program(self) -> str:
        """Python that makes this schedule again, to the last digit, to paste into a program or a notebook."""
        return program(self)

    def to_model(self) -> ReluFlow:
        """The neurons of `expand` as a model that `af.simulate` integrates, from 0 to `duration`.

        Needs `af.precision("float64")`.
        """
        return model_of(self.neurons)

    def to_run(self, x: Numbers, weights: Numbers | None = None, *, ts: Numbers | None = None) -> Run:
        """The way of points `(n, d)`, as `af.simulate` would give it, at times `ts` from 0 to `duration`.

        By default those are the ends of blocks, or of neurons that come as arrays, at most 201 of them. Rows are
        exact; `run.at` goes on from them in closed form. Needs `af.precision("float64")`.
        """
        return run_of(self, x, weights, ts)

    def __repr__(self) -> str:
        return f"Schedule: {self.pieces} pieces of R^{self.d}, {self.switches} switches, time {self.duration:g}"

    @cached_property
    def _packed(self) -> tuple[AbstractPiece, ...]:
        """The same pieces, with neurons that follow each other as arrays."""
        packed: list[AbstractPiece] = []
        waiting: list[ReluPiece | ReluPieces] = []
        for piece in (*self.blocks, None):
            if isinstance(piece, ReluPiece | ReluPieces):
                waiting.append(piece)
                continue
            if waiting:
                packed.append(ReluPieces.of(*waiting))
                waiting = []
            packed += [] if piece is None else [piece]
        return tuple(packed)


def _flat(pieces: Iterable[AbstractPiece]) -> Iterable[AbstractPiece]:
    try:
        given = tuple(pieces)
    except TypeError:
        raise InputError(f"pieces = {shown(pieces)} are none; give a list of pieces.") from None
    for piece in given:
        if not isinstance(piece, AbstractPiece):
            raise InputError(f"{shown(piece)} is no piece; give for example ReluPiece(w, a, b).")
        yield from cast(Schedule, piece).blocks if isinstance(piece, Schedule) else (piece,)
