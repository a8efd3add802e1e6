r"""The ways to a schedule: from measures side by side and their targets to pieces.

- *atoms*: attention moves measures apart if they share atoms, every atom walks home in a band of its own, and where
  targets share atoms the attention that would move those apart is undone at the end.
- *average*: all targets are points; $V = I$ makes points of the measures, and these walk home.
- *isolate*: the same by the paper's lemma, one measure after the other.
"""

from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError
from ._coupling import couple
from ._destinations import antipodal, destinations, groups
from ._measure import Measure, Side, unit
from ._problem import equal_pair
from .attention import full_averaging
from .boost import rank_one_attention
from .disentangle import separating, separation
from .gather import gathering, spreading
from .isolate import isolating
from .match_atoms import Blocked, Matched, bands
from .piece import TransformerPiece
from .schedule import TransformerSchedule

CLEAR = 1e-4  # a clearance that is good enough
ATTEMPTS = 3  # of attention, before the best clearance is taken as it is
APART = 1e-6  # atoms farther apart than that are not at one place
CLUSTERS = 0.6  # of the clearance, that a band for a cluster takes
ASYMPTOTIC = 1e-3  # a diameter from which on a cluster shrinks like e^-t
LONGEST = 60.0  # of an averaging piece
WAYS = 8  # to move measures before they are averaged, and as many after they were gathered
DISTINCT = 1e-3  # points that are farther apart than that are told apart
FEW = 1000  # atoms, that bands take where averaging does not
BAND = 0.02  # a cluster is at most that part of its band


class Built(NamedTuple):
    """The pieces, the smallest clearance of a band, and what was done."""

    pieces: list[TransformerPiece]
    clearance: float
    steps: tuple[str, ...]

    def after(self, pieces: list[TransformerPiece], step: str) -> "Built":
        """The same after some pieces, if there are any."""
        return Built([*pieces, *self.pieces], self.clearance, (step, *self.steps)) if pieces else self


def by_atoms(
    sources: list[Measure], targets: list[Measure], eps: float, rng: np.random.Generator, softmax: bool = False
) -> Built:
    """A band for every atom."""
    goal = _targets(sources, targets, rng)
    first, found, refused = Side.of(sources), [], None
    draws = ["none", *["softmax" if softmax else "generic"] * ATTEMPTS]
    for way in draws if not softmax and separation(first.x) > APART else draws[1:]:
        try:
            found.append(_through(first, goal, way, eps, rng))
        except Blocked as blocked:
            refused = blocked
            continue
        if found[-1].clearance > CLEAR:
            return found[-1]
    if not found and refused is not None:
        raise refused
    return max(found, key=lambda built: built.clearance)


def _through(first: Side, goal: "_Goal", way: Any, eps: float, rng: np.random.Generator) -> Built:
    """Attention of that kind (none, if atoms are apart anyway), bands, and what undoes the targets' attention."""
    apart = [] if way == "none" else separating(first, rng, way)
    moved = TransformerSchedule(apart).moved(first) if apart else first
    walked = _walked(moved, goal.side, eps, rng)
    steps = ("disentangle",) if apart else ()
    return Built([*apart, *walked.pieces, *goal.undo], walked.clearance, (*steps, *walked.steps, *goal.steps))


class _Goal(NamedTuple):
    side: Side
    undo: list[TransformerPiece]
    steps: tuple[str, ...]


def _targets(sources: list[Measure], targets: list[Measure], rng: np.random.Generator) -> _Goal:
    """The targets as they are, or moved apart by attention that is undone at the end.

    Where measures share some of their target atoms, or have antipodal ones, that is possible; where equal measures are
    wanted, or atoms merge, it is not, and a gate merges what shares a place. Targets that are all in one small cap are
    spread before.
    """
    side = Side.of(targets)
    spread = spreading(side.x)
    if spread:
        side = TransformerSchedule(spread).moved(side)
        targets = side.split()
    home = list(TransformerSchedule(spread).reversed().pieces) if spread else []
    group = groups(side.x)
    shared = len(group) > group.max() + 1 or antipodal(side.x)
    merging = any(len(source.x) > len(target.x) for source, target in zip(sources, targets, strict=True))
    if not shared or merging or equal_pair(targets) is not None:
        return _Goal(side, home, ("undo",) if home else ())
    pieces = separating(side, rng)
    moved = TransformerSchedule(pieces).moved(side)
    return _Goal(moved, [*TransformerSchedule(pieces).reversed().pieces, *home], ("undo",))


def _walked(first: Side, last: Side, eps: float, rng: np.random.Generator) -> Built:
    """Bands, and gates where targets are shared."""
    ends = []
    for j, (source, target) in enumerate(zip(first.split(), last.split(), strict=True)):
        ends.append(target.x[couple(f"pair {j}", source, target)])
    there = destinations(np.concatenate(ends), eps, rng)
    matched = bands(first.x, there.places, rng)
    return Built([*matched.pieces, *there.gates], matched.clearance, ("match", *(("merge",) if there.gates else ())))


