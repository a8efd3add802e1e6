"""The contract of playback: a run that can be shown at any step, whatever computes it.

`Steps` and `LongTime` are the two; `playback` chooses between them by the state of the page.
"""

import abc
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..flows import Run
from ..flows.compiled import timed_call
from ..models import AbstractModel, field
from ..settings import build
from .state import State


class Start(NamedTuple):
    """The start of a run: the model, the tokens with their weights, and the time step."""

    model: AbstractModel
    x: Float[Array, "n d"]
    weights: Float[Array, " n"] | None
    dt: float


class Moment(NamedTuple):
    """The tokens at a step, and its time (of a long-time run the natural logarithm)."""

    step: int
    t: float
    x: Float[Array, "n d"]


class AbstractPlayback(abc.ABC):
    """The contract: the page reads `moment`, and moves by `rewind` and `advance`.

    Every state follows from the settings alone: going back and forth gives the same tokens.
    """

    start: Start
    moment: Moment
    """What is shown now."""
    last: int
    """The step at which the run ends."""
    merges: Sequence[int]
    """Steps at which clusters have just merged, where they are known beforehand."""
    known: tuple[np.ndarray, Float[Array, "T n d"]] | None
    """Times and tokens of all steps, where they are computed before they are shown."""

    @abc.abstractmethod
    def advance(self, steps: int) -> None:
        """Go on by so many steps, at most to the last."""

    @abc.abstractmethod
    def rewind(self, step: int) -> None:
        """Go to the last state at or before `step` that need not be computed; `advance` does the rest of the way."""

    @abc.abstractmethod
    def run(self, step: int) -> Run:
        """The run as a file holds it, at least from the start to a step."""


def start_of(state: State) -> Start:
    """The initial tokens of a state, in the 64 bits in which the page computes; a step is chosen if none is given."""
    settings = state.settings
    model, x, options = build({**settings, "dtype": "float64", "solver": "rk4"})
    x = model.space.check(x.astype(settings["dtype"]))  # a run in 32 bits begins with rounded tokens
    weights = options["weights"]
    weights = None if weights is None else weights.astype(x.dtype)
    return Start(model, x, weights, settings["dt"] or chosen_step(model, x, weights))


def playback(state: State) -> AbstractPlayback:
    """The playback of a state."""
    from .long_time import LongTime
    from .steps import Steps

    return (LongTime if state.view["long"] else Steps)(state)


def chosen_step(model: Any, x: Array, weights: Array | None) -> float:
    """A step that suits the first velocities and the sharpness of the attention, one or two digits long."""
    velocity = timed_call(_velocity, model, x, weights).value
    speed = float(jnp.max(jnp.linalg.norm(velocity, axis=1)))
    attention = getattr(model, "attention", None)
    sharp = max(
        (float(getattr(attention, name, 0.0)) for name in ("beta", "g") if np.ndim(getattr(attention, name, 0.0)) == 0),
        default=0.0,
    )
    steps = (0.05, 0.1 / speed if speed > 0 else np.inf, 2 / sharp if sharp > 0 else np.inf)
    exponent = np.floor(np.log10(min(steps)))
    return float(f"{max(1, int(min(steps) / 10**exponent * (1 + 1e-9)))}e{int(exponent)}")


def _velocity(model: Any, x: Array, weights: Array | None) -> Array:
    return field(model, 0.0, x, weights)
