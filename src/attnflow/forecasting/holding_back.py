"""What is held back of the training data: models are chosen by their roll-outs there, and training is ended by them.

Of one or two trajectories it is the end of each. Of more it is whole trajectories, those whose starts lie in the middle
of all starts: from an outer one a model would have to extrapolate.
"""

from typing import NamedTuple

import numpy as np

from .training import Held
from .windows import Piece, stream

HALF = 8  # roll-outs of either kind
LONGEST = 512  # steps of one of them
LEAST = 4  # states that must be held back, and windows that must be left


class Stretch(NamedTuple):
    """States of `piece` from `first` on are predicted from those before them."""

    piece: Piece
    first: int


def split(found: list[Piece], share: float, m: int) -> tuple[list[Piece], list[Stretch]]:
    """What is trained on, and what is held back: nothing, where there are too few data."""
    if not share:
        return found, []
    names = sorted({piece.trajectory for piece in found})
    if len(names) >= 3:
        held = _central(found, names, max(1, round(share * len(names))), m)
        kept = [piece for piece in found if piece.trajectory not in held]
        stretches = [Stretch(p, m) for p in found if p.trajectory in held and len(p) >= m + LEAST]
    else:
        kept, stretches = [], []
        for piece in found:
            cut = len(piece) - max(round(share * len(piece)), LEAST)
            if piece is _longest(found, piece.trajectory) and cut >= m + LEAST:
                kept.append(_upto(piece, cut))
                stretches.append(Stretch(piece, cut))
            else:
                kept.append(piece)
    if not stretches or sum(max(0, len(p) - m) for p in kept) < LEAST:
        return found, []
    return kept, stretches


def _upto(piece: Piece, cut: int) -> Piece:
    # One more input than states are known there, but the window before the cut needs a state after it.
    return Piece(piece.x[:cut], piece.u[:cut], piece.trajectory, False)


def _longest(found: list[Piece], trajectory: int) -> Piece:
    return max((p for p in found if p.trajectory == trajectory), key=len)


def _central(found: list[Piece], names: list[int], count: int, m: int) -> set[int]:
    """The trajectories whose starts have the least sum of distances to all starts."""
    able = [i for i in names if len(_longest(found, i)) >= m + LEAST]
    starts = {i: next(p.x[0] for p in found if p.trajectory == i) for i in names}
    table = np.stack(list(starts.values()))
    size = np.maximum(np.concatenate([p.x for p in found]).std(axis=0), 1e-300)
    distance = {i: np.linalg.norm((table - starts[i]) / size, axis=1).sum() for i in able}
    return set(sorted(able, key=lambda i: distance[i])[: min(count, len(names) - 1)])


def held(stretches: list[Stretch], kept: list[Piece], m: int, mean: np.ndarray, std: np.ndarray) -> Held:
    """Roll-outs of what is held back, and as many, no longer ones, of what is trained on, `kept`.

    On a stretch the first begins where it does, the others at places in its first half. What is held back may be easier
    than the rest (one trajectory of six, say), and a model that fails on its own training data is no good.
    """
    new = [job for s in stretches[:HALF] for job in _places(s.piece, s.first, HALF // min(HALF, len(stretches)))]
    h = min(LONGEST, max(len(piece) - start for piece, start in new))
    able = [piece for piece in kept if len(piece) >= m + LEAST]
    chosen = [able[k] for k in np.unique(np.linspace(0, len(able) - 1, min(HALF, len(able))).astype(int))]
    old = [job for piece in chosen for job in _places(piece, m, HALF // len(chosen), h)]
    d, c, rows = stretches[0].piece.x.shape[1], len(mean), _rounded(h)
    out = Held(
        np.zeros((2 * HALF, m, c)),
        np.zeros((2 * HALF, rows, d)),
        np.zeros((2 * HALF, rows, c - d)),
        np.zeros((2 * HALF, rows)),
        np.repeat([0.0, 1.0], HALF),
    )
    for k, (piece, start) in [*enumerate(new), *enumerate(old, HALF)]:
        tokens = (stream(piece) - mean) / std
        n = min(h, len(piece) - start)
        out.tokens[k] = tokens[start - m : start][::-1]
        out.truth[k, :n] = tokens[start : start + n, :d]
        out.inputs[k, :n] = tokens[start : start + n, d:]
        out.mask[k, :n] = 1
    return out


def _places(piece: Piece, first: int, count: int, h: int | None = None) -> list[tuple[Piece, int]]:
    """Starts in the first half of a piece from `first` on, or all over it where h steps are left."""
    last = first + (len(piece) - first) // 2 if h is None else len(piece) - h
    return [(piece, int(k)) for k in np.unique(np.linspace(first, max(first, last), count).astype(int))]


def _rounded(n: int) -> int:
    """A length of which there are few: a power of two."""
    return 1 << (n - 1).bit_length()
