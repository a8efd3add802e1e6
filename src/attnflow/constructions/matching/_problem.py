"""The measures of a matching problem, checked; impossible problems are refused."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np
from scipy.spatial import KDTree
from scipy.special import betainc

from ...errors import InputError
from ...spaces import Key, Numbers, generator
from ..schedules.densities import Sampler
from ._destinations import groups
from ._measure import Measure, listed, measure, same_dimension
from .gather import missing_direction

EMPTY = 20.0  # tokens that the largest empty cap of a law would hold if its sample covered the sphere evenly


@runtime_checkable
class Variates(Protocol):
    """A distribution of SciPy, `vonmises_fisher` for example."""

    def rvs(self, size: Any = 1, random_state: Any = None) -> Any: ...


Draw = Callable[..., Numbers]  # a function `draw(n, key=key)` of points (n, d)
Source = Numbers | tuple[Numbers, Numbers] | Sampler | Variates | Draw  # points, points with weights, or a law
Target = Numbers | tuple[Numbers, Numbers]


class Problem(NamedTuple):
    """Sources and targets with different atoms, and the laws that sources were drawn from (`None`: none)."""

    sources: list[Measure]
    targets: list[Measure]
    laws: list[Any]
    d: int

    @property
    def to_points(self) -> bool:
        """Whether every target is one point."""
        return all(len(target.x) == 1 for target in self.targets)

    @property
    def drawn(self) -> bool:
        """Whether some source is a law."""
        return any(law is not None for law in self.laws)

    def fresh(self, n: int, key: Key) -> list[Measure]:
        """Sources again: another sample of n tokens of every law, and measures as they were given."""
        pairs = enumerate(zip(self.laws, self.sources, strict=True))
        return [one if law is None else sample(j, law, n, key) for j, (law, one) in pairs]


def problem(sources: Any, targets: Any, samples: int, key: Key) -> Problem:
    given, wanted = listed("sources", sources), listed("targets", targets)
    if len(given) != len(wanted):
        raise InputError(f"there are {len(given)} sources and {len(wanted)} targets; give one target for each source.")
    laws = [one if is_law(one) else None for one in given]
    first = [
        whole(measure(f"sources[{j}]", one) if law is None else sample(j, law, samples, key))
        for j, (one, law) in enumerate(zip(given, laws, strict=True))
    ]
    for j, law in enumerate(laws):
        if law is not None:
            check_missing(f"sources[{j}]", first[j].x, generator(key))
    last = [whole(measure(f"targets[{j}]", one)) for j, one in enumerate(wanted)]
    d = same_dimension("sources", first)
    if same_dimension("targets", last) != d:
        raise InputError(f"sources have dimension {d} and targets {last[0].x.shape[1]}; give them in one space.")
    same = [(j, k) for k, law in enumerate(laws) for j in range(k) if law is not None and laws[j] is law]
    if (pair := same[0] if same else equal_pair(first)) is not None:
        raise InputError(
            f"sources {pair[0]} and {pair[1]} are the same measure; a transformer moves equal measures alike: leave "
            "one out, or change one."
        )
    return Problem(first, last, laws, d)


def is_law(given: Any) -> bool:
    return isinstance(given, Sampler | Variates) or (callable(given) and not hasattr(given, "shape"))


def sample(j: int, law: Any, n: int, key: Key) -> Measure:
    """n tokens of the law of source j: an object with `sample`, a distribution of SciPy, or a function."""
    name, key = f"sources[{j}]", jax.random.fold_in(key, j)
    try:
        if isinstance(law, Sampler):
            found = law.sample(n, key=key)
        elif isinstance(law, Variates):
            found = law.rvs(n, random_state=np.random.default_rng(np.asarray(jax.random.key_data(key))))
        else:
            found = law(n, key=key)
    except TypeError as error:
        raise InputError(f"{name} draws no points ({error}); a law is called as draw(n, key=key).") from error
    if len(np.shape(found)) != 2 or np.shape(found)[0] != n:
        raise InputError(f"{name} drew points of shape {np.shape(found)}; a law gives ({n}, d) for draw({n}, key=key).")
    return measure(name, found)


def check_missing(name: str, x: np.ndarray, rng: np.random.Generator) -> None:
    """Refuse the sample of a law that leaves out no direction, as far as a sample can tell."""
    if len(x) < 2 * EMPTY:
        raise InputError(f"samples = {len(x)} tell too little of the law {name}; take {2 * EMPTY:.0f} at least.")
    _, angle = missing_direction(x, rng)
    share = 0.5 * betainc((x.shape[1] - 1) / 2, 0.5, np.sin(min(angle, np.pi / 2)) ** 2)
    if len(x) * share < EMPTY:
        raise InputError(
            f"{name} is a law without a missing direction: of {len(x)} tokens some come within {angle:.2g} of every "
            "direction, as those of a law that covers the sphere; the theorem needs a cap without mass."
        )


def whole(one: Measure) -> Measure:
    """The measure with points that are equal taken together: no map parts them."""
    group = groups(one.x)
    if len(group) == group.max() + 1:
        return one
    first = np.unique(group, return_index=True)[1]
    w = np.bincount(group, one.w)
    return Measure(one.x[first], w / w.sum())


def equal_pair(found: list[Measure]) -> tuple[int, int] | None:
    """Two measures that are one, if there are some."""
    for j, one in enumerate(found):
        tree = KDTree(one.x)
        for k, other in enumerate(found[:j]):
            if len(other.x) != len(one.x):
                continue
            away, which = tree.query(other.x)
            if away.max() < 1e-9 and len(np.unique(which)) == len(one.x) and abs(one.w[which] - other.w).max() < 1e-9:
                return k, j
    return None
