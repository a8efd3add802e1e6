"""The engine that sums over pairs in a run: decided once, where the model, its time and the tolerances are known."""

from typing import Any, NamedTuple

import jax
from jaxtyping import Array, Float

from ..engines import Choice
from ..models import AbstractModel
from ..models.schedules import at_time, depends_on_time
from ..pairsums import Accuracy, Problem, as_reduction, choose_sums


class SumsOfRun(NamedTuple):
    """The sums over pairs of a run from `start`; their errors may move tokens by `tolerance` in the time `span`.

    `devices` and `partitioned` are those of `Problem`.
    """

    model: AbstractModel
    x0: Float[Array, "n d"]
    w: Float[Array, " n"] | None = None
    start: Any = 0.0
    span: Any = 1.0
    tolerance: Any = 1e-9
    devices: int = 1
    partitioned: bool = False

    def choose(self, kernel: str = "auto") -> tuple[str, Choice]:
        """The kernel argument for the sums, and the choice behind it.

        A model that does not say what it sums gets `"auto"`: each of its sums chooses for itself. Not so where its
        program must fix the engine beforehand: on many devices, or partitioned by XLA.
        """
        problem = self.problem
        choice = choose_sums(problem, kernel)
        if kernel == "auto" and problem.score is None and not (self.partitioned or choice.engine.on_all_devices):
            return kernel, choice
        return choice.engine.full_name, choice

    @property
    def problem(self) -> Problem:
        model, (n, d), dtype = self.model, self.x0.shape, self.x0.dtype
        attention: Any = getattr(model, "attention", None) if model.attention_alone else None
        arguments = {"devices": self.devices, "partitioned": self.partitioned, "exact": False}
        if attention is None or not attention.one_sum:
            name = type(model if attention is None else attention).__name__
            return Problem(n, n, d, d, d, dtype, None, model=name, **arguments)
        here: Any = at_time(attention, self.start)
        tile, values = jax.eval_shape(lambda x: (here.score.project(x, x), here.values(x)), self.x0)
        return Problem(
            *(n, n, d, values.shape[1], tile.queries.shape[1], dtype, here.score, *as_reduction(here.reduce)),
            pairs=getattr(model, "pairs"),  # noqa: B009
            accuracy=Accuracy(self.span, self.tolerance, self.w, here.V),
            constant=not depends_on_time(attention),
            unit=model.space.unit,
            **arguments,
        )
