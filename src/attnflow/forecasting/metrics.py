r"""How good a forecast is: errors of states, and what a chaotic system leaves to compare when states have parted.

States are rows, `(time, channel)`; one channel may be given as `(time,)`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..checks import finite_array, number, whole
from ..errors import InputError, shown
from ..measures import wasserstein_1d
from ..spaces import Numbers
from .gaps import with_gaps

Real = float | int


def nrmse(predicted: Numbers, true: Numbers, mean: Numbers | None = None) -> float:
    r"""$\mathrm{rms}(\hat x - x) / \mathrm{rms}(x - \bar x)$, pooled over channels; 1 is what the mean would have.

    **Arguments:** `mean`, one number for each channel, is by default that of `true`. A forecast that is shorter than
    `true`, since it diverged, or has entries that are not finite, has the error infinity.
    """
    x, y = _states("true", true), _states("predicted", predicted, finite=False)
    if y.shape[1] != x.shape[1] or len(y) > len(x):
        raise InputError(f"predicted has shape {y.shape} and true {x.shape}; they must be about the same times.")
    centre = x.mean(axis=0) if mean is None else np.broadcast_to(_channels("mean", mean, x.shape[1]), x.shape[1:])
    spread = float(np.sqrt(np.mean((x - centre) ** 2)))
    if spread == 0:
        raise InputError("true does not vary about its mean, so there is nothing to compare an error with.")
    if len(y) < len(x) or not np.isfinite(y).all():
        return float("inf")
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.mean((y - x) ** 2)) / spread)


class ValidTime(NamedTuple):
    """For each forecast: the `time` it is valid, in units of 1/exponent, and whether it is `capped`: still valid at its
    last time, so that the true one is longer.
    """

    time: np.ndarray
    capped: np.ndarray

    @property
    def median(self) -> float:
        """The median over forecasts; too small where more than half of them are capped."""
        return float(np.median(self.time))


def valid_prediction_time(
    predicted: Numbers,
    true: Numbers,
    dt: Real = 1.0,
    *,
    exponent: Real = 1.0,
    threshold: Real = 0.4,
    scale: Real | None = None,
) -> ValidTime:
    r"""The first time at which $|\hat x - x| \ge \theta\sqrt{\mathrm{mean}|x - \bar x|^2}$, times the largest exponent.

    **Arguments:** states `(..., time, channel)`, with leading axes for several forecasts, the first `dt` after the
    start; `exponent`, the largest Lyapunov exponent, for Lyapunov times; `scale`, the square root above, which is by
    default that of `true`. What is not finite is not valid.
    """
    x, y = finite_array("true", true), with_gaps("predicted", predicted, infinite=True)
    if x.ndim < 2 or x.shape != y.shape or 0 in x.shape:
        raise InputError(f"predicted has shape {y.shape} and true {x.shape}; give both as (..., time, channel).")
    dt, threshold, exponent = number("dt", dt, 0.0), number("threshold", threshold, 0.0), number("exponent", exponent)
    if scale is None:
        centred = x - x.mean(axis=tuple(range(x.ndim - 1)))
        scale = float(np.sqrt((centred**2).sum(axis=-1).mean()))
    scale = number("scale", scale, 0.0)
    if scale == 0:
        raise InputError("scale is zero, so every error is too large; give the spread of the series.")
    with np.errstate(over="ignore", invalid="ignore"):
        wrong = ~(np.linalg.norm(y - x, axis=-1) < threshold * scale)
    capped = ~wrong.any(axis=-1)
    steps = np.where(capped, x.shape[-2], wrong.argmax(axis=-1) + 1)
    return ValidTime(steps * dt * exponent, capped)


def histogram_distance(x: Numbers, reference: Numbers, *, bins: int = 50) -> np.ndarray:
    r"""Half the $\ell_1$ distance of two histograms, for each channel, in [0, 1]: total variation of what bins see.

    Bins divide the range of the reference, widened by a twentieth; what lies outside counts to those at the ends. Two
    series of one system differ, too: compare with another trajectory of the system.
    """
    a, b, bins = _states("x", x), _states("reference", reference), whole("bins", bins, 2)
    _same_channels(a, b)
    distances = []
    for one, other in zip(a.T, b.T, strict=True):
        low, high = other.min(), other.max()
        if low == high:
            raise InputError("reference has a channel that is constant, and its range has no bins; leave it out.")
        wider = 0.025 * (high - low)
        edges = np.linspace(low - wider, high + wider, bins + 1)
        mass = [np.histogram(np.clip(v, edges[0], edges[-1]), edges)[0] / len(v) for v in (one, other)]
        distances.append(0.5 * np.abs(mass[0] - mass[1]).sum())
    return np.array(distances)


def wasserstein1d(x: Numbers, reference: Numbers) -> np.ndarray:
    r"""$W_1$ of the values of each channel over the reference's standard deviation."""
    a, b = _states("x", x), _states("reference", reference)
    _same_channels(a, b)
    spread = b.std(axis=0)
    if not spread.all():
        raise InputError("reference has a channel that is constant; leave it out.")
    return np.asarray(wasserstein_1d(a.T, b.T, 1), float) / spread


