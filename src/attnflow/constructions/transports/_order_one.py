"""A problem between laws of order one, and how its schedule becomes that of the problem that was given.

Base and target may stand anywhere and have any scale. On coordinates that move, affine pieces before and after do the
rest. Coordinates that are a condition must not move; neurons are written in their units, which takes no pieces.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..schedules import AbstractPiece, ReluPiece, ReluPieces, Schedule
from ._affine import Affine, moments
from ._images import marginal
from ._problem import Problem


@dataclass(frozen=True, eq=False)
class Ordered:
    """`problem` is the one of order one; its schedule stands between the pieces `before` and `after`."""

    problem: Problem
    before: list[AbstractPiece]
    after: list[AbstractPiece]
    conditions: Affine

    def finished(self, middle: Schedule | None) -> Schedule:
        """The schedule of the given problem; where nothing helps, one piece that does not move."""
        kept = [] if middle is None else [_in_units_of(self.conditions, middle)]
        pieces = [*self.before, *kept, *self.after]
        return Schedule(pieces or [ReluPiece.translation(np.zeros(len(self.conditions.mean)))])


def ordered(problem: Problem, *, standard_base: bool = False) -> Ordered:
    """The problem of order one; with `standard_base`, a Gaussian base becomes N(0, I) exactly."""
    d, moving, fixed = problem.d, problem.moving, list(problem.condition)
    base = moments("base", problem.base, problem.rng)
    if base.near_identity and not standard_base:
        base = _identity(len(moving))
    generated = moments("target", marginal(problem.target, moving), problem.rng)
    if generated.near_identity:
        generated = _identity(len(moving))
    conditions = _identity(d)
    if fixed:
        spread = moments("condition", marginal(problem.target, np.array(fixed)), problem.rng)
        conditions.mean[fixed] = spread.mean
        conditions.matrix[fixed, fixed] = np.linalg.norm(spread.matrix, axis=1)
    before, after = _on(base, d, moving), _on(generated, d, moving)
    whole = Affine(after.mean + conditions.mean, after.matrix @ conditions.matrix)
    spent = [*before.inverse_pieces, *after.pieces]
    inner = replace(
        problem,
        base=base.law_before(problem.base),
        target=whole.law_before(problem.target),
        held_back=whole.inverse(problem.held_back),
        budget=max(problem.budget - sum(piece.count for piece in spent), 1),
    )
    return Ordered(inner, before.inverse_pieces, after.pieces, conditions)


def _identity(d: int) -> Affine:
    return Affine(np.zeros(d), np.eye(d))


def _on(affine: Affine, d: int, moving: np.ndarray) -> Affine:
    """The map on some of d coordinates."""
    whole = _identity(d)
    whole.mean[moving] = affine.mean
    whole.matrix[np.ix_(moving, moving)] = affine.matrix
    return whole


def _in_units_of(conditions: Affine, schedule: Schedule) -> Schedule:
    """Neurons that read coordinates in other units: a diagonal map, conjugated into their directions and biases."""
    if not conditions.mean.any() and np.array_equal(conditions.matrix, np.eye(schedule.d)):
        return schedule
    neurons = ReluPieces.of(*schedule.blocks)  # type: ignore[arg-type]  # a field is made of neurons alone
    A = neurons.A / np.diagonal(conditions.matrix)
    return Schedule.from_arrays(neurons.W, A, neurons.b - A @ conditions.mean, neurons.t)
