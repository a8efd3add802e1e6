"""The ways to build a transport: what each needs, why it cannot be had, and its schedule for a number of switches."""

import abc

import numpy as np

from ..schedules import Schedule
from ._curve import curve_between
from ._images import before
from ._order_one import ordered
from ._problem import Problem
from .field import followed
from .grid import cell_averages, schedule_of_cells
from .laws import Samples, UniformBox
from .line import optimal_knots
from .ridge import gaussianized


class AbstractMethod(abc.ABC):
    """A way to build a transport."""

    name: str
    needs: str

    def usual(self, d: int) -> int:
        """Switches, where none are named."""
        return 100 * d - 1

    @abc.abstractmethod
    def why_not(self, problem: Problem) -> str | None:
        """What is missing, in a few words; `None` if nothing is."""

    @abc.abstractmethod
    def build(self, problem: Problem) -> Schedule:
        """A schedule within the budget, or the smallest one there is."""


class Knots(AbstractMethod):
    name = "knots"
    needs = "two laws on the line with distribution functions"

    def usual(self, d: int) -> int:
        return 65

    def why_not(self, problem: Problem) -> str | None:
        if problem.d > 1:
            return f"the target lives in dimension {problem.d}"
        unknown = [name for name, law in (("base", problem.base), ("target", problem.target)) if law.line is None]
        return f"the {unknown[0]} has no distribution functions" if unknown else None

    def build(self, problem: Problem) -> Schedule:
        return optimal_knots(problem.base, problem.target, max(problem.budget - 1, 2)).schedule


class Ridge(AbstractMethod):
    name = "ridge"
    needs = "samples of the target, or a way to draw them, and a Gaussian base"

    def why_not(self, problem: Problem) -> str | None:
        if problem.condition:
            return "it moves along oblique directions, also those of the condition"
        mixture = problem.base.mixture
        return None if mixture is not None and len(mixture.weights) == 1 else "the base is not Gaussian"

    def build(self, problem: Problem) -> Schedule:
        inner = ordered(problem, standard_base=True)
        return inner.finished(_ridge_steps(inner.problem, inner.problem.budget + 1, None))


class Field(AbstractMethod):
    name = "field"
    needs = "samples of both laws, or a way to draw them; of mixtures of Gaussians velocities are exact"

    def why_not(self, problem: Problem) -> str | None:
        return None

    def build(self, problem: Problem) -> Schedule:
        inner = ordered(problem)
        return inner.finished(_field(inner.problem, inner.problem.budget + 1))


class FieldAndRidge(AbstractMethod):
    name = "field+ridge"
    needs = Ridge.needs

    def why_not(self, problem: Problem) -> str | None:
        return METHODS["ridge"].why_not(problem)

    def build(self, problem: Problem) -> Schedule:
        """Two thirds of the pieces follow the field; ridge steps start from what their inverse makes of the target."""
        inner = ordered(problem, standard_base=True)
        pieces = inner.problem.budget + 1
        field = _field(inner.problem, max(2 * pieces // 3, 1))
        steps = _ridge_steps(inner.problem, pieces - field.pieces, field)
        return inner.finished(field if steps is None else steps.then(field))


class Grid(AbstractMethod):
    name = "grid"
    needs = "a density on the plane, and as base the uniform law on a box that holds its mass"

    def usual(self, d: int) -> int:
        return 32**2 + 8 * 32 - 7

    def why_not(self, problem: Problem) -> str | None:
        if problem.d != 2 or problem.condition:
            return "there is a condition" if problem.condition else f"the target lives in dimension {problem.d}"
        if not isinstance(problem.base, UniformBox):
            return "the base is not the uniform law on a box"
        return None if hasattr(problem.target, "log_density") else "the target has no density"

    def build(self, problem: Problem) -> Schedule:
        assert problem.base.box is not None
        n = max(int(np.sqrt(problem.budget + 23)) - 4, 2)  # n^2 + 8n - 7 switches
        return schedule_of_cells(cell_averages(problem.target, n, problem.base.box))


METHODS: dict[str, AbstractMethod] = {
    method.name: method for method in (Knots(), Grid(), Ridge(), Field(), FieldAndRidge())
}


def slabs(budget: int, d: int) -> tuple[int, int]:
    """Slabs of time and neurons in each, for a number of switches: what did best on the targets of the page."""
    pieces = budget + 1
    n_t = round(4 * (pieces / 60) ** 0.45)
    n_t = max(min(n_t, pieces // (5 * d + 5)), 1)  # room for an affine field in each
    return n_t, max((pieces // n_t + 1) // 2, 1)


def _field(problem: Problem, pieces: int) -> Schedule:
    n_t, m = slabs(pieces - 1, problem.d)
    curve = curve_between(problem.base, problem.target, problem.condition)
    return followed(curve, n_t, m, "strang", condition=problem.condition, rng=problem.rng)


def _ridge_steps(problem: Problem, pieces: int, last: Schedule | None) -> Schedule | None:
    """A schedule from the normal law to the target, to which `last` is added; `None` if nothing helps.

    Samples are refused steps by others that nothing was fitted to; a law that can be drawn from gives new ones.
    """
    K = min(8 if pieces < 300 else 12, max(pieces - 2, 2))
    target, held_back = problem.target, problem.held_back if isinstance(problem.target, Samples) else None
    if last is not None:
        target = before(target, last)
        held_back = None if held_back is None else last.inverse(held_back)
    steps = gaussianized(target, K, max(pieces // (K + 2), 1), problem.rng, held_back)
    return None if steps is None else steps.inverted
