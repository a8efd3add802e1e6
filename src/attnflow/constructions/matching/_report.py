"""What a built transformer costs, how near it comes, and what an independent integration says."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.spatial import KDTree

from ...errors import SolveError
from ...measures import wasserstein
from ...spaces import Key, Number
from ._integrate import integrated_by_simulate
from ._measure import Measure
from ._problem import Problem
from .schedule import TransformerSchedule

if TYPE_CHECKING:
    from .matching import MeasureMatching

NEAR = 1e-7  # tokens as near as that to one target atom count as one token

SMALLEST = 1e-13, 1e-10  # tolerances of the verification: bands magnify an error by their width, twice


class Another(NamedTuple):
    """Another sample of every law, of `tokens` tokens, moved by closed forms; not-a-number for measures of points.

    `distances`: $W_2$ to the target; `astray`: the part of the mass that a target point has too little of.
    """

    tokens: int
    distances: np.ndarray
    astray: np.ndarray

    @property
    def worst(self) -> int | None:
        """The number of the law that ends farthest away, if there is one."""
        return int(np.nanargmax(self.distances)) if np.isfinite(self.distances).any() else None

    def __repr__(self) -> str:
        if self.worst is None:
            return "there is no law among the sources"
        return (
            f"of another sample of {self.tokens} tokens, {self.astray[self.worst]:.2%} of source {self.worst} goes "
            f"astray, and it ends {self.distances[self.worst]:.2g} from its target"
        )


@dataclass(frozen=True, repr=False)
class MatchingReport:
    r"""What `report` found. Printed, it is a sentence.

    - `pieces`, `switches`, `counts`: intervals of constant weights, in all and for each purpose.
    - `bound`: the pieces of the paper's own construction for the same task, $2 + N(2d - 1) + 6M$ for $M$ atoms that
      move (Lemmas 3.2 and 3.3, Proposition 4.1), $O(dN)$ for targets that are points.
    - `T`, `norm` $= |\theta|_\infty$; `least_norm`: what it would be if the time were shared so that no piece is larger
      than the others (boosts and bands alone: V and W scale with the inverse of time, U and b do not).
    - `clearance`: the smallest distance of an atom at rest from the middle of a band.
    - `distances`: $W_2$ of every moved source to its target, by closed forms; `eps`, what was asked.
    - `another`: of laws, where another sample comes to.
    - `shares`: the part of the time T that every purpose takes; `seconds`: of the construction, by step.
    """

    pieces: int
    switches: int
    counts: dict[str, int]
    bound: int
    T: float
    norm: float
    least_norm: float
    clearance: float
    distances: np.ndarray
    eps: float
    another: Another
    shares: dict[str, float]
    seconds: dict[str, float]

    def __repr__(self) -> str:
        parts = ", ".join(f"{count} {role}" for role, count in self.counts.items())
        more = "" if self.another.worst is None else f" But {self.another!r}."
        return (
            f"{len(self.distances)} measure{'s' if len(self.distances) > 1 else ''}: {self.pieces} "
            f"piece{'s' if self.pieces > 1 else ''} ({parts}; the paper's construction has "
            f"{self.bound}), norm {self.norm:.3g}, clearance {self.clearance:.2g}, "
            f"largest W2 {self.distances.max():.2g}, built in {sum(self.seconds.values()):.2g} s.{more}"
        )


@dataclass(frozen=True, repr=False)
class Verification:
    """What `verify` found. Printed, it is a sentence.

    - `distances`: $W_2$ of every source to its target after the integration; `before`: at the start.
    - `difference`: the largest distance of a token from where the closed forms take it.
    - `another`: where another sample of every law comes to, by closed forms, of as many tokens as the first one had.
      Attention sees the barycentre of a sample, and rims lie where it has them: the mass that goes astray falls like
      the square root of the size of samples and no faster. `fresh`: its $W_2$ (`nan` for measures of points).
    - `steps`, `seconds` of the integration.
    """

    distances: np.ndarray
    before: np.ndarray
    difference: float
    another: Another
    steps: int
    seconds: float

    @property
    def fresh(self) -> np.ndarray:
        return self.another.distances

    def __repr__(self) -> str:
        more = "" if self.another.worst is None else f" And {self.another!r}."
        return (
            f"integrated in {self.steps} steps and {self.seconds:.2g} s: the largest W2 is {self.distances.max():.2g} "
            f"(at the start {np.nanmax(self.before):.2g}), {self.difference:.2g} from the closed forms.{more}"
        )


def report(matching: "MeasureMatching") -> MatchingReport:
    schedule, problem = matching.schedule, matching.problem
    N, atoms = len(problem.sources), sum(len(target.x) for target in problem.targets)
    moving = atoms if problem.to_points or problem.drawn else sum(len(source.x) for source in problem.sources)
    T = schedule.T
    roles = dict.fromkeys(schedule.counts)
    return MatchingReport(
        pieces=len(schedule),
        switches=schedule.switches,
        counts=schedule.counts,
        bound=2 + N * (2 * problem.d - 1) + 6 * moving,
        T=T,
        norm=schedule.norm,
        least_norm=sum(piece.speed * piece.T for piece in schedule) / T,
        clearance=matching.clearance,
        distances=matching.distances(),
        eps=matching.eps,
        another=matching.another,
        shares={role: sum(piece.T for piece in schedule if piece.role == role) / T for role in roles},
        seconds=matching.seconds,
    )


def verification(matching: "MeasureMatching", rtol: Number | None, atol: Number | None, key: Key) -> Verification:
    rtol = float(np.clip(1e-4 * matching.clearance**2, *SMALLEST)) if rtol is None else float(rtol)
    atol = rtol / 100 if atol is None else float(atol)
    sources, targets = matching.sources, matching.targets
    closed = matching.schedule.run([(one.x, one.w) for one in sources])
    begun = time.perf_counter()
    found, steps = integrated_by_simulate(matching.schedule, sources, rtol, atol)
    seconds = time.perf_counter() - begun
    return Verification(
        distances=np.array([distance(x, s.w, t) for x, s, t in zip(found, sources, targets, strict=True)]),
        before=np.array([distance(s.x, s.w, t) for s, t in zip(sources, targets, strict=True)]),
        difference=max(float(np.abs(x - y).max()) for x, y in zip(found, closed, strict=True)),
        another=another(matching.schedule, matching.problem, matching.another.tokens, key),
        steps=steps,
        seconds=seconds,
    )


def another(schedule: TransformerSchedule, problem: Problem, tokens: int, key: Key) -> Another:
    """Another sample of every law, and where it comes to."""
    found = np.full((2, len(problem.laws)), np.nan)
    if problem.drawn:
        fresh = problem.fresh(tokens, key)
        moved = schedule.run([(one.x, one.w) for one in fresh])
        for j, (law, x, one, target) in enumerate(zip(problem.laws, moved, fresh, problem.targets, strict=True)):
            if law is not None:
                found[:, j] = distance(x, one.w, target), astray(x, one.w, target)
    return Another(tokens, *found)


def astray(x: np.ndarray, w: np.ndarray, target: Measure) -> float:
    """The part of the mass of `(x, w)` that the points of the target have too little of."""
    return float(1 - np.minimum(_arrived(x, w, target.x)[1], target.w).sum())


def distance(x: np.ndarray, w: np.ndarray, target: Measure) -> float:
    """$W_2$ of `(x, w)` to the target, not-a-number where no exact plan is found.

    Tokens within 1e-7 of one target atom are taken as one, in their mean.
    """
    if len(target.x) == 1:
        return float(np.sqrt(w @ np.sum((x - target.x) ** 2, axis=1)))
    if len(target.x) < len(x):
        x, w = _gathered(x, w, target.x)
    equal = len(x) == len(target.x) and np.ptp(w) < 1e-12 and np.ptp(target.w) < 1e-12
    limit = max(len(x), len(target.x), 2000)
    if equal:
        return float(wasserstein(x, target.x, limit=limit))
    try:
        return float(wasserstein(x, target.x, 2, w, target.w, method="linprog", limit=limit))
    except SolveError:  # many unequal masses: a plan that is not certified is none
        return float("nan")


def _gathered(x: np.ndarray, w: np.ndarray, atoms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    where, mass = _arrived(x, w, atoms)
    here = where >= 0
    sums = np.stack([np.bincount(where[here], w[here] * c, len(atoms)) for c in x[here].T], axis=1)
    some = mass > 0
    weights = np.append(mass[some], w[~here])
    return np.concatenate([sums[some] / mass[some, None], x[~here]]), weights / weights.sum()


def _arrived(x: np.ndarray, w: np.ndarray, atoms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every token the number of the atom that it is at, or -1; and the mass at every atom."""
    away, nearest = KDTree(atoms).query(x)
    where = np.where(away < NEAR, nearest, -1)
    return where, np.bincount(where[where >= 0], w[where >= 0], len(atoms))
