r"""Measures with a density become atoms: cut a slice off, make a point of it, take it home, cut the next one.

A few pieces of rank-one attention, the best of some draws, move the measures into small caps far from each other: each
of them by a boost, which changes the shape of a measure by little when its sample is another one. (V = I, which
contracts a measure around its barycentre, would magnify an error of the barycentre by $e^t$.) Then, for every target
atom of mass v, a gate on a cap whose rim cuts off a slice of mass v (the last slice is what is left) moves the slice to
the centre of the cap, and a band takes it home. Points at the distance $\varepsilon$ from the rim need the time
$\log(1/\varepsilon)$ only, so that almost nothing is left between. That is $2M$ pieces for M target atoms.

Where a target lies near a cloud, all clouds are boosted away from all targets before.
"""

from typing import NamedTuple

import numpy as np

from ...errors import InputError
from ._destinations import destinations
from ._measure import Measure, Side
from ._routes import Built
from .boost import boost, boosted, rank_one_attention
from .cap_gate import amount_to_reach, cap_gate
from .disentangle import rank_one_estimates
from .gather import missing_direction
from .match_atoms import SHARE, orthogonal_draws, walk
from .piece import TransformerPiece
from .schedule import TransformerSchedule

SMALL = 0.25  # the radius of a cloud over its way to the next one
PIECES = 6  # of attention, at most
DRAWS = 150  # for each number of pieces
THINNED = 600  # tokens of a measure that draws are compared by
TIMES = (0.5, 4.0)
NOISE = 0.5  # in the direction of a draw
CAPS = 60  # draws of a cap
DISTANCES = (0.3, 0.5)  # of the centre of a cap, over the way to the next cloud
NORMALS = 24  # draws of a band in d > 3
RIM = 1e-9  # nearer to the rim than that tokens may be left behind
LEAST = 1e-5  # clearance of a band


class _Caps(NamedTuple):
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


def by_slices(sources: list[Measure], targets: list[Measure], eps: float, rng: np.random.Generator) -> Built:
    """A gate and a band for every atom of the targets."""
    there = destinations(np.concatenate([target.x for target in targets]), eps, rng)
    goals = np.split(there.places, np.cumsum([len(target.x) for target in targets])[:-1])
    side, pieces, steps = _ready(Side.of(sources), there.places, rng)
    clouds, least, done = side.split(), np.inf, np.zeros((0, side.x.shape[1]))
    for j, left in enumerate(clouds):
        wanted = list(range(len(targets[j].w)))
        while wanted:
            others = _caps(clouds[j + 1 :], done)
            cut = _best_cut(left, others, goals[j][wanted], targets[j].w[wanted], rng)
            if cut is None:
                raise InputError(
                    f"no gate cuts the mass {targets[j].w[wanted[0]]:.3g} off measure {j} without touching others; "
                    "take another key, or fewer atoms."
                )
            pieces, least, left = [*pieces, *cut.pieces], min(least, cut.clearance), cut.rest
            done = np.concatenate([done, goals[j][wanted.pop(cut.which)][None]])
    merge = ("merge",) if there.gates else ()
    return Built([*pieces, *there.gates], least, (*steps, "slice", *merge))


def _ready(
    side: Side, places: np.ndarray, rng: np.random.Generator
) -> tuple[Side, list[TransformerPiece], tuple[str, ...]]:
    """The clouds apart from each other and from all targets, and what it takes."""
    attention = _apart(side, rng)
    side = TransformerSchedule(attention).moved(side) if attention else side
    away = _away(side, places, rng)
    side = TransformerSchedule(away).moved(side) if away else side
    done = [name for name, part in (("disentangle", attention), ("gather", away)) if part]
    return side, [*attention, *away], tuple(done)


