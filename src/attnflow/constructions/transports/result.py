"""What `transport` returns: a schedule with the two laws it was built for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...checks import whole
from ...errors import InputError, shown
from ...spaces import Count, Key, Numbers, draws
from ..schedules import Schedule
from ..schedules.checked import doubles, points
from ._condition import coordinates
from .laws import AbstractLaw, Law, as_law
from .report import TransportReport, report_of
from .tail_check import TailCheck, tail_check


@dataclass(frozen=True, eq=False, repr=False)
class Transport:
    r"""A map $\Phi$ of explicit pieces that takes `base` close to `target`, with its inverse and exact densities.

    - `schedule`: the pieces. `method`: how they were built; `tried`: of all methods that were, the mean log density of
      points held back, and `not_tried`: why the others were not.
    - `condition`: coordinates that stay the same, exactly. Then the density is that of the others given these.
    - `check`: which divergences can be finite at all. `fitted`, `judge`: of samples, those that were fitted to, and
      those that were never looked at (else the target).
    """

    schedule: Schedule
    base: AbstractLaw
    target: AbstractLaw
    condition: tuple[int, ...]
    method: str
    tried: Mapping[str, float]
    not_tried: Mapping[str, str]
    check: TailCheck
    fitted: AbstractLaw
    judge: AbstractLaw
    seconds: float

    @classmethod
    def of(
        cls, schedule: Schedule, base: Law, target: Law, *, condition: Sequence[int] = (), method: str = "given"
    ) -> "Transport":
        """Any schedule with the two laws that it should connect, to sample from and to report on.

        What `grid_transport` gives has a better report with `method="grid"`.
        """
        start, goal = as_law("base", base), as_law("target", target)
        kept = coordinates(condition, goal.d)
        if not isinstance(schedule, Schedule):
            raise InputError(f"schedule = {shown(schedule)} is none; give a Schedule.")
        if schedule.d != goal.d or start.d != goal.d - len(kept):
            raise InputError(
                f"the schedule acts on R^{schedule.d}, the target lives in dimension {goal.d}, the base in {start.d}; "
                f"with {len(kept)} coordinates as a condition they do not fit."
            )
        return cls(schedule, start, goal, kept, method, {}, {}, tail_check(start, goal), goal, goal, 0.0)

    @property
    def d(self) -> int:
        """The dimension of points, with the condition."""
        return self.schedule.d

    @property
    def pieces(self) -> int:
        """The number of pieces of constant weights."""
        return self.schedule.pieces

    @property
    def switches(self) -> int:
        """How often the weights jump."""
        return self.schedule.switches

    @cached_property
    def moving(self) -> np.ndarray:
        """The coordinates that are no condition."""
        return np.setdiff1d(np.arange(self.d), self.condition)

    def forward(self, x: Numbers) -> np.ndarray:
        """Points `(n, d)` of the base, with the condition where there is one, after the schedule."""
        return self.schedule.forward(x)

    def inverse(self, y: Numbers) -> np.ndarray:
        """The points `(n, d)` that come to y."""
        return self.schedule.inverse(y)

    def log_density(self, y: Numbers) -> np.ndarray:
        r"""$\log\rho_T$ at points `(n, d)`, exactly; given their condition, where there is one."""
        known = getattr(self.base, "log_density", None)
        if known is None:
            raise InputError("the base is known by samples alone and has no density; give a law that has one.")
        return self.schedule.log_density(y, lambda x: known(x[:, self.moving]))

    def sample(self, n: Count, *, key: Key, given: Numbers | None = None) -> np.ndarray:
        """n points `(n, d)` of the law that was built.

        With a condition, `given (n, c)` or `(c,)` holds its values; by default they are those of samples of the target.
        """
        n, rng = whole("n", n), draws(key)
        x = np.empty((n, self.d))
        if self.condition:
            x[:, self.condition] = self._given(n, given, rng)
        elif given is not None:
            raise InputError("given = values of a condition, and this transport has none; leave it out.")
        x[:, self.moving] = self.base.draw(n, rng)
        return self.schedule.forward(x)

    def report(self, n: Count = 20_000, *, key: Key | None = None) -> TransportReport:
        """How close the law is to the target: both relative entropies and total variation, with standard errors."""
        return report_of(self, whole("n", n, least=100), draws(key))

    def explain(self) -> str:
        """What was built, of what, and what else might have been."""
        words = [f"{self.method}: {self.pieces} pieces of R^{self.d}, {self.switches} switches, from {self.base!r} to "
                 f"{self.target!r}, built in {self.seconds:.2g} s."]  # fmt: skip
        words += [f"{name}: mean log density {score:.4g} of points held back." for name, score in self.tried.items()]
        words += [f"{name}: not possible, {why}." for name, why in self.not_tried.items()]
        return "\n".join([*words, repr(self.check)])

    def __repr__(self) -> str:
        kept = f", condition {self.condition}" if self.condition else ""
        return f"Transport ({self.method}): {self.pieces} pieces of R^{self.d}, {self.switches} switches{kept}"

    def _given(self, n: int, given: Numbers | None, rng: np.random.Generator) -> np.ndarray:
        if given is None:
            return self.target.draw(n, rng)[:, self.condition]
        values = doubles("given", given)
        values = np.broadcast_to(values, (n, values.size)) if values.ndim == 1 else values
        checked = points("given", values, len(self.condition))
        if len(checked) != n:
            raise InputError(f"given has {len(checked)} rows and n = {n}; give one condition for each point, or one.")
        return checked
