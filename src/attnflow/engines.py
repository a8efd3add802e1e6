"""Ways to compute the same thing, and the one function that chooses between them.

The sums over pairs have engines (`attnflow.pairsums.engines`), and so have the trajectories of an ensemble
(`attnflow.flows.engines`), one file each. An engine of another package is one file, too: an instance of a subclass of
`pairsums.AbstractPairSumEngine` or `flows.AbstractTrajectoryEngine`, and an entry point in the group of that name,

    [project.entry-points."attnflow.pairsums.engines"]
    mine = "my_package.mine:ENGINE"
"""

import abc
import functools
from typing import Any, ClassVar, Literal, NamedTuple

from .errors import InputError, shown
from .registry import entries, installed

# Public: the base class for other packages. The functions below are for the rooms of this one.
__all__ = ["AbstractEngine"]

Kind = Literal["pair-sum engine", "trajectory engine"]


class AbstractEngine(abc.ABC):
    """One way to compute. A problem is data: all that the choice of an engine depends on.

    - `name`: what users write, `kernel="native"` or `engine="native"`.
    - `why_not(problem)`: why the engine cannot do it, a clause that ends in no full stop; `None` if it can.
    - `cost(problem)`: the seconds it takes, roughly: only the order of the engines matters. Called where `why_not`
      is `None`. Ours are made of measured thresholds (docs/speed.md), and are rough.
    - `run(problem, inputs)`: the work.
    """

    kind: ClassVar[Kind]
    argument: ClassVar[str]  # the keyword with which users choose
    noun: ClassVar[str]
    name: ClassVar[str]

    def why_not(self, problem: Any) -> str | None:
        return None

    @abc.abstractmethod
    def cost(self, problem: Any) -> float: ...

    @abc.abstractmethod
    def run(self, problem: Any, inputs: Any, /) -> Any: ...

    @property
    def full_name(self) -> str:
        """The name with its option, as in `"spectral:64"`."""
        return self.name

    def configured(self, option: str) -> "AbstractEngine":
        """The engine with what stands after a colon in the name that a user wrote."""
        raise InputError(f"{self.argument} {self.name!r} takes no option; leave out ':{option}'.")

    def prepared(self, problem: Any) -> "AbstractEngine":
        """The engine with the options that it chooses for a problem."""
        return self


class Choice(NamedTuple):
    """The engine that is to run, and why each of the others is not."""

    engine: Any
    passed_over: dict[str, str]


def engines(kind: Kind) -> dict[str, Any]:
    """All engines of a kind by name, ours and those of other packages."""
    return _engines(kind, installed())


@functools.lru_cache(16)
def _engines(kind: Kind, installed: object) -> dict[str, Any]:
    return entries(kind)


def named(kind: Kind, name: Any) -> Any:
    """The engine of a name, such as `"native"` or `"spectral:64"`; `None` for `"auto"`."""
    if isinstance(name, str) and name == "auto":
        return None
    known = engines(kind)
    base, colon, option = name.partition(":") if isinstance(name, str) else ("", "", "")
    if base not in known:
        argument = next(iter(known.values())).argument
        raise InputError(f"{argument} {shown(name)} is unknown; choose one of auto, {', '.join(known)}.")
    return known[base].configured(option) if colon else known[base]


def choose(kind: Kind, problem: Any, name: Any = "auto") -> Choice:
    """The cheapest engine that does not object to a problem; or the one that is named, which must not object."""
    engine = named(kind, name)
    if engine is not None:
        reason = engine.why_not(problem)
        if reason is not None:
            raise InputError(f"no {engine.name} {engine.noun} here: {reason}; choose another {engine.argument}.")
        return Choice(engine.prepared(problem), {})
    reasons, costs = {}, {}
    for candidate in engines(kind).values():
        reason = candidate.why_not(problem)
        if reason is None:
            costs[candidate.name] = candidate.cost(problem)
        else:
            reasons[candidate.name] = reason
    best = min(costs, key=costs.__getitem__)
    slower = {other: _slower(cost / costs[best]) for other, cost in costs.items() if other != best}
    return Choice(engines(kind)[best].prepared(problem), reasons | slower)


def _slower(factor: float) -> str:
    return f"slower here, about {factor:.2g} times" if factor > 1.05 else "not faster here"
