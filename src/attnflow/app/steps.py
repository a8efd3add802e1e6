"""A run by steps of fixed size, with the library's Runge-Kutta method of fourth order."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..errors import InputError, SolveError
from ..flows import Run, simulate
from ..flows.compiled import timed_call
from ..flows.steps import fixed_steps
from ..models import AbstractModel, jump_times
from . import limits
from .playback import AbstractPlayback, Moment, start_of
from .state import State


class Steps(AbstractPlayback):
    """Some states are kept to go back to; the others are computed again from those."""

    last = limits.MAX_STEPS
    merges = ()
    known = None

    def __init__(self, state: State):
        self.start = start_of(state)
        self._pairs = state.pairs
        self._go(0, self.start.x)
        self._kept: dict[int, np.ndarray] = {0: np.asarray(self._x)}
        self._stride = 1

    def advance(self, steps: int) -> None:
        step = self.moment.step
        steps = min(steps, self.last - step)
        if steps <= 0:
            return
        model, _, weights, dt = self.start
        numbers = jnp.asarray(step), jnp.asarray(steps), jnp.asarray(dt, self._x.dtype)
        x = timed_call(_advance, model, self._x, weights, *numbers).value
        if not bool(jnp.isfinite(x).all()):
            raise SolveError(
                f"the tokens became infinite or not-a-number after t = {self.moment.t:.4g}; take a smaller dt than "
                f"{dt:g}, or a smaller beta."
            )
        self._go(step + steps, x)
        if self.moment.step % self._stride == 0:
            self._kept[self.moment.step] = np.asarray(x)
        while len(self._kept) * x.nbytes > limits.HISTORY_BYTES and len(self._kept) > 2:
            self._stride *= 2  # half of them are enough to find the way to any
            self._kept = {k: x for k, x in self._kept.items() if k % self._stride == 0}

    def rewind(self, step: int) -> None:
        nearest = max(k for k in self._kept if k <= step)
        if self.moment.step > step or nearest > self.moment.step:
            self._go(nearest, jnp.asarray(self._kept[nearest]))

    def run(self, step: int) -> Run:
        steps = max(1, step)
        model, x, weights, dt = self.start
        if steps * self._pairs > limits.MAX_PAIRS:
            raise InputError(f"{steps} steps of {x.shape[0]} tokens take too long for the page; copy the program.")
        return simulate(
            model, x, t1=steps * dt, weights=weights, solver="rk4", dt=dt,
            save=min(201, steps + 1), max_steps=max(100_000, steps + 1),
        )  # fmt: skip

    def _go(self, step: int, x: Array) -> None:
        self._x = x  # as the solver carries it
        self.moment = Moment(step, step * self.start.dt, self.start.model.space.nearest(x))


def _advance(model: AbstractModel, x: Array, weights: Array | None, first: Array, steps: Array, dt: Array) -> Array:
    """The same steps as `simulate(solver="rk4")`, from step `first` on; takes and returns the solver's own state."""

    jumps = jump_times(model)

    def step(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        # Multiples of dt, not sums: the same times whatever the pieces a run is computed in.
        t = k.astype(x.dtype) * dt
        # A step that ends at a jump of the weights does not see the weights after it, as in `simulate`.
        latest = t + dt if jumps is None else _before_the_next(jumps.astype(x.dtype), t)
        return fixed_steps()["rk4"](lambda f, z: f(z), model, t, dt, state, weights, "auto", latest=latest)

    return jax.lax.fori_loop(first, first + steps, step, (x, model.space.nearest(x)))[0]


def _before_the_next(jumps: Array, t: Array) -> Array:
    """The last time before the first jump after t; infinite, if there is none."""
    return jnp.min(jnp.where(jumps > t, jnp.nextafter(jumps, -jnp.inf), jnp.inf))