def _apart(side: Side, rng: np.random.Generator) -> list[TransformerPiece]:
    """The fewest pieces of rank-one attention that make small clouds, far from each other.

    Of the draws that do so, one that moves both halves of every sample alike is taken: another sample will go there,
    too.
    """
    halves = _halves(side)
    for count in range(PIECES + 1):
        tried = [_draw(halves, count, rng) for _ in range(DRAWS if count else 1)]
        good = sorted((one for one in tried if one.crowding <= SMALL), key=lambda one: one.drift)
        for pieces in (one.pieces for one in good[:5]):
            moved = TransformerSchedule(pieces).moved(side) if pieces else side
            if _crowding(moved) <= SMALL:
                return pieces
    raise InputError(
        "attention does not make small clouds of these measures, apart from each other: their barycentres cannot be "
        "told apart, or they cover the sphere; take other measures, or another key."
    )


class _Draw(NamedTuple):
    """Pieces, and how they leave thinned clouds: `drift` is the way between halves of a sample over its radius."""

    pieces: list[TransformerPiece]
    crowding: float
    drift: float


def _halves(side: Side) -> Side:
    """Of every measure two halves of some tokens, as measures of their own, one after the other."""
    thin = [Measure(one.x[:THINNED], one.w[:THINNED]) for one in side.split()]
    parts = [Measure(one.x[k::2], one.w[k::2] / one.w[k::2].sum()) for one in thin for k in (0, min(1, len(one.x) - 1))]
    return Side.of(parts)


def _draw(halves: Side, count: int, rng: np.random.Generator) -> _Draw:
    pieces, side = [], halves
    for _ in range(count):
        alpha, T = _between(side, rng), float(rng.uniform(*TIMES))
        pieces.append(rank_one_attention(alpha, T))
        side = side._replace(x=boosted(side.x, alpha, rank_one_estimates(side, alpha, T)[side.owner]))
    whole = side._replace(w=side.w / 2, starts=side.starts[::2])
    half, both = _caps(side.split(), side.x[:0]), _caps(whole.split(), side.x[:0])
    away = _angle(side.x, both.centres[whole.owner])
    width = np.sqrt(np.add.reduceat(whole.w * away**2, whole.starts))
    drift = _angle(half.centres[::2], half.centres[1::2]) / np.maximum(width, 1e-12)
    return _Draw(pieces, _crowding(whole), float(drift.max()))


def _between(side: Side, rng: np.random.Generator) -> np.ndarray:
    """A direction near the one from a cloud to another, along which the two go to opposite ends."""
    centres = _caps(side.split(), side.x[:0]).centres[::2]
    noise = rng.normal(size=centres.shape[1]) / np.sqrt(centres.shape[1])
    if len(centres) == 1:
        alpha = centres[0] + NOISE * noise
    else:
        i, j = rng.choice(len(centres), 2, replace=False)
        way = centres[i] - centres[j]
        alpha = way + NOISE * np.linalg.norm(way) * noise
    return alpha / np.linalg.norm(alpha)


def _caps(clouds: list[Measure], points: np.ndarray) -> _Caps:
    """Caps around clouds, and points."""
    d = points.shape[1]
    centres = [one.w @ one.x / np.linalg.norm(one.w @ one.x) for one in clouds]
    angles = [float(np.max(_angle(one.x, c))) for one, c in zip(clouds, centres, strict=True)]
    return _Caps(np.concatenate([np.reshape(centres, (-1, d)), points]), np.append(angles, np.zeros(len(points))))


