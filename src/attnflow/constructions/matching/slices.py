r"""Measures with a density become atoms: cut a slice off, make a point of it, take it home, cut the next one.

Attention moves the measures into small caps far from each other (`_apart`). Then, for every target atom of mass v, a
gate on a cap whose rim cuts off a slice of mass v (the last slice is what is left) moves the slice to the centre of the
cap, and a band takes it home. Points at the distance $\varepsilon$ from the rim need the time $\log(1/\varepsilon)$
only, so that almost nothing is left between. That is $2M$ pieces for M target atoms.

Another sample of a law has another barycentre, and attention moves it a little farther, or less far. Parts of the
sample, each moved as a measure of its own, show what that does: of all rims that cut the mass off the sample, that one
is taken which comes closest to it on the parts. A measure that was given as points is cut atom by atom.

Where a target lies near a cloud, all clouds are boosted away from all targets before.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from ._apart import Caps, caps_of, parts_of, ways_apart
from ._coupling import couple
from ._destinations import destinations
from ._measure import Measure, Side, angles, unit
from ._routes import Built
from .boost import boost
from .cap_gate import amount_to_reach, cap_gate
from .gather import missing_direction
from .match_atoms import SHARE, orthogonal_draws, walk
from .piece import TransformerPiece
from .schedule import TransformerSchedule

PIECES = 6  # of attention, at most
PLANS = 4  # that are made, if some mass goes astray
PARTS = 16  # of a sample, by which rims are compared
CAPS = 60  # draws of a cap
DISTANCES = (0.3, 0.5)  # of the centre of a cap, over the way to the next cloud
NORMALS = 24  # draws of a band in d > 3
RIM = 1e-9  # nearer to the rim than that tokens may be left behind
LEAST, CLEAR = 1e-5, 1e-3  # clearance of a band, and one that is good enough


class _Cloud(NamedTuple):
    """What is left of a measure and of the parts of its sample; the places that wait for it, and their masses.

    With `by_mass` slices are cut; otherwise atoms, and each place waits for one, in the order of `left`.
    """

    left: Measure
    parts: Side
    goals: np.ndarray
    masses: np.ndarray
    by_mass: bool

    def without(self, z: np.ndarray, level: float, which: int) -> "_Cloud":
        inside, out = self.left.x @ z > level, self.parts.x @ z <= level
        starts = np.searchsorted(np.flatnonzero(out), self.parts.starts)
        return _Cloud(
            Measure(self.left.x[~inside], self.left.w[~inside]),
            Side(self.parts.x[out], self.parts.w[out], starts),
            np.delete(self.goals, which, axis=0),
            np.delete(self.masses, which),
            self.by_mass,
        )


def by_slices(
    sources: list[Measure], targets: list[Measure], eps: float, rng: np.random.Generator, laws: Sequence[bool]
) -> Built:
    """A gate and a band for every atom of the targets, or of a source that was given as points."""
    ends = [
        target if law or len(target.x) == 1 else Measure(target.x[couple(f"pair {j}", source, target)], source.w)
        for j, (source, target, law) in enumerate(zip(sources, targets, laws, strict=True))
    ]
    there = destinations(np.concatenate([end.x for end in ends]), eps, rng)
    goals = [Measure(*pair) for pair in zip(_split(there.places, ends), (end.w for end in ends), strict=True)]
    refused: Exception = Uncut(
        "attention does not make small clouds of these measures, apart from each other: their barycentres cannot be "
        "told apart, or they cover the sphere; take other measures, or another key."
    )
    for count in range(PIECES + 1):
        plans: list[_Plan] = []
        for attention in ways_apart(Side.of(sources), laws, count, rng):
            try:
                plans.append(_plan(attention, sources, laws, goals, rng))
            except Uncut as error:
                refused = error
            if len(plans) == PLANS or (plans and plans[-1].astray == 0):
                break
        if plans:
            best = min(plans, key=lambda plan: plan.astray)
            merge = ("merge",) if there.gates else ()
            return Built([*best.pieces, *there.gates], best.clearance, (*best.steps, "slice", *merge))
    raise refused


class Uncut(InputError):
    """No gate cuts off what it should."""


class _Plan(NamedTuple):
    """Pieces, what they do, the smallest clearance, and how much of the parts of a sample goes astray, at most."""

    pieces: list[TransformerPiece]
    steps: tuple[str, ...]
    clearance: float
    astray: float


def _plan(
    attention: list[TransformerPiece],
    sources: list[Measure],
    laws: Sequence[bool],
    goals: list[Measure],
    rng: np.random.Generator,
) -> _Plan:
    """A gate and a band for every goal, after attention has moved the measures apart."""
    away = _away(_moved(attention, Side.of(sources)), np.concatenate([goal.x for goal in goals]), rng)
    pieces, clouds = [*attention, *away], []
    for source, law, goal in zip(sources, laws, goals, strict=True):
        left, parts = (_moved(pieces, Side.of(some)) for some in ([source], parts_of(source, PARTS, law)))
        clouds.append(_Cloud(left.split()[0], parts, goal.x, goal.w, law or len(goal.x) == 1))
    least, lost, done = np.inf, np.zeros(len(clouds)), np.zeros((0, sources[0].x.shape[1]))
    for j, cloud in enumerate(clouds):
        left = cloud
        while len(left.masses):
            cut = _best_cut(left, caps_of([one.left for one in clouds[j + 1 :]], done), rng)
            if cut is None:
                raise Uncut(
                    f"no gate cuts the mass {left.masses[0]:.3g} off measure {j} without touching others; take another "
                    "key, or fewer atoms."
                )
            pieces, least = [*pieces, *cut.pieces(left.goals[cut.which])], min(least, cut.clearance)
            lost[j] += cut.astray
            done = np.concatenate([done, left.goals[cut.which][None]])
            left = left.without(cut.z, cut.level, cut.which)
    steps = [name for name, part in (("disentangle", attention), ("gather", away)) if part]
    return _Plan(pieces, tuple(steps), least, float(lost.max()))


def _split(x: np.ndarray, like: list[Measure]) -> list[np.ndarray]:
    return np.split(x, np.cumsum([len(one.x) for one in like])[:-1])


def _moved(pieces: list[TransformerPiece], side: Side) -> Side:
    return TransformerSchedule(pieces).moved(side) if pieces else side


def _away(side: Side, places: np.ndarray, rng: np.random.Generator) -> list[TransformerPiece]:
    """Nothing, if no target is near a cloud; otherwise a boost of all clouds to where no target is."""
    caps = caps_of(side.split())
    room = 2 * DISTANCES[-1] * caps.ways  # how far around a cloud gates reach: twice the farthest centre
    near = np.min(angles(caps.centres[:, None], places), axis=1)
    if np.all(near > room):
        return []
    hole, angle = missing_direction(places, rng)
    tau = float(np.arctanh(np.cos(angle / 3)) - np.arctanh(np.min(side.x @ hole)))
    if angle < 0.05 or not np.isfinite(tau):
        raise InputError(f"targets come within {angle:.2g} of every direction; no place is left for the clouds.")
    return [boost(hole, tau)] if tau > 0 else []


class _Cut(NamedTuple):
    """Which place a slice goes to, its cap and the margin of its rim, its band, and how much of parts goes astray."""

    which: int
    z: np.ndarray
    level: float
    margin: float
    gamma: np.ndarray
    clearance: float
    astray: float

    def pieces(self, goal: np.ndarray) -> list[TransformerPiece]:
        """The gate that makes a point of the slice, and the band that takes it home."""
        amount = amount_to_reach(self.level, min(RIM, self.margin / 2), 1e-12)
        band = walk(self.z, goal, self.gamma, SHARE * self.clearance)
        return [cap_gate(self.z, self.level, amount, role="cluster"), band]

    @property
    def worth(self) -> tuple[float, float]:
        return min(self.clearance, CLEAR), -self.astray


def _best_cut(cloud: _Cloud, others: Caps, rng: np.random.Generator) -> _Cut | None:
    """Of all draws of a cap and all places that wait, the gate and the band with room that send the least astray."""
    centre = caps_of([cloud.left]).centres[0]
    way = np.min(angles(others.centres, centre) - others.angles, initial=1.0)
    found: _Cut | None = None
    for k in range(CAPS):
        u = rng.normal(size=len(centre))
        u -= (u @ centre) * centre
        distance = DISTANCES[k % len(DISTANCES)] * way
        z = np.cos(distance) * centre + np.sin(distance) * unit(u)
        heights = _Heights.of(cloud, z)
        for which in range(len(cloud.masses)) if cloud.by_mass else heights.order[:1]:
            cut = _cut(cloud, others, heights, int(which), rng)
            if cut is not None and (found is None or cut.worth > found.worth):
                found = cut
    return found


class _Heights(NamedTuple):
    """<x, z> of what is left and of its parts, the order from z outwards, and the mass up to each."""

    z: np.ndarray
    left: np.ndarray
    parts: np.ndarray
    order: np.ndarray
    sums: np.ndarray

    @classmethod
    def of(cls, cloud: _Cloud, z: np.ndarray) -> "_Heights":
        left = cloud.left.x @ z
        order = np.argsort(-left)
        return cls(z, left, cloud.parts.x @ z, order, np.cumsum(cloud.left.w[order]))


def _cut(
    cloud: _Cloud, others: Caps, heights: _Heights, which: int, rng: np.random.Generator
) -> _Cut | None:
    """The cap around z that cuts off the mass of a place, if there is one, and the band from z to it."""
    z, s, order = heights.z, heights.left, heights.order
    count, last = len(order), len(cloud.masses) == 1
    if not last:
        count = int(np.argmin(np.abs(heights.sums - cloud.masses[which]))) + 1 if cloud.by_mass else 1
        if count == len(order):
            return None
    rim = float(s[order[count - 1]])
    below = max(others.along(z), -1.0 if last else float(s[order[count]]))
    if not rim > below:
        return None
    level, beyond = (rim + below) / 2, order[count:]
    rest = [] if last else [Measure(cloud.left.x[beyond], cloud.left.w[beyond])]
    band = _band(z, cloud.goals[which], rest, others, rng)
    if band is None:
        return None
    parts, inside = cloud.parts, heights.parts > level
    got = np.bincount(parts.owner[inside], parts.w[inside], len(parts.starts))
    wanted = parts.masses if last else cloud.masses[which]
    return _Cut(which, z, level, rim - level, *band, float(np.mean(np.abs(got - wanted))))


def _band(
    z: np.ndarray, goal: np.ndarray, rest: list[Measure], others: Caps, rng: np.random.Generator
) -> tuple[np.ndarray, float] | None:
    """The normal of the band from z to the goal with the most room, if there is one, and its clearance."""
    gamma = orthogonal_draws(z[None], goal[None], 1 if len(z) == 3 else NORMALS, rng)[0]
    clear = np.minimum(others.beside(gamma), caps_of(rest, np.zeros((0, len(z)))).beside(gamma))
    best = int(np.argmax(clear))
    return (gamma[best], float(clear[best])) if clear[best] > LEAST else None