def by_average(sources: list[Measure], targets: list[Measure], eps: float, rng: np.random.Generator) -> Built:
    """V = I until every measure is a point beside its band, then a band for each."""
    side = Side.of(sources)
    there = destinations(np.concatenate([target.x for target in targets]), eps, rng)
    before, steps = _collapsing(side, rng)
    start = TransformerSchedule(before).moved(side) if before else side
    T = _contraction_time(start)
    averaged = _averaged(start, there.places, T, rng)
    for _ in range(3):  # bands are as wide as clusters stand, and clusters must be narrow against bands
        wanted = _wanted(averaged.matched, eps)
        if averaged.widest <= wanted or T >= LONGEST:
            break
        T = min(T + float(np.log(averaged.widest / wanted)) + 0.5, LONGEST)
        averaged = _averaged(start, there.places, T, rng)
    pieces = [*before, averaged.piece, *averaged.matched.pieces, *there.gates]
    merge = ("merge",) if there.gates else ()
    return Built(pieces, averaged.matched.clearance, (*steps, "average", "match", *merge))


def by_average_or_atoms(
    sources: list[Measure], targets: list[Measure], eps: float, rng: np.random.Generator
) -> Built:
    """The few pieces of averaging; where barycentres do not tell measures apart, a band for every atom."""
    try:
        return by_average(sources, targets, eps, rng)
    except InputError:
        if sum(len(source.x) for source in sources) > FEW:
            raise
        return by_atoms(sources, targets, eps, rng)


class _Averaged(NamedTuple):
    piece: TransformerPiece
    matched: Matched
    widest: float


def _averaged(start: Side, places: np.ndarray, T: float, rng: np.random.Generator) -> _Averaged:
    """V = I for the time T, the bands for the centres of the clusters, and the diameter of the widest cluster."""
    piece = full_averaging(start.x.shape[1], T)
    clusters = TransformerSchedule([piece]).moved(start)
    return _Averaged(piece, bands(_centres(clusters), places, rng, CLUSTERS), float(diameters(clusters).max()))


def _wanted(matched: Matched, eps: float) -> float:
    """The diameter of clusters that a band carries within eps: beside its middle it is slower by the distance."""
    narrow = min((float(piece.b[0]) for piece in matched.pieces), default=1.0)
    slow = max((float(np.linalg.norm(piece.W[:, 0]) * piece.b[0]) for piece in matched.pieces), default=1.0)
    return min(BAND * narrow, eps * narrow / (2 * max(slow, 1.0)))


def _collapsing(side: Side, rng: np.random.Generator) -> tuple[list[TransformerPiece], tuple[str, ...]]:
    """What must come before averaging, so that it makes one point of each measure and different ones of all."""
    gathered = None
    for draw in range(2 * WAYS):
        start: list[TransformerPiece] = []
        if draw >= WAYS:  # not without the boosts of Lemma 3.2
            gathered = gathering(side.x, rng) if gathered is None else gathered
            start = [*gathered]
        if draw % WAYS:
            alpha = unit(rng.normal(size=side.x.shape[1]))
            start.append(rank_one_attention(alpha, float(rng.uniform(0.5, 3.0))))
        if _makes_points(side, start):
            steps = (("gather",) if draw >= WAYS else ()) + (("disentangle",) if draw % WAYS else ())
            return start, steps
    raise InputError(
        "averaging does not make different points of these measures: their barycentres are zero, or cannot be told "
        "apart; take method='generic' after moving them, or other measures."
    )


def _makes_points(side: Side, start: list[TransformerPiece]) -> bool:
    """Whether V = I makes different points of the measures, after these pieces."""
    moved = TransformerSchedule(start).moved(side) if start else side
    try:
        averaging = full_averaging(side.x.shape[1], _contraction_time(moved))
    except NotContracted:
        return False
    return separation(_centres(TransformerSchedule([averaging]).moved(moved))) > DISTINCT


class NotContracted(Exception):
    """A measure stays wide under averaging: its barycentre is zero, or nearly so."""


def _contraction_time(side: Side) -> float:
    """How long V = I takes until every measure is narrow."""
    d, T, moved = side.x.shape[1], 0.0, side
    while diameters(moved).max() > ASYMPTOTIC:
        if T >= LONGEST / 2:
            raise NotContracted
        moved = TransformerSchedule([full_averaging(d, 3.0)]).moved(moved)
        T += 3.0
    return max(T, 1.0)


def by_isolation(sources: list[Measure], targets: list[Measure], eps: float, rng: np.random.Generator) -> Built:
    """Gather, then Lemma 3.3 for every measure, then a band for each."""
    side = Side.of(sources)
    there = destinations(np.concatenate([target.x for target in targets]), eps, rng)
    gathered = gathering(side.x, rng)
    moved = TransformerSchedule(gathered).moved(side)
    alone = isolating(moved)
    centres = _centres(TransformerSchedule(alone).moved(moved) if alone else moved)
    matched = bands(centres, there.places, rng, CLUSTERS)
    steps = ("gather", "isolate", "match", *(("merge",) if there.gates else ()))
    return Built([*gathered, *alone, *matched.pieces, *there.gates], matched.clearance, steps)


def diameters(side: Side) -> np.ndarray:
    """An upper bound of the diameter of every measure: twice its radius around the centre."""
    away = np.linalg.norm(side.x - _centres(side)[side.owner], axis=1)
    return 2 * np.maximum.reduceat(away, side.starts)


def _centres(side: Side) -> np.ndarray:
    return unit(np.add.reduceat(side.w[:, None] * side.x, side.starts))
