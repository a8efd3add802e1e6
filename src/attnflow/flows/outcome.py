"""How an integration can end. Outcomes are data: each is a sentence to the user, and raising is an option."""

import enum
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array


class Outcome(enum.Enum):
    """Every way a solve can end; the value is the sentence."""

    SUCCESSFUL = "The flow reached its final time."
    COARSE_STEPS = "The steps were too long to follow the flow, and tokens may be far off; take tsit5 or a smaller dt."
    BELOW_ROUNDING = "The motion that is left is below the rounding of its velocities and was lost; take a shorter t1."
    MAX_STEPS = "The solver took max_steps steps before the final time; raise max_steps, or loosen rtol and atol."
    STALLED = "The step size shrank to round-off before the final time; the flow blows up or is not smooth there."
    NOT_FINITE = "The tokens became infinite or not-a-number; take a smaller dt, or an adaptive solver."
    FAILED = "The solver gave up before the final time; try another solver."
    NOT_CONVERGED = "The attention's own iteration did not converge; raise its max_iterations, loosen its tol or beta."
    STATIONARY = "The tokens do not move: all forces cancel up to rounding; perturb them to leave this equilibrium."
    UNBOUNDED = "The Gaussian law grew beyond its ceiling before the final time; gaussian.describe says how it grows."

    @property
    def code(self) -> int:
        """A number for it, so that it can be computed inside a compiled program."""
        return list(Outcome).index(self)

    @property
    def finished(self) -> bool:
        """Whether the final time was reached; an outcome that is not successful then says why to doubt the tokens."""
        return self in (Outcome.SUCCESSFUL, Outcome.COARSE_STEPS, Outcome.BELOW_ROUNDING)


def ending(result: Any, finite: Array) -> Array:
    """The code of the outcome of a solve by diffrax, whose states are all `finite` or not."""
    from diffrax import RESULTS as ended

    code = jnp.asarray(Outcome.FAILED.code)
    code = jnp.where(result == ended.dt_min_reached, Outcome.STALLED.code, code)
    code = jnp.where(result == ended.nonlinear_divergence, Outcome.NOT_CONVERGED.code, code)
    code = jnp.where(result == ended.max_steps_reached, Outcome.MAX_STEPS.code, code)
    code = jnp.where((result == ended.successful) & ~finite, Outcome.NOT_FINITE.code, code)
    return jnp.where((result == ended.successful) & finite, Outcome.SUCCESSFUL.code, code)
