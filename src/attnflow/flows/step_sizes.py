"""How long the steps are: given by the user, or chosen from an error estimate until round-off ends it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Errors(NamedTuple):
    """The errors of fixed steps: the `largest`, their sum `total`, and how far the tokens have moved, `path`.

    Each is that of the worst, or the fastest, token of a step, relative to the length of the longest.
    """

    largest: Float[Array, ""]
    total: Float[Array, ""]
    path: Float[Array, ""]

    def after(self, error: Float[Array, ""], moved: Float[Array, ""]) -> "Errors":
        """The errors after one more step."""
        return Errors(jnp.maximum(self.largest, error), self.total + error, self.path + moved)

    @property
    def coarseness(self) -> Float[Array, ""]:
        """Above one if a step misses a tenth of the cloud, or all of them together a quarter of the way.

        The second sees steps that are unstable on a scale much smaller than the cloud: tokens go to and fro in their
        clusters, and errors are as long as the way.
        """
        return jnp.maximum(self.largest / 0.1, self.total / jnp.maximum(0.25 * self.path, 1e-6))


class Counted(NamedTuple):
    """How far fixed steps have come: the next one is the `k`-th from `start`."""

    start: Float[Array, ""]
    dt: Float[Array, ""]
    k: Float[Array, ""]
    errors: Errors


class FixedSteps(diffrax.AbstractAdaptiveStepSizeController):
    """Steps to `t0 + k dt`, the last one cut at the final time, and an estimate of the error of each.

    An error is the solver's embedded estimate, which costs no evaluation of the field; it does not change the steps.

    (diffrax's own constant steps are stretched to divide the interval, and cannot stop at the jumps of a schedule.
    "Adaptive" is in the name of the base class alone: that is what can be wrapped to stop at jumps.)
    """

    rtol: float = 0.0
    atol: float = 0.0
    norm: Callable[[Any], Any] = jnp.linalg.norm

    def wrap(self, direction: Any) -> "FixedSteps":
        return self

    def init(
        self, terms: Any, t0: Any, t1: Any, y0: Any, dt0: Any, args: Any, func: Any, error_order: Any
    ) -> tuple[Any, Any]:
        none = jnp.zeros((), y0.dtype)
        return t0 + dt0, Counted(t0, dt0, jnp.ones_like(dt0), Errors(none, none, none))

    def adapt_step_size(
        self,
        t0: Any,
        t1: Any,
        y0: Any,
        y1_candidate: Any,
        args: Any,
        y_error: Any,
        error_order: Any,
        controller_state: Any,
    ) -> Any:
        start, dt, k, errors = controller_state
        # Multiples of dt, not sums, so that rounding does not grow. A jump just before a multiple stands for it.
        k = k + (t1 >= start + (k - 0.001) * dt).astype(k.dtype)
        if y_error is not None:  # a scheme without an embedded estimate has no error
            errors = errors.after(relative(y_error, y0), relative(y1_candidate - y0, y0))
        return True, t1, start + k * dt, False, Counted(start, dt, k, errors), diffrax.RESULTS.successful


def relative(size: Float[Array, "n d"], x: Float[Array, "n d"]) -> Float[Array, ""]:
    """The longest row of `size` over the longest of `x`."""
    size, x = jax.lax.stop_gradient((size, x))
    longest = jnp.max(jnp.sum(x * x, axis=-1))
    return jnp.sqrt(jnp.max(jnp.sum(size * size, axis=-1)) / jnp.where(longest > 0, longest, 1))


def step_errors(controller_state: Any) -> Errors:
    """The errors of fixed steps, from the state of the controller, which may be wrapped in another's."""
    states = jax.tree.leaves(controller_state, is_leaf=lambda leaf: isinstance(leaf, Counted))
    return next(state.errors for state in states if isinstance(state, Counted))


class UntilRoundOff(diffrax.AbstractAdaptiveStepSizeController):
    """The steps of another controller; a solve that has to shrink them below the resolution of time ends there."""

    controller: diffrax.PIDController

    def __init__(self, controller: diffrax.PIDController):
        self.controller = controller

    @property
    def rtol(self) -> Any:
        return self.controller.rtol

    @property
    def atol(self) -> Any:
        return self.controller.atol

    @property
    def norm(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.controller.norm

    def wrap(self, direction: Any) -> "UntilRoundOff":
        return UntilRoundOff(self.controller.wrap(direction))

    def init(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return self.controller.init(*args, **kwargs)

    def adapt_step_size(self, *args: Any, **kwargs: Any) -> Any:
        keep, t0, t1, jumped, state, result = self.controller.adapt_step_size(*args, **kwargs)
        t0, t1 = jnp.asarray(t0), jnp.asarray(t1)
        # Only after a rejection: a step cut short by a jump is followed by short steps, too.
        stalled = ~jnp.asarray(keep) & (t1 - t0 <= 4 * jnp.finfo(t0.dtype).eps * jnp.abs(t0))
        return keep, t0, t1, jumped, state, diffrax.RESULTS.where(stalled, diffrax.RESULTS.dt_min_reached, result)


def worst_token(error: Float[Array, "*batch d"]) -> Float[Array, ""]:
    r"""$\max_i \big(\frac1d\sum_k e_{ik}^2\big)^{1/2}$ of an error in units of the tolerance.

    A mean over the cloud (diffrax's choice) would let one moving token among $n$ at rest err $\sqrt n$ times as much.
    """
    square = jax.lax.stop_gradient(jnp.max(jnp.mean(error * error, axis=-1)))
    return jnp.sqrt(square)


def clock_from(t0: Array, jumps: Array | None, span: Array) -> Callable[[Any], Any]:
    """The model's time by the time since `t0`, in which solvers count: short steps are not lost in a late `t0`.

    A time before a jump stays before it, and one after it after, whatever the sum rounds to. The flow ends before a
    jump at its end, `span` after `t0`.
    """

    def clock(since: Any) -> Any:
        t = t0 + since
        if jumps is None:
            return t
        ahead = (since < jumps - t0) | (jumps - t0 >= span)
        earliest = jnp.max(jnp.where(ahead, -jnp.inf, jnp.nextafter(jumps, jnp.inf)))
        latest = jnp.min(jnp.where(ahead, jnp.nextafter(jumps, -jnp.inf), jnp.inf))
        return jnp.clip(t, earliest, latest)

    return clock


def step_sizes(numbers: dict[str, Array], jumps: Array | None, stops: Array | None = None) -> tuple[Any, Array | None]:
    """The step size controller and its first step, from `dt`, or `rtol` and `atol`.

    Steps end at the times `stops`, and around the `jumps`; all are times since the start.
    """
    if "dt" in numbers:
        controller, dt0 = FixedSteps(), numbers["dt"]
    else:
        steps = diffrax.PIDController(rtol=numbers["rtol"], atol=numbers["atol"], norm=worst_token)
        controller, dt0 = UntilRoundOff(steps), None
    if jumps is None and stops is None:
        return controller, dt0
    return diffrax.ClipStepSizeController(controller, step_ts=stops, jump_ts=jumps), dt0
