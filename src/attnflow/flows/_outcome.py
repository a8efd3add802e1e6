"""How an integration can end. Outcomes are data: each is a sentence to the user, and raising is an option."""

import enum


class Outcome(enum.Enum):
    """Every way a solve can end; the value is the sentence."""

    SUCCESSFUL = "The flow reached its final time."
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
