r"""A schedule: pieces of constant weights one after another, one transformer for all measures."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np

from ...attention import Softmax
from ...checks import whole
from ...errors import InputError, shown
from ...floating_point import precision
from ...models import FeedForward, Piecewise, TransformerBlock
from ...pairsums import AbstractPairs, Groups
from ...spaces import Count, Number, Numbers
from ._checked import duration
from ._measure import Measure, Side, measures
from .closed_form import form_of
from .piece import Role, TransformerPiece


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class TransformerSchedule:
    r"""$\theta(t) = (V, B, W, U, b)$, constant on each of the `pieces`, on the sphere.

    `run` moves measures, each by itself, by closed forms; `model` is the same transformer for `af.simulate`.
    """

    pieces: tuple[TransformerPiece, ...]

    def __init__(self, pieces: Iterable[TransformerPiece]):
        try:
            given = tuple(pieces)
        except TypeError:
            raise InputError(f"pieces = {shown(pieces)} are none; give a list of them.") from None
        for piece in given:
            if not isinstance(piece, TransformerPiece):
                raise InputError(f"{shown(piece)} is no piece; give for example boost(e, tau).")
        if not given:
            raise InputError("a schedule without pieces has no dimension; give at least one.")
        if odd := [piece.d for piece in given if piece.d != given[0].d]:
            raise InputError(f"there are pieces of dimension {given[0].d} and {odd[0]}; take one dimension.")
        vars(self).update(pieces=given)

    @property
    def d(self) -> int:
        return self.pieces[0].d

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def switches(self) -> int:
        """How often the weights jump."""
        return len(self.pieces) - 1

    @property
    def T(self) -> float:
        """The time that all pieces take."""
        return float(sum(piece.T for piece in self.pieces))

    @property
    def norm(self) -> float:
        r"""$|\theta|_\infty$: the largest norm of a weight at any time."""
        return max(piece.norm for piece in self.pieces)

    @property
    def counts(self) -> dict[str, int]:
        """How many pieces serve each purpose, in the order of time."""
        roles = [piece.role for piece in self.pieces]
        return {role: roles.count(role) for role in dict.fromkeys(roles)}

    def lasting(self, T: Number) -> "TransformerSchedule":
        """The same map in the time T: all pieces are faster or slower by one factor."""
        share = duration(T) / self.T
        return TransformerSchedule(piece.lasting(share * piece.T) for piece in self.pieces)

    def reversed(self, role: Role = "undo") -> "TransformerSchedule":
        """The inverse map: the inverse pieces, last to first."""
        return TransformerSchedule(piece.reversed(role) for piece in reversed(self.pieces))

    def then(self, other: "TransformerSchedule") -> "TransformerSchedule":
        """This schedule, and the other one after it."""
        if not isinstance(other, TransformerSchedule):
            raise InputError(f"{shown(other)} is no schedule; give TransformerSchedule(pieces).")
        return TransformerSchedule(self.pieces + other.pieces)

    def run(self, clouds: Sequence[Any]) -> list[np.ndarray]:
        """The tokens of every measure at the end. `clouds`: arrays `(n, d)`, or pairs of them and weights `(n,)`."""
        return [one.x for one in self.moved(self._side(clouds)).split()]

    def trace(self, clouds: Sequence[Any], frames: Count = 1) -> tuple[np.ndarray, list[np.ndarray]]:
        """Times `(k,)`, and for every measure its tokens then, `(k, n, d)`: `frames` times in every piece, and 0."""
        side, frames = self._side(clouds), whole("frames", frames)
        clock, ts, xs = 0.0, [0.0], [side.x]
        for piece, form in zip(self.pieces, self._forms, strict=True):
            for k in range(1, frames + 1):
                t = piece.T * k / frames
                ts.append(clock + t)
                xs.append(form.moved(side, t))
            side, clock = side._replace(x=xs[-1]), clock + piece.T
        return np.array(ts), np.split(np.stack(xs), side.starts[1:], axis=1)

    def moved(self, side: Side) -> Side:
        """Measures side by side after all pieces."""
        for piece, form in zip(self.pieces, self._forms, strict=True):
            side = side._replace(x=form.moved(side, piece.T))
        return side

    def weights(self, *, first: int = 0, last: int | None = None) -> dict[str, np.ndarray]:
        """All weights as arrays, `V, B (p, d, d)`, `W (p, d, m)`, `U (p, m, d)`, `b (p, m)`, durations `T (p,)`.

        m is the largest number of neurons; neurons that a piece does not have are zero.
        """
        pieces = self.pieces[first:last]
        m = max(1, *(piece.width for piece in self.pieces))
        arrays = {name: np.stack([getattr(piece, name) for piece in pieces]) for name in ("V", "B")}
        wide = {"W": (self.d, m), "U": (m, self.d), "b": (m,)}
        arrays |= {name: np.stack([_padded(getattr(p, name), shape) for p in pieces]) for name, shape in wide.items()}
        return arrays | {"T": np.array([piece.T for piece in pieces])}

    @property
    def model(self) -> TransformerBlock:
        """The transformer for `af.simulate(schedule.model, x0, t1=schedule.T)`, with its weights as `Piecewise`.

        After that time nothing moves.
        """
        return model_of(self.weights())

    def side_by_side(self, labels: Numbers) -> TransformerBlock:
        """The same for measures side by side in one cloud, `labels (n,)` the number of the measure of every token."""
        return model_of(self.weights(), Groups(labels))

    def save(self, path: str | os.PathLike) -> Path:
        """Write the weights, to the last digit: as JSON, or as NetCDF if the name ends with `.nc`."""
        from ._files import written

        return written(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "TransformerSchedule":
        """Read what `save` wrote."""
        from ._files import read

        return cls(read(path))

    def __iter__(self) -> Iterator[TransformerPiece]:
        return iter(self.pieces)

    def __repr__(self) -> str:
        parts = ", ".join(f"{count} {role}" for role, count in self.counts.items())
        return f"TransformerSchedule: {len(self)} pieces ({parts}) on the sphere of R^{self.d}, time {self.T:.4g}"

    @cached_property
    def _forms(self) -> list[Any]:
        return [form_of(piece) for piece in self.pieces]

    def _side(self, clouds: Sequence[Any]) -> Side:
        found: list[Measure] = measures("clouds", clouds)
        if found[0].x.shape[1] != self.d:
            raise InputError(f"clouds have dimension {found[0].x.shape[1]} and the schedule {self.d}.")
        return Side.of(found)


def model_of(weights: dict[str, np.ndarray], pairs: AbstractPairs | None = None) -> TransformerBlock:
    """The transformer with these arrays of weights, one entry for each interval of time."""
    if precision() != "float64":
        raise InputError("a schedule needs float64, its bands are narrow; call attnflow.precision('float64') before.")
    ends = np.cumsum(weights["T"])
    named: dict[str, Any] = {name: Piecewise(ends, _at_rest(weights[name])) for name in ("V", "B", "W", "U", "b")}
    layer = FeedForward(named["W"], named["U"], named["b"])
    return TransformerBlock(Softmax(beta=1.0, V=named["V"], B=named["B"]), layer, pairs=pairs)


def _at_rest(values: np.ndarray) -> np.ndarray:
    """With zeros for the time after the end."""
    return np.concatenate([values, np.zeros_like(values[:1])])


def _padded(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.pad(array, [(0, wanted - have) for have, wanted in zip(array.shape, shape, strict=True)])
