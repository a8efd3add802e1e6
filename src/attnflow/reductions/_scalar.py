r"""What the scalar reductions share: the clocks of the two maps, an accurate solver, a quadrature rule."""

import functools
from collections.abc import Callable
from typing import Literal

import diffrax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.special import roots_legendre

from ..errors import InputError
from ..spaces import Numbers, is_concrete

Clock = Literal["SA", "USA", "shifted USA", "beta-USA"]
CLOCKS = ("SA", "USA", "shifted USA", "beta-USA")


def check_clock(kind: str) -> None:
    """Refuse a clock that no exponential map runs in."""
    if kind not in CLOCKS:
        raise InputError(f"kind {kind!r} is unknown; choose one of {', '.join(CLOCKS)}.")


def check_beta(beta: Numbers) -> None:
    """Refuse an inverse temperature that is negative or not finite."""
    if is_concrete(beta) and not np.all(np.isfinite(np.asarray(beta)) & (np.asarray(beta) >= 0)):
        raise InputError(f"beta = {beta} must be finite and not negative.")


def scalar_flow(rate: Callable[[Array], Array], ts: Array, y0: Array) -> Array:
    r"""$y$ at the times `ts`, where $\dot y = $ `rate(y)` and $y = y_0$ at the first of them; to be compiled."""
    double = ts.dtype == jnp.float64
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, _: rate(y)),
        diffrax.Dopri8() if double else diffrax.Tsit5(),
        ts[0],
        ts[-1],
        None,
        y0,
        # Saved times are steps: the interpolant of an eighth-order method is of lower order than the method.
        stepsize_controller=diffrax.ClipStepSizeController(
            diffrax.PIDController(rtol=1e-11 if double else 1e-6, atol=1e-13 if double else 1e-8), step_ts=ts
        ),
        saveat=diffrax.SaveAt(ts=ts),
        max_steps=100_000,
    )
    assert solution.ys is not None
    return solution.ys


@functools.cache
def gauss_legendre() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [-1, 1]; integrands here are analytic, so that convergence is geometric."""
    return roots_legendre(400)  # of a tridiagonal matrix: NumPy's rule takes all eigenvalues of a full one
