"""What a built transformer costs, how near it comes, and what an independent integration says."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax
import numpy as np

from ...errors import SolveError
from ...measures import wasserstein
from ...spaces import Key, Number
from ._integrate import integrated_by_simulate
from ._measure import Measure

if TYPE_CHECKING:
    from .matching import MeasureMatching

NEAR = 1e-7  # tokens as near as that to one target atom count as one token
FRESH = 2000  # tokens of another sample of a law


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
    shares: dict[str, float]
    seconds: dict[str, float]

    def __repr__(self) -> str:
        parts = ", ".join(f"{count} {role}" for role, count in self.counts.items())
        return (
            f"{len(self.distances)} measures: {self.pieces} pieces ({parts}; the paper's construction has "
            f"{self.bound}), norm {self.norm:.3g}, clearance {self.clearance:.2g}, "
            f"largest W2 {self.distances.max():.2g}, built in {sum(self.seconds.values()):.2g} s."
        )


@dataclass(frozen=True, repr=False)
class Verification:
    """What `verify` found. Printed, it is a sentence.

    - `distances`: $W_2$ of every source to its target after the integration; `before`: at the start.
    - `difference`: the largest distance of a token from where the closed forms take it.
    - `fresh`: of laws, $W_2$ of another sample, moved by closed forms (`nan` for measures that were given as points).
      Attention sees the barycentre of the sample, so that this falls like the square root of its size and no faster.
    - `steps`, `seconds` of the integration.
    """

    distances: np.ndarray
    before: np.ndarray
    difference: float
    fresh: np.ndarray
    steps: int
    seconds: float

    def __repr__(self) -> str:
        again = np.nanmax(self.fresh) if np.isfinite(self.fresh).any() else None
        more = "" if again is None else f" Another sample of {FRESH} tokens ends at most {again:.2g} away."
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
        shares={role: sum(piece.T for piece in schedule if piece.role == role) / T for role in roles},
        seconds=matching.seconds,
    )


def verification(matching: "MeasureMatching", rtol: Number, atol: Number, key: Key) -> Verification:
    sources, targets = matching.sources, matching.targets
    closed = matching.schedule.run([(one.x, one.w) for one in sources])
    begun = time.perf_counter()
    found, steps = integrated_by_simulate(matching.schedule, sources, float(rtol), float(atol))
    seconds = time.perf_counter() - begun
    return Verification(
        distances=np.array([distance(x, s.w, t) for x, s, t in zip(found, sources, targets, strict=True)]),
        before=np.array([distance(s.x, s.w, t) for s, t in zip(sources, targets, strict=True)]),
        difference=max(float(np.abs(x - y).max()) for x, y in zip(found, closed, strict=True)),
        fresh=_fresh(matching, key),
        steps=steps,
        seconds=seconds,
    )


def _fresh(matching: "MeasureMatching", key: Key) -> np.ndarray:
    laws = matching.problem.laws
    if not matching.problem.drawn:
        return np.full(len(laws), np.nan)
    others = matching.fresh(FRESH, key=jax.random.fold_in(key, 1))
    moved = matching.schedule.run([(one.x, one.w) for one in others])
    return np.array([
        np.nan if law is None else distance(x, one.w, target)
        for law, x, one, target in zip(laws, moved, others, matching.targets, strict=True)
    ])  # fmt: skip


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
    away = np.linalg.norm(x[:, None] - atoms, axis=2)
    nearest, here = away.argmin(axis=1), away.min(axis=1) < NEAR
    mass = np.bincount(nearest[here], w[here], len(atoms))
    sums = np.stack([np.bincount(nearest[here], w[here] * c, len(atoms)) for c in x[here].T], axis=1)
    some = mass > 0
    weights = np.append(mass[some], w[~here])
    return np.concatenate([sums[some] / mass[some, None], x[~here]]), weights / weights.sum()
