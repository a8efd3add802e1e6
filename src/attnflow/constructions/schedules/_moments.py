"""What a film of a schedule shows at equispaced times.

Neurons of a `ShearProfile` are shown together, growing: one after another the steep ones would throw points far away
and bring them back. All other neurons run one by one, in their own time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .monotone_pl import MonotonePL
from .piece import AbstractPiece
from .relu_piece import ReluPiece
from .relu_pieces import ReluPieces
from .shear_profile import ShearProfile


@dataclass(frozen=True)
class Moment:
    """A time, the blocks that are over, the part of the next one, and what runs: a neuron, or the profile of a shear.

    `on_the_way`: inside of a `MonotonePL`, whose slopes are not yet what they will be beyond the running knot.
    """

    t: float
    over: tuple[AbstractPiece, ...]
    part: tuple[AbstractPiece, ...]
    running: ReluPiece | ShearProfile
    on_the_way: bool


def moments(schedule: Any, frames: int) -> list[Moment]:
    """`frames` equispaced times from 0 to the end."""
    ends = np.cumsum([piece.duration for piece in schedule.blocks])
    found = []
    for t in np.linspace(0, ends[-1], frames):
        k = min(int(np.searchsorted(ends, t)), len(ends) - 1)
        piece, since = schedule.blocks[k], float(t - (ends[k - 1] if k else 0.0))
        inside = isinstance(piece, MonotonePL) and 0 < since < piece.duration
        part = _part(piece, min(since, piece.duration))
        found.append(Moment(float(t), schedule.blocks[:k], part, _running(piece, since), inside))
    return found


def _part(piece: AbstractPiece, since: float) -> tuple[AbstractPiece, ...]:
    if since <= 0:
        return ()
    if since >= piece.duration:
        return (piece,)
    if not isinstance(piece, ShearProfile):
        return piece.until(since)
    share = since / piece.duration
    slopes = {"left_slope": share * piece.left_slope, "right_slope": share * piece.right_slope}
    return (ShearProfile(piece.a, piece.w, piece.knots, share * piece.values, **slopes),)


def _running(piece: AbstractPiece, since: float) -> ReluPiece | ShearProfile:
    if isinstance(piece, ReluPiece | ShearProfile):
        return piece
    if isinstance(piece, ReluPieces):
        k = min(int(np.searchsorted(np.cumsum(piece.t), since, side="right")), piece.count - 1)
        return ReluPiece(piece.W[k], piece.A[k], piece.b[k], piece.t[k])
    neurons = piece.expand()
    return neurons[min(int(since), len(neurons) - 1)]


def along_way(found: Sequence[Moment], x: np.ndarray) -> np.ndarray:
    """The points at every moment, `(frames, n, d)`; blocks that are over are run once."""
    rows, over = [], 0
    for moment in found:
        x, over = _through(moment.over[over:], x), len(moment.over)
        rows.append(_through(moment.part, x))
    return np.stack(rows)


def _through(pieces: Sequence[AbstractPiece], x: np.ndarray) -> np.ndarray:
    for piece in pieces:
        x = piece.forward(x)
    return x


def box_of(found: Sequence[Moment], xs: np.ndarray) -> np.ndarray:
    """The smallest square (of the line: interval) with nearly all points at nearly all times."""
    seen = xs[[not moment.on_the_way for moment in found]]
    low, high = np.quantile(seen.reshape(-1, xs.shape[2]), [0.002, 0.998], axis=0)
    half = np.full(len(low), 0.57 * max((high - low).max(), 1e-6))
    return np.stack([(low + high) / 2 - half, (low + high) / 2 + half], axis=1)
