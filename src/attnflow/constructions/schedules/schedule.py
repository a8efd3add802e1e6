r"""A schedule: pieces one after another, and what they do to points and densities.

$$ \Phi = \Phi_p \circ \dots \circ \Phi_1, \qquad
   \log\rho_T(y) = \log\rho_0(\Phi^{-1}(y)) + \log|\det D\Phi^{-1}(y)|, $$

exact, with no solver of differential equations and no estimate of a trace.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol, cast, final, runtime_checkable

import numpy as np
from jaxtyping import PRNGKeyArray

from ...errors import InputError, shown
from ...flows import Run
from ...models import ReluFlow
from ...spaces import Numbers
from ._checked import doubles
from ._run import check_within, model_of, run_of
from ._tiles import Moved
from .piece import AbstractPiece
from .relu_piece import ReluPiece, ReluPieces


@runtime_checkable
class Density(Protocol):
    """A law that knows its density: `log_density(x (n, d)) -> (n,)`."""

    def log_density(self, x: np.ndarray) -> Numbers: ...


@runtime_checkable
class Sampler(Protocol):
    """A law that can be drawn from: `sample(n, key=key) -> (n, d)`."""

    def sample(self, n: int, *, key: PRNGKeyArray) -> Numbers: ...


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

    def log_density(self, y: Numbers, base: Density | Callable[[np.ndarray], Numbers]) -> np.ndarray:
        """The log density at points `(n, d)` of the law `base` after the schedule.

        `base` has `log_density(x) -> (n,)`, or is that function.
        """
        x, log_det = self.inverted.carry(y)
        known = base.log_density if isinstance(base, Density) else base
        if not callable(known):
            raise InputError(f"base = {shown(base)} has no log_density; give a law, or a function of points.")
        there = np.asarray(known(x), float)
        if there.shape != log_det.shape:
            raise InputError(f"base gives log densities of shape {there.shape}; it should give ({len(x)},).")
        return there + log_det

    def sample(self, base: Sampler, n: int, *, key: PRNGKeyArray) -> np.ndarray:
        """n points `(n, d)` of the law `base` after the schedule."""
        if not isinstance(base, Sampler):
            raise InputError(f"base = {shown(base)} cannot be drawn from; give a law with sample(n, key=key).")
        return self.forward(base.sample(n, key=key))

    def push(self, x: Numbers, weights: Numbers | None = None) -> tuple[np.ndarray, np.ndarray | None]:
        """A weighted measure after the schedule: points move, weights stay."""
        y = self.forward(x)
        if weights is None:
            return y, None
        w = doubles("weights", weights)
        if w.shape != y.shape[:1]:
            raise InputError(f"weights have shape {w.shape} and there are {len(y)} points; give one weight for each.")
        return y, w

    def expand(self) -> tuple[ReluPiece, ...]:
        return tuple(neuron for piece in self.blocks for neuron in piece.expand())

    def until(self, t: float) -> tuple[AbstractPiece, ...]:
        check_within(t, self.duration)
        pieces: list[AbstractPiece] = []
        for piece in self.blocks:
            if t <= 0:
                break
            pieces += [piece] if t >= piece.duration else piece.until(t)
            t -= piece.duration
        return tuple(pieces)

    def to_model(self) -> ReluFlow:
        """The neurons of `expand` as a model that `af.simulate` integrates, from 0 to `duration`.

        Needs `af.precision("float64")`.
        """
        return model_of(self.expand())

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
