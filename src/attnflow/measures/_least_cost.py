r"""The cheapest plan to relative accuracy, from solvers that have absolute tolerances.

A solver does not resolve costs far below the largest one. Two facts of network flows (Tardos, *A strongly polynomial
minimum cost circulation algorithm*, Combinatorica 5, 1985) allow to refine its plan. Let $u_i + v_j$ be any
potentials and $r_{ij} = c_{ij} - u_i - v_j$:

- costs $r$ have the same cheapest plans as costs $c$;
- if $r \ge -\delta$ everywhere and $r \le \delta$ where the plan moves mass, then no cheapest plan moves mass where
  $r_{ij} > (n + m)\,\delta$: there the cost may be cut off, and the rest magnified.

First with $u = v = 0$: distances are measured by the longest one that the plan uses, again and again. An order $p$ far
above 8 is reached by steps of four, because $(\ell/L)^p$ is invisible for most lengths. Then with the potentials of the
solver, until the plan's cost is certified: $\sum P_{ij}r_{ij} - \min r$ bounds what can be saved.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..errors import SolveError
from ._checked import ROUNDING, moves
from ._lengths import power_mean

SEEN = 1e-3  # costs down to this part of the largest are held apart by every solver
CERTAIN = 1e-10  # of the distance: no plan that may be longer than the best one by more is given out
PASSES = 20
GRID = 2.0**-40  # of the largest cost: sums of potentials on it do not round


class Plan(NamedTuple):
    """`mass` moves from point `i` to point `j`; `u` and `v` are potentials, for solvers that have them."""

    i: np.ndarray
    j: np.ndarray
    mass: np.ndarray
    u: np.ndarray | None = None
    v: np.ndarray | None = None


Solver = Callable[[np.ndarray, np.ndarray, np.ndarray], Plan]  # costs, masses, masses


def least_mean(lengths: np.ndarray, a: np.ndarray, b: np.ndarray, p: float, solve: Solver) -> float:
    r"""$\min_P\big(\sum P_{ij}\ell_{ij}^p\big)^{1/p}$ over plans between masses `a` and `b`, divided by their sum."""
    unit, plan, costs = float(lengths.max()), None, lengths
    for q in _orders(p):
        before = np.inf
        while 0 < unit < SEEN ** (1 / q) * before:
            before = unit
            with np.errstate(over="ignore", under="ignore"):
                costs = np.minimum((lengths / unit) ** q, sum(lengths.shape))
            plan = _settled(solve(costs, a, b), a, b)
            unit = float(lengths[plan.i, plan.j].max())
    if plan is None:
        return 0.0
    plan = _certified(plan, costs, a, b, p, solve) if unit > 0 else plan
    plan = _with_the_lightest(plan, lengths, a, b)
    return float(power_mean(lengths[plan.i, plan.j], plan.mass / a.sum(), p))


def _orders(p: float) -> list[float]:
    """Up to `p` by steps of at most four, from 8 on."""
    return [p] if p <= 8 else [*_orders(p / 4), p]


def _settled(plan: Plan, a: np.ndarray, b: np.ndarray) -> Plan:
    """Without masses that are the rounding of others; a solver that lost mass is an error."""
    lost = max(np.abs(np.bincount(k, plan.mass, len(w)) - w).max() for k, w in ((plan.i, a), (plan.j, b)))
    if not lost <= ROUNDING * a.sum():
        raise SolveError(f"the solver lost {lost / a.sum():.1g} of the mass; take another method.")
    least = np.minimum(a[plan.i], b[plan.j])
    kept = (plan.mass > 0) & moves(plan.mass / a.sum(), least / a.sum())
    return plan._replace(i=plan.i[kept], j=plan.j[kept], mass=plan.mass[kept])


def _with_the_lightest(plan: Plan, lengths: np.ndarray, a: np.ndarray, b: np.ndarray) -> Plan:
    """Points of so little mass that the solver passed over them go to the nearest point, whose mass this does not
    change beyond rounding.
    """
    i, j = (np.flatnonzero(2 * np.bincount(k, plan.mass, len(w)) < w) for k, w in ((plan.i, a), (plan.j, b)))
    return Plan(
        np.concatenate([plan.i, i, lengths[:, j].argmin(axis=0)]),
        np.concatenate([plan.j, lengths[i].argmin(axis=1), j]),
        np.concatenate([plan.mass, a[i], b[j]]),
    )


def _certified(plan: Plan, costs: np.ndarray, a: np.ndarray, b: np.ndarray, p: float, solve: Solver) -> Plan:
    """The plan, or better ones, until no other can be shorter by more than `CERTAIN`."""
    current, unit, doubt = costs, 1.0, np.inf  # the costs without the potentials so far, in units
    for _ in range(PASSES):
        if plan.u is None or plan.v is None:
            return plan
        reduced = current - (plan.u[:, None] + plan.v[None, :])
        gap = unit * (plan.mass @ reduced[plan.i, plan.j] - min(reduced.min(), 0.0) * a.sum())
        doubt = float(gap / (p * (plan.mass @ costs[plan.i, plan.j])))
        if doubt <= CERTAIN:
            return plan
        grid = GRID * 2.0 ** np.ceil(np.log2(np.abs(current).max()))
        u, v = (np.round(potential / grid) * grid for potential in (plan.u, plan.v))
        reduced = current - (u[:, None] + v[None, :])
        slack = float(max(reduced[plan.i, plan.j].max(), -reduced.min(), grid))
        unit, current = unit * slack, np.minimum(reduced / slack, sum(costs.shape))
        plan = _settled(solve(current, a, b), a, b)
    raise SolveError(f"the plan found may be longer than the best one by {doubt:.1g} of it; take another method.")
