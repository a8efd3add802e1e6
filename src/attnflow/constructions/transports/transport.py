r"""From one law to another by explicit pieces: one call for all ways to build them."""

import time
from collections.abc import Sequence

from ...checks import whole
from ...errors import InputError, shown
from ...spaces import Count, Key, draws
from ..schedules import Schedule
from ._condition import coordinates
from ._methods import METHODS, AbstractMethod
from ._problem import Problem
from .laws import Law, as_law
from .result import Transport
from .tail_check import tail_check


def transport(
    base: Law,
    target: Law,
    *,
    budget: Count | None = None,
    method: str = "auto",
    condition: Sequence[int] = (),
    key: Key | None = None,
) -> Transport:
    r"""A schedule of ReLU neurons with piecewise constant weights that takes the law `base` close to the law `target`.

    $$ \dot x = w(t)\,(\langle a(t), x\rangle + b(t))_+, \qquad (w, a, b) \text{ constant between switches.} $$

    **Arguments:**

    - `base`, `target`: laws of `af.constructions.laws`, frozen distributions of `scipy.stats`, or samples `(n, d)`.
    - `budget`: the largest number of switches, by default 65 for knots, 1273 for a grid, 100d − 1 else.
    - `method`: `"knots"` (the line, best knots), `"ridge"` (one direction after another, from samples), `"field"` (a
      curve of laws, any laws), `"field+ridge"` (a field, then ridge steps for what is left), `"grid"` (the plane,
      exact cell averages, from the uniform law on a box), or `"auto"`: knots on the line, the grid from a box, else
      of ridge, field and both the one that gives the largest density to points held back.
    - `condition`: coordinates that stay the same, exactly; the schedule then takes `base`, a law of the other
      coordinates, to the target given these.
    - `key`: for what is drawn, by default the same at every call.

    The result acts on points, has exact inverses and densities, and its `report()` gives both relative entropies and
    the total variation. Where the tails of the laws make one of them infinite, it says so.

    Alvarez-Lopez, Geshkovski, Ruiz-Balet, *Constructive approximate transport maps with normalizing flows*,
    arXiv:2412.19366. The constructions are ours, for the paper's claim; docs/theory/relu-transport.md derives them.

    >>> import attnflow as af
    >>> laws = af.constructions.laws
    >>> bridge = af.transport(laws.StandardNormal(), laws.GaussianMixture([-2.0, 2.0], 0.5), budget=33)
    >>> bridge.switches, bridge.report().kl
    (33, 0.002585)
    """
    base, target = as_law("base", base), as_law("target", target)
    fixed = coordinates(condition, target.d)
    if base.d != target.d - len(fixed):
        raise InputError(
            f"the base lives in dimension {base.d} and the target has {target.d - len(fixed)} coordinates to be made; "
            "give a base of that dimension."
        )
    if budget is not None:
        whole("budget", budget, least=3)
    problem = Problem.of(base, target, fixed, 3, draws(key))
    methods, refused = _possible(method, problem)
    start = time.perf_counter()
    tried: dict[str, tuple[float, Schedule]] = {}
    for one in methods:
        problem = Problem.of(
            base, target, fixed, one.usual(target.d) if budget is None else int(budget), draws(key)
        )
        schedule = one.build(problem)
        tried[one.name] = (_score(problem, schedule) if len(methods) > 1 else 0.0, schedule)
    within = {name: made for name, made in tried.items() if budget is None or made[1].switches <= budget}
    if not within:
        least = min(schedule.switches for _, schedule in tried.values())
        raise InputError(f"budget = {budget} switches are too few for these laws; give at least {least}.")
    best = max(within, key=lambda name: within[name][0])
    return Transport(
        schedule=tried[best][1],
        base=base,
        target=target,
        condition=fixed,
        method=best,
        tried={name: score for name, (score, _) in tried.items()} if len(tried) > 1 else {},
        not_tried=refused,
        check=tail_check(base, target),
        fitted=problem.target,
        judge=problem.judge,
        seconds=time.perf_counter() - start,
    )


def _possible(method: str, problem: Problem) -> tuple[list[AbstractMethod], dict[str, str]]:
    """The methods to try, and why others cannot be."""
    if not isinstance(method, str) or method not in ("auto", *METHODS):
        raise InputError(f"method = {shown(method)}; choose auto or one of {', '.join(METHODS)}.")
    refused = {name: why for name, one in METHODS.items() if (why := one.why_not(problem))}
    if method in refused:
        raise InputError(f"method {method!r} needs {METHODS[method].needs}, and {refused[method]}; take method='auto'.")
    if method != "auto":
        return [METHODS[method]], refused
    exact = [METHODS[name] for name in ("knots", "grid") if name not in refused]
    return exact[:1] or [METHODS[name] for name in ("ridge", "field", "field+ridge") if name not in refused], refused


def _score(problem: Problem, schedule: Schedule) -> float:
    """The mean log density of points that are held back."""
    known = getattr(problem.base, "log_density", None)
    if known is None:
        raise InputError("without a density of the base methods cannot be compared; name one by method=.")
    return float(schedule.log_density(problem.held_back, lambda x: known(x[:, problem.moving])).mean())
