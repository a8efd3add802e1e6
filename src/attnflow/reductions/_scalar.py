r"""Shared parts of the scalar reductions: the clocks of the two maps, times that overflow, a quadrature rule."""

import functools
import warnings
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.special import roots_legendre

from ..checks import flag, reals
from ..errors import AttnflowWarning, InputError, shown
from ..spaces import Numbers, is_concrete

Clock = Literal["SA", "USA", "shifted USA", "beta-USA"]
CLOCKS = ("SA", "USA", "shifted USA", "beta-USA")


def check_clock(clock: Any) -> None:
    """Refuse a clock that no exponential map runs in."""
    if not isinstance(clock, str) or clock not in CLOCKS:
        raise InputError(f"clock {shown(clock)} is unknown; choose one of {', '.join(CLOCKS)}.")


def check_beta(beta: Any) -> Array:
    """Inverse temperatures as an array; one that is negative or not finite is refused."""
    betas = reals("beta", beta, infinite=True)
    check_each("beta", betas, lambda beta: np.isfinite(beta) & (beta >= 0), "must be finite and not negative.")
    return betas


def check_each(name: str, values: Any, good: Callable[[np.ndarray], np.ndarray], rule: str) -> None:
    """Refuse numbers of which one is known not to be good; the sentence names the first such one, and the rule."""
    if is_concrete(values):
        known = np.asarray(values)
        bad = known[~good(known)]
        if bad.size:
            raise InputError(f"{name} = {bad.flat[0]} {rule}")


def angle_between(name: str, u: Numbers) -> Array:
    """Angles between two clusters that move."""
    angles = reals(name, u)
    check_each(
        name, angles, lambda u: (u > 0) & (u < np.pi), "must lie strictly between 0 and pi; at the ends nothing moves."
    )
    return angles


def one_number(**arrays: Array) -> None:
    """Refuse an array where one number is meant."""
    for name, value in arrays.items():
        if value.ndim:
            raise InputError(f"{name} has shape {value.shape}; give one number, and take jax.vmap for several.")


def together(**arrays: Array) -> list[Array]:
    """Arrays of one shape, or one sentence saying which do not fit."""
    shape = one_shape(**arrays)
    return [jnp.broadcast_to(value, shape) for value in arrays.values()]


def one_shape(**arrays: Array | np.ndarray) -> tuple[int, ...]:
    """The shape that all these broadcast to."""
    try:
        return np.broadcast_shapes(*(values.shape for values in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {values.shape}" for name, values in arrays.items() if values.ndim)
        raise InputError(f"shapes do not fit together: {shapes}; give one number each, or axes of length 1.") from None


def elapsed(ts: Any) -> Array:
    """The times since the first of `ts`, which is finite; later ones may be infinite."""
    array = reals("ts", ts, infinite=True)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"ts has shape {array.shape}; give a list of times, the initial one first.")
    if not is_concrete(ts):
        return array - array[0]
    times = np.asarray(ts, float)  # a difference of two late times is taken before it is rounded to single precision
    if not np.isfinite(times[0]) or np.any(times < times[0]):
        raise InputError(f"ts begins with {times[0]:g}; the first time is the initial one, finite and the earliest.")
    return jnp.asarray(times - times[0], array.dtype)


def log_clock(beta: Array, clock: Clock) -> Array:
    r"""The logarithm of how much faster the clock is than that of SA or shifted USA: $\beta$ or $\beta + \log\beta$.

    Minus infinity where nothing moves: beta-USA at $\beta = 0$.
    """
    if clock == "beta-USA":
        positive = beta > 0
        return jnp.where(positive, beta + jnp.log(jnp.where(positive, beta, 1)), -jnp.inf)
    return beta if clock == "USA" else jnp.zeros_like(beta)


def in_units(t: Array, log_unit: Array) -> Array:
    r"""$t\,e^u$ for times $t \ge 0$, also infinite ones, where $e^u$ may be too large or too small to be written."""
    largest = jnp.log(jnp.finfo(t.dtype).max).astype(t.dtype)
    stopped = log_unit == -jnp.inf
    unit = jnp.exp(jnp.minimum(jnp.where(stopped, 0, log_unit), 0.99 * largest))
    forever = t == jnp.inf
    return jnp.where(stopped, 0, jnp.where(forever, jnp.inf, jnp.where(forever, 0, t) * unit))


def written_time(integral: Array, log_unit: Array, log: bool) -> Array:
    r"""The time $I e^u$ or its logarithm; a time that cannot be written is warned of, with the remedy."""
    flag("log", log)
    moving = integral > 0
    log_time = jnp.where(moving, jnp.log(jnp.where(moving, integral, 1)) + log_unit, -jnp.inf)
    if log:
        return log_time
    finite = jnp.where(moving, log_unit, 0)
    # By halves, so that nothing overflows that the product does not.
    time = integral * jnp.exp(finite / 2) * jnp.exp(finite / 2)
    if is_concrete(time):
        values, logs = np.asarray(time), np.asarray(log_time)
        lost = np.isfinite(logs) & (np.isinf(values) | (values == 0))
        if lost.any():
            warnings.warn(
                f"a time of e^{logs[lost][np.abs(logs[lost]).argmax()]:.6g} cannot be written in {time.dtype} and "
                f"became {values[lost][np.abs(logs[lost]).argmax()]:g}; log=True gives its logarithm.",
                AttnflowWarning,
                stacklevel=3,
            )
    return time


def each(function: Callable[..., Array], *arrays: Array) -> Array:
    """A function of numbers, applied to all entries of arrays of one shape, one after the other."""
    values = jax.lax.map(lambda item: function(*item), tuple(map(jnp.ravel, arrays)))
    return jnp.reshape(values, arrays[0].shape)


@functools.cache
def gauss_legendre(points: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [-1, 1]; integrands here are analytic, so that convergence is geometric."""
    return roots_legendre(points)  # of a tridiagonal matrix: NumPy's rule takes all eigenvalues of a full one
