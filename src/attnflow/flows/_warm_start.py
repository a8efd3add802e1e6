"""Warm starts: a model that iterates in its force (Sinkhorn) starts each step from where the last one ended."""

from collections.abc import Callable
from typing import Any, ClassVar

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._solvers import Scheme


class WarmStart(diffrax.AbstractWrappedSolver):
    """Brings the model's state up to date once per step and hands it to the vector field as its `args`.

    A state that is not finite ends the solve: the model's iteration did not converge. (A stage where it does not is a
    rejected step to an adaptive solver, and the end to one with fixed steps.)
    """

    # A wrapper of a Runge-Kutta method counts as one for diffrax, whose forward mode then reads how stages are looped.
    scan_kind: ClassVar[str] = "checkpointed"

    solver: diffrax.AbstractSolver
    warm: Callable[[Any, Array, Any], Any]
    adaptive: bool

    @property
    def term_structure(self) -> Any:
        return self.solver.term_structure

    @property
    def interpolation_cls(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.solver.interpolation_cls

    def order(self, terms: Any) -> int | None:
        return self.solver.order(terms)

    def error_order(self, terms: Any) -> Any:
        return self.solver.error_order(terms)

    def init(self, terms: Any, t0: Any, t1: Any, y0: Array, args: Any) -> Any:
        state = self.warm(t0, y0, None)
        return self.solver.init(terms, t0, t1, y0, state), state

    def step(self, terms: Any, t0: Any, t1: Any, y0: Array, args: Any, solver_state: Any, made_jump: Any) -> Any:
        inner, state = solver_state
        state = self.warm(t0, y0, state)
        outcome: Any = self.solver.step(terms, t0, t1, y0, state, inner, made_jump)
        y1, error, dense, inner, result = outcome
        failed = ~_finite(state)
        if self.adaptive:  # the step is kept, or the controller would go on trying smaller ones
            error = jnp.where(failed, 0, error)
        else:
            failed = failed | ~_finite(y1)
        ended: Any = diffrax.RESULTS
        result = ended.where(failed, ended.nonlinear_divergence, result)
        return y1, error, dense, (inner, state), result

    def func(self, terms: Any, t0: Any, y0: Array, args: Any) -> Any:
        return self.solver.func(terms, t0, y0, self.warm(t0, y0, None))


def warm_started(
    scheme: Scheme, model: Any, w: Float[Array, " n"] | None, kernel: str, clock: Callable[[Any], Any], x0: Array
) -> diffrax.AbstractSolver:
    """The solver of a scheme, with warm starts if the model has any; `clock` is the model's time by the solver's."""
    solver = scheme.make(model)

    def warm(t: Any, x: Array, state: Any) -> Any:
        return model.warm(clock(t), x, w, state, kernel=kernel)

    if not jax.tree.leaves(jax.eval_shape(lambda: warm(jnp.zeros((), x0.dtype), x0, None))):
        return solver
    return WarmStart(solver, warm, scheme.adaptive)


def _finite(tree: Any) -> Array:
    return jnp.asarray([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(tree)]).all()
