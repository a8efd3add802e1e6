"""What is held back of the training data: models are chosen by their roll-outs there, and training is ended by them.

Of one or two trajectories it is the end of each. Of more it is whole trajectories, those whose starts lie in the middle
of all starts: from an outer one a model would have to extrapolate.
"""

from typing import NamedTuple

import numpy as np

from .training import Held
from .windows import Piece, stream

ROLLOUTS = 16
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


def held(stretches: list[Stretch], m: int, mean: np.ndarray, std: np.ndarray) -> Held:
    """Roll-outs of the stretches: one from the start of each, others from places in its first half."""
    jobs = []
    each = max(1, ROLLOUTS // len(stretches))
    for piece, first in stretches[:ROLLOUTS]:
        last = max(first, first + (len(piece) - first) // 2)
        for start in np.unique(np.linspace(first, last, each).astype(int)):
            jobs.append((piece, int(start)))
    d, c = stretches[0].piece.x.shape[1], len(mean)
    h = _rounded(min(LONGEST, max(len(piece) - start for piece, start in jobs)))
    out = Held(
        np.zeros((ROLLOUTS, m, c)),
        np.zeros((ROLLOUTS, h, d)),
        np.zeros((ROLLOUTS, h, c - d)),
        np.zeros((ROLLOUTS, h)),
    )
    for k, (piece, start) in enumerate(jobs):
        tokens = (stream(piece) - mean) / std
        n = min(h, len(piece) - start)
        out.tokens[k] = tokens[start - m : start][::-1]
        out.truth[k, :n] = tokens[start : start + n, :d]
        out.inputs[k, :n] = tokens[start : start + n, d:]
        out.mask[k, :n] = 1
    return out


def _rounded(n: int) -> int:
    """A length of which there are few: a power of two."""
    return 1 << (n - 1).bit_length()
