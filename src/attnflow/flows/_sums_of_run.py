"""The engine that sums over pairs in a run: decided once, where the model, its time and the tolerances are known."""

from typing import Any

import jax
from jaxtyping import Array, Float

from ..engines import Choice
from ..models import AbstractModel
from ..models.schedules import at_time, depends_on_time
from ..pairsums import Accuracy, Problem, as_reduction, choose_sums
from ..spaces import Sphere


def choose_sums_of_run(
    kernel: str,
    model: AbstractModel,
    x0: Float[Array, "n d"],
    w: Any,
    start: Any,
    span: Any,
    tolerance: Any,
    *,
    devices: int = 1,
    partitioned: bool = False,
) -> tuple[str, Choice]:
    """What the sums of a run are to be called with, and the choice behind it.

    A model that does not say what it sums gets `"auto"`: each of its sums chooses for itself. Not so where its program
    must fix the engine beforehand: on many `devices`, or `partitioned` by XLA.
    """
    problem = problem_of_run(model, x0, w, start, span, tolerance, devices, partitioned and kernel == "auto")
    choice = choose_sums(problem, kernel)
    if kernel == "auto" and problem.score is None and not (partitioned or choice.engine.on_all_devices):
        return kernel, choice
    return choice.engine.full_name, choice


def problem_of_run(
    model: AbstractModel,
    x0: Float[Array, "n d"],
    w: Any,
    start: Any,
    span: Any,
    tolerance: Any,
    devices: int = 1,
    partitioned: bool = False,
) -> Problem:
    """The sums of a run from `start`, as data; their errors may move tokens by `tolerance` in the time `span`."""
    (n, d), attention = x0.shape, getattr(model, "attention", None) if model.attention_alone else None
    given = {"devices": devices, "partitioned": partitioned, "exact": False}
    if attention is None or not attention.one_sum:
        name = type(model if attention is None else attention).__name__
        return Problem(n, n, d, d, d, x0.dtype, None, model=name, **given)
    here: Any = at_time(attention, start)
    tile, values = jax.eval_shape(lambda x: (here.score.project(x, x), here.values(x)), x0)
    reduction, selection = as_reduction(here.reduce)
    return Problem(
        *(n, n, d, values.shape[1], tile.queries.shape[1], x0.dtype, here.score, reduction, selection),
        pairs=getattr(model, "pairs"),  # noqa: B009
        accuracy=Accuracy(span, tolerance, w, here.V),
        constant=not depends_on_time(attention),
        unit=isinstance(model.space, Sphere),
        **given,
    )