def _angle(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return 2 * np.arctan2(np.linalg.norm(x - y, axis=-1), np.linalg.norm(x + y, axis=-1))


def _crowding(side: Side) -> float:
    """The radius of a cloud over its way to the rim of the next one, at most; of one measure, over one."""
    caps = _caps(side.split(), np.zeros((0, side.x.shape[1])))
    way = _angle(caps.centres[:, None], caps.centres) - caps.angles
    np.fill_diagonal(way, 1.0)
    ratio = np.where(way > 0, caps.angles[:, None] / np.where(way > 0, way, 1), np.inf)
    return float(ratio.max())


def _away(side: Side, places: np.ndarray, rng: np.random.Generator) -> list[TransformerPiece]:
    """Nothing, if no target is near a cloud; otherwise a boost of all clouds to where no target is."""
    caps = _caps(side.split(), np.zeros((0, side.x.shape[1])))
    room = _room(caps)
    near = np.min(_angle(caps.centres[:, None], places), axis=1)
    if np.all(near > room):
        return []
    hole, angle = missing_direction(places, rng)
    tau = float(np.arctanh(np.cos(angle / 3)) - np.arctanh(np.min(side.x @ hole)))
    if angle < 0.05 or not np.isfinite(tau):
        raise InputError(f"targets come within {angle:.2g} of every direction; no place is left for the clouds.")
    return [boost(hole, tau)] if tau > 0 else []


def _room(caps: _Caps) -> np.ndarray:
    """How far around a cloud gates reach: twice the farthest centre."""
    way = _angle(caps.centres[:, None], caps.centres) - caps.angles
    np.fill_diagonal(way, 1.0)
    return 2 * DISTANCES[-1] * way.min(axis=1)


class _Cut(NamedTuple):
    """A gate and a band, which target atom they serve, what is left of the cloud, and the clearance."""

    pieces: list[TransformerPiece]
    which: int
    rest: Measure
    clearance: float


def _best_cut(
    left: Measure, others: _Caps, goals: np.ndarray, masses: np.ndarray, rng: np.random.Generator
) -> _Cut | None:
    """Of all draws of a cap and all target atoms, the gate and the band with the most room."""
    centre = left.w @ left.x / np.linalg.norm(left.w @ left.x)
    way = np.min(_angle(others.centres, centre) - others.angles, initial=1.0)
    found: _Cut | None = None
    for k in range(CAPS):
        u = rng.normal(size=len(centre))
        u -= (u @ centre) * centre
        distance = DISTANCES[k % len(DISTANCES)] * way
        z = np.cos(distance) * centre + np.sin(distance) * u / np.linalg.norm(u)
        for which, goal in enumerate(goals):
            cut = _cut(left, others, z, goal, masses[which] if len(goals) > 1 else np.inf, rng)
            if cut is not None and cut.clearance > max(LEAST, 0.0 if found is None else found.clearance):
                found = cut._replace(which=which)
    return found


def _cut(
    left: Measure, others: _Caps, z: np.ndarray, goal: np.ndarray, mass: float, rng: np.random.Generator
) -> _Cut | None:
    """The gate around z that cuts off the mass, and the band from z to the goal."""
    s = left.x @ z
    order = np.argsort(-s)
    count = int(np.argmin(np.abs(np.cumsum(left.w[order]) - mass))) + 1 if np.isfinite(mass) else len(order)
    rest = Measure(left.x[order[count:]], left.w[order[count:]])
    rim = float(s[order[count - 1]])
    below = max(others.along(z), float(s[order[count]]) if len(rest.x) else -1.0)
    if not rim > below or (len(rest.x) == 0 and np.isfinite(mass)):
        return None
    band = _band(z, goal, _caps([rest] if len(rest.x) else [], others.centres[:0]), others, rng)
    if band is None:
        return None
    level = (rim + below) / 2
    gate = cap_gate(z, level, amount_to_reach(level, min(RIM, (rim - level) / 2), 1e-12), role="cluster")
    return _Cut([gate, band[0]], 0, rest, band[1])


def _band(
    z: np.ndarray, goal: np.ndarray, rest: _Caps, others: _Caps, rng: np.random.Generator
) -> tuple[TransformerPiece, float] | None:
    """The band from z to the goal with the most room, if there is one."""
    gamma = orthogonal_draws(z[None], goal[None], 1 if len(z) == 3 else NORMALS, rng)[0]
    clear = np.minimum(others.beside(gamma), rest.beside(gamma))
    best = int(np.argmax(clear))
    return (walk(z, goal, gamma[best], SHARE * clear[best]), float(clear[best])) if clear[best] > LEAST else None