class LyapunovEstimate(NamedTuple):
    """The largest `exponent`, per unit of time, and its `error`: the standard error over ten parts of the path."""

    exponent: float
    error: float


def largest_lyapunov(
    step: Callable[[Any], Any],
    start: Numbers,
    dt: Real,
    *,
    steps: int = 4000,
    every: int = 10,
    size: Numbers = 1e-4,
    transient: int = 200,
    key: jax.Array | None = None,
) -> LyapunovEstimate:
    r"""The largest Lyapunov exponent of a map by Benettin's method: of two copies, set close again and again.

    **Arguments:** `step`, a function of JAX from a state to the next, `dt` later; `start`, a state of any shape, such
    as the window of a forecaster (see `window_step`); `size` of the perturbation, one number or one for each channel,
    the last axis (1e-4 standard deviations is usual); `every` so many of the `steps` the distance is measured and set
    back. Growth in the `transient` is not counted. One compiled program; a trajectory that leaves all bounds gives NaN.
    """
    if not callable(step):
        raise InputError(f"step = {shown(step)} is not a function; give one from a state to the next.")
    first = jnp.asarray(finite_array("start", start))
    size = finite_array("size", size)
    dt, every = number("dt", dt), whole("every", every)
    transient = whole("transient", transient, 0)
    rounds = whole("steps", steps, 10 * every) // every
    if dt <= 0 or first.ndim < 1 or not first.size:
        raise InputError(f"dt = {dt:g} must be above zero, and start, of shape {first.shape}, have entries.")
    if size.shape not in ((), first.shape[-1:]) or (size <= 0).any():
        raise InputError(f"size = {shown(size)} must be above zero: one number, or one for each channel.")
    unit = jnp.broadcast_to(jnp.asarray(size, first.dtype), first.shape)
    direction = jax.random.normal(jax.random.key(0) if key is None else key, first.shape, first.dtype)
    direction = direction / jnp.linalg.norm(direction)

    def advance(pair, _):
        return jax.tree.map(step, pair), None

    def one_round(state, _):
        x, v = state
        x, y = jax.lax.scan(advance, (x, x + unit * v), None, length=every)[0]
        apart = (y - x) / unit
        growth = jnp.linalg.norm(apart)
        return (x, apart / growth), jnp.log(growth)

    @jax.jit
    def growths(x, v):
        return jax.lax.scan(one_round, (x, v), None, length=rounds + -(-transient // every))[1]

    kept = np.asarray(growths(first, direction), float)[-rounds:] / (every * dt)
    parts = np.array([part.mean() for part in np.array_split(kept, 10)])
    return LyapunovEstimate(float(kept.mean()), float(parts.std(ddof=1) / np.sqrt(10)))


def window_step(model: Any) -> Callable[[jax.Array], jax.Array]:
    """The map of windows `(n_delays, channel)`, newest first, that a fitted forecaster iterates."""
    if not callable(getattr(model, "step", None)):
        raise InputError(f"{shown(model)} is no forecaster; give one whose step(window) is the next state.")

    def step(window):
        following = jnp.asarray(model.step(window), window.dtype)
        return jnp.concatenate([following[None], window[:-1]])

    return step


def _states(name: str, values: Any, finite: bool = True) -> np.ndarray:
    """`(time, channel)`."""
    array = finite_array(name, values) if finite else with_gaps(name, values, infinite=True)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or 0 in array.shape[1:] or (finite and not len(array)):
        raise InputError(f"{name} has shape {array.shape}; give (time, channel).")
    return array


def _channels(name: str, value: Any, d: int) -> np.ndarray:
    array = finite_array(name, value)
    if array.shape not in ((), (d,)):
        raise InputError(f"{name} has shape {array.shape}; give one number for each of {d} channels.")
    return array


def _same_channels(a: np.ndarray, b: np.ndarray) -> None:
    if a.shape[1] != b.shape[1]:
        raise InputError(f"x has {a.shape[1]} channels and reference {b.shape[1]}; they must be the same ones.")
