r"""Measures become small clouds far from each other, by the fewest pieces of rank-one attention.

Each piece is a boost of every measure by a time of its own, which changes the shape of a measure by little when its
sample is another one. (V = I, which contracts a measure around its barycentre, would magnify an error of the barycentre
by $e^t$.) Of the draws that do so, one that moves all parts of every sample alike is taken: another sample will go
there, too.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ._measure import Measure, Side, angles, unit
from .boost import boosted, rank_one_attention
from .disentangle import rank_one_estimates
from .piece import TransformerPiece
from .schedule import TransformerSchedule

SMALL = 0.25  # the radius of a cloud over its way to the next one
DRAWS = 300  # for each number of pieces
TRIED = 12  # draws that are looked at with all tokens
TOKENS, PARTS = 600, 4  # of a measure that draws are compared by
TIMES = (0.5, 4.0)
NOISE = 0.5  # in the direction of a draw


class Caps(NamedTuple):
    """Caps around clouds and points: centres `(k, d)` and angles `(k,)`."""

    centres: np.ndarray
    angles: np.ndarray

    def along(self, z: np.ndarray) -> float:
        r"""The largest $\langle x, z\rangle$ in a cap."""
        angle = np.arccos(np.clip(self.centres @ z, -1, 1))
        return float(np.max(np.cos(np.maximum(angle - self.angles, 0)), initial=-1.0))

    def beside(self, gamma: np.ndarray) -> np.ndarray:
        """The smallest distance of a cap from each plane orthogonal to `gamma (j, d)`; negative where they meet."""
        height = np.abs(np.arcsin(np.clip(gamma @ self.centres.T, -1, 1)))
        return np.sin(np.min(height - self.angles, axis=1, initial=np.pi / 2))

    @property
    def ways(self) -> np.ndarray:
        """From every centre to the rim of the next cap; 1 where there is no other."""
        way = angles(self.centres[:, None], self.centres) - self.angles
        np.fill_diagonal(way, 1.0)
        return way.min(axis=1, initial=1.0)

    @property
    def crowding(self) -> float:
        """The radius of a cap over its way to the next one, at most; of one measure, over one."""
        way = self.ways
        return float(np.max(np.where(way > 0, self.angles / np.where(way > 0, way, 1), np.inf)))


def caps_of(clouds: Sequence[Measure], points: np.ndarray | None = None) -> Caps:
    """Caps around clouds, and points `(k, d)`."""
    more = np.zeros((0, clouds[0].x.shape[1])) if points is None else points
    centres = [unit(one.w @ one.x) for one in clouds]
    chords = [np.max(np.sum((one.x - c) ** 2, axis=1)) ** 0.5 for one, c in zip(clouds, centres, strict=True)]
    widths = 2 * np.arcsin(np.minimum(np.divide(chords, 2), 1))
    places = np.concatenate([np.reshape(centres, (-1, more.shape[1])), more])
    return Caps(places, np.append(widths, np.zeros(len(more))))


def parts_of(one: Measure, count: int, law: bool) -> list[Measure]:
    """A sample of a law in parts, measures of their own; of a measure that is known, itself."""
    parts = [Measure(one.x[k::count], one.w[k::count]) for k in range(min(count, len(one.x)))] if law else [one]
    return [Measure(x, w / w.sum()) for x, w in parts]


def ways_apart(
    side: Side, laws: Sequence[bool], count: int, rng: np.random.Generator
) -> Iterator[list[TransformerPiece]]:
    """Draws of so many pieces that make small clouds of the measures, apart from each other; a few, the best first."""
    thin = [Measure(one.x[:TOKENS], one.w[:TOKENS] / one.w[:TOKENS].sum()) for one in side.split()]
    parts = [parts_of(one, PARTS, law) for one, law in zip(thin, laws, strict=True)]
    few = Side.of([part for group in parts for part in group])
    owner = np.repeat(np.arange(len(parts)), [len(group) for group in parts])
    tried = [_draw(few, owner, count, rng) for _ in range(DRAWS if count else 1)]
    good = sorted((one for one in tried if one.crowding <= SMALL), key=lambda one: one.drift)
    for pieces in (one.pieces for one in good[:TRIED]):
        moved = TransformerSchedule(pieces).moved(side) if pieces else side
        if caps_of(moved.split()).crowding <= SMALL:
            yield pieces


class _Draw(NamedTuple):
    """Pieces, and how they leave thinned clouds: `drift` is how far parts of a sample go apart, over its radius."""

    pieces: list[TransformerPiece]
    crowding: float
    drift: float


def _draw(few: Side, owner: np.ndarray, count: int, rng: np.random.Generator) -> _Draw:
    """Pieces by chance. `few` has the parts of all measures, `owner` the measure of every part."""
    pieces, side = [], few
    for _ in range(count):
        alpha, T = _between(_wholes(side, owner), rng), float(rng.uniform(*TIMES))
        pieces.append(rank_one_attention(alpha, T))
        side = side._replace(x=boosted(side.x, alpha, rank_one_estimates(side, alpha, T)[side.owner]))
    wholes, parts = _wholes(side, owner), side.split()
    both, drifts = caps_of(wholes), []
    for j, (one, centre) in enumerate(zip(wholes, both.centres, strict=True)):
        mine = [part for part, of in zip(parts, owner, strict=True) if of == j]
        width = np.sqrt(one.w @ np.sum((one.x - centre) ** 2, axis=1))
        off = angles(caps_of(mine).centres, centre)
        drifts.append(np.sqrt(np.mean(off**2)) / max(float(width), 1e-12))
    return _Draw(pieces, both.crowding, max(drifts))


def _wholes(side: Side, owner: np.ndarray) -> list[Measure]:
    """The measures whose parts these are."""
    parts = side.split()
    groups = [[part for part, of in zip(parts, owner, strict=True) if of == j] for j in range(owner.max() + 1)]
    return [
        Measure(np.concatenate([x for x, _ in group]), np.concatenate([w for _, w in group]) / len(group))
        for group in groups
    ]


def _between(clouds: Sequence[Measure], rng: np.random.Generator) -> np.ndarray:
    """A direction near the one from a cloud to another, along which the two go to opposite ends."""
    centres = caps_of(clouds).centres
    noise = rng.normal(size=centres.shape[1]) / np.sqrt(centres.shape[1])
    if len(centres) == 1:
        alpha = centres[0] + NOISE * noise
    else:
        i, j = rng.choice(len(centres), 2, replace=False)
        way = centres[i] - centres[j]
        alpha = way + NOISE * np.linalg.norm(way) * noise
    return unit(alpha)
