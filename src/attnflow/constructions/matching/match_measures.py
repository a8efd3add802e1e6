"""N measures to N measures with one transformer."""

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, get_args

import jax
import numpy as np

from ...checks import number, whole
from ...errors import AttnflowWarning, InputError, shown
from ...spaces import Count, Key, Number, draws, key_or_fixed
from ._checked import duration
from ._measure import Side
from ._problem import Problem, Source, Target, problem
from ._report import another
from ._routes import Built, by_atoms, by_average, by_average_or_atoms, by_isolation
from .gather import spreading
from .matching import MeasureMatching
from .piece import TransformerPiece
from .schedule import TransformerSchedule
from .slices import by_slices

Method = Literal["auto", "generic", "softmax", "average", "isolate", "slices"]
SMALLEST, LARGEST = 1e-9, 0.1  # of eps
SAMPLES = 8192


def match_measures(
    sources: Sequence[Source] | np.ndarray | jax.Array,
    targets: Sequence[Target] | np.ndarray | jax.Array,
    *,
    T: Number = 1.0,
    eps: Number = 1e-6,
    method: Method = "auto",
    samples: Count = SAMPLES,
    key: Key | None = None,
) -> MeasureMatching:
    r"""One transformer on the sphere $S^{d-1}$, $d \ge 3$, that takes every source measure to its target.

    $$ \dot x = P_x\big(V A_B[\mu](x) + W(Ux + b)_+\big), \qquad \theta(t) = (V, B, W, U, b), $$

    constant on intervals of time, where $A_B[\mu](x)$ is the softmax mean. Each measure moves by itself, all under the
    same $\theta(t)$.

    **Arguments:**

    - `sources`, N measures: arrays `(n, d)` of unit tokens (or one `(N, n, d)`), pairs `(x, w)` with weights, or laws:
      objects with `sample(n, key=key)`, distributions of SciPy, or functions `draw(n, key=key)`, of which `samples`
      tokens are drawn. No two may be equal.
    - `targets`, N measures as points or pairs. A source with atoms is refused where one of them would have to split.
    - `T`: the time that the transformer has; `eps`: how near in $W_2$ all measures must come (atoms that end apart
      come as near as float64 allows, whatever `eps`).
    - `method`: `"generic"`, attention of rank one moves atoms apart, each walks home in a band of its own, and
      attention that targets need is undone; `"softmax"`, the same with softmax attention at $\beta = 1$; `"average"`,
      for targets that are points, $V = I$ makes points of the sources; `"isolate"`, for the same the paper's lemma, one
      measure after the other; `"slices"`, for laws, which are cut; `"auto"` chooses among the first, third and last.
    - `key`: for directions, halts and samples; by default the same at every call.

    **Returns:** a `MeasureMatching`: `schedule`, `model`, `verify()`, `report()`. Its closed forms were run on the
    sources before it is returned, and on another sample of every law: `another`. Where that ends farther than `eps`
    from its target (of a law with several target atoms some mass goes astray), a warning says so.

    Geshkovski, Rigollet, Ruiz-Balet, *Measure-to-measure interpolation using Transformers*, arXiv:2411.04551; the
    derivations of this construction are in docs/theory/measure-to-measure.md.

    >>> import numpy as np
    >>> matching = match_measures([np.eye(3)[:2], np.eye(3)[1:]], [[[1.0, 0.0, 0.0]], [[0.0, 0.6, 0.8]]])
    >>> bool(matching.distances().max() < 1e-6), len(matching.schedule)
    (True, 3)
    """
    if not isinstance(method, str) or method not in get_args(Method):
        raise InputError(f"method = {shown(method)}; choose one of {', '.join(get_args(Method))}.")
    near = number("eps", eps)
    if not SMALLEST <= near <= LARGEST:
        raise InputError(f"eps = {near:g}; take a distance between {SMALLEST:g} and {LARGEST:g}.")
    T, key = duration(T), key_or_fixed(key)
    clock = [time.perf_counter()]
    tokens = whole("samples", samples, least=2)
    task = problem(sources, targets, tokens, jax.random.fold_in(key, 1))
    clock.append(time.perf_counter())
    spread = spreading(np.concatenate([source.x for source in task.sources]))
    start = TransformerSchedule(spread).moved(Side.of(task.sources)).split() if spread else task.sources
    built = _route(task, method)(start, task.targets, near, draws(key)).after(spread, "spread")
    clock.append(time.perf_counter())
    rest = TransformerPiece(V=np.zeros((task.d, task.d)))  # where every measure is at home
    pieces = TransformerSchedule(built.pieces or [rest]).lasting(T)
    seconds = {"measures": clock[1] - clock[0], "pieces": clock[2] - clock[1]}
    other = another(pieces, task, tokens, jax.random.fold_in(key, 2))
    matching = MeasureMatching(pieces, task, near, built.clearance, built.steps if built.pieces else (), seconds, other)
    farthest = float(matching.distances().max())
    seconds["closed forms"] = time.perf_counter() - clock[2]
    if not farthest <= near + _rounded(task, tokens):
        raise InputError(
            f"the schedule built ends {farthest:.2g} away from a target, and eps is {near:g}: the measures are too "
            "close for float64; take a larger eps, another key or another method."
        )
    if other.worst is not None and not other.distances[other.worst] <= near:
        warnings.warn(
            f"the transformer is exact for the samples drawn, not for the laws: {other!r}; take more samples, or fewer "
            "atoms in the targets.",
            AttnflowWarning,
            stacklevel=2,
        )
    return matching


def _route(task: Problem, method: Method) -> Callable[..., Built]:
    """The way to a schedule that the method names; one that does not serve the task is refused."""
    if task.drawn and method not in ("auto", "slices"):
        raise InputError(f"method = {method!r} is for points, and a source is a law; take 'slices' or 'auto'.")
    if method in ("average", "isolate") and not task.to_points:
        k = next(k for k, target in enumerate(task.targets) if len(target.x) > 1)
        raise InputError(
            f"method = {method!r} makes a point of every measure, and target {k} has {len(task.targets[k].x)} points; "
            "take 'generic'."
        )
    name = method
    if method == "auto":
        wide = max(len(source.x) for source in task.sources) > 1
        name = "slices" if task.drawn else "points" if task.to_points and wide else "generic"
    ways: dict[str, Callable[..., Built]] = {
        "points": by_average_or_atoms,
        "generic": by_atoms,
        "softmax": partial(by_atoms, softmax=True),
        "average": by_average,
        "isolate": by_isolation,
        "slices": partial(by_slices, laws=[law is not None for law in task.laws]),
    }
    return ways[name]


def _rounded(task: Problem, tokens: int) -> float:
    """How far the masses of samples let a law come: a part 1/n of its mass may lie on the wrong side of a rim."""
    most = max(len(target.x) for target in task.targets)
    return 2 * (most / tokens) ** 0.5 if task.drawn and most > 1 else 0.0
