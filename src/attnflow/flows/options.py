"""Options of a solver: times, tolerances and steps, checked; unsupported combinations are refused in a sentence."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..checks import real, whole
from ..errors import InputError
from ..spaces import is_concrete

# Relative and absolute tolerance by precision: enough for figures in float32, and for nine digits in float64.
TOLERANCES = {"float64": (1e-9, 1e-12), "float32": (1e-5, 1e-7)}


def times(t0: Any, t1: Any, ts: Any, save: int | None) -> tuple[Any, Any, Any]:
    """Initial time, final time and times to keep, checked."""
    if ts is not None and save is not None:
        raise InputError("give the times to keep as ts, or their number as save, not both.")
    if ts is None and t1 is None:
        raise InputError("the final time is missing; give t1, or the times to keep as ts.")
    if save is not None and whole("save", save, least=-(2**62)) < 1:
        raise InputError(f"save = {save} keeps nothing; keep at least one time.")
    if not is_concrete(t0, t1, ts):
        t1 = jnp.asarray(ts)[-1] if t1 is None else t1
        return t0, t1, _equispaced(t0, t1, save, jnp) if ts is None else ts
    t0 = real("t0", t0)
    t1 = t1 if t1 is None else real("t1", t1)
    if ts is not None:
        ts = _numbers(ts)
        if ts.ndim != 1 or ts.size == 0 or not np.isfinite(ts).all() or (np.diff(ts) <= 0).any():
            raise InputError("ts must be a list of finite, increasing times.")
        t1 = float(ts[-1]) if t1 is None else t1
    if not (math.isfinite(t0) and math.isfinite(t1)) or t1 <= t0:
        raise InputError(f"the flow runs from t0 = {t0:g} to t1 = {t1:g}; take finite times with t1 > t0.")
    ts = _equispaced(t0, t1, save, np) if ts is None else ts
    if ts[0] < t0 or ts[-1] > t1:
        raise InputError(f"ts spans [{ts[0]:g}, {ts[-1]:g}], which leaves [t0, t1] = [{t0:g}, {t1:g}].")
    return float(t0), float(t1), ts


def check_clock(t0: Any, ts: Any, dtype: str) -> None:
    """Refuse times that the clock of a run in this precision cannot resolve."""
    if not is_concrete(t0, ts):
        return
    exact = np.asarray(ts, np.float64)
    exact = exact if exact[0] == t0 else np.append(t0, exact)
    apart = np.diff(exact)
    off = np.abs(np.diff(exact.astype(dtype).astype(np.float64)) - apart) > 0.05 * apart
    if off.any():
        k = int(np.argmax(off))
        remedy = "" if dtype == "float64" else ", or call attnflow.precision('float64')"
        raise InputError(
            f"{dtype} cannot tell the times {exact[k]:.12g} and {exact[k + 1]:.12g} apart; count time from t0 = 0, "
            f"keep fewer times{remedy}."
        )


def _numbers(ts: Any) -> np.ndarray:
    """Times as an array of numbers; `None` if they are not numbers."""
    try:
        array = np.asarray(ts)
    except ValueError:  # lists of different lengths
        return np.empty(0)
    return array.astype(np.float64) if array.dtype.kind in "iuf" else np.empty(0)


def at_layers(t0: Any, t1: Any, ts: Any, every: bool, dt: Any) -> tuple[Any, Any]:
    """The last layer's time, and the times of those to keep: of `every` one, or `ts`. None is between layers."""
    if not is_concrete(t0, t1, ts, dt):
        return t1, ts
    last = round((t1 - t0) / dt)
    wanted = np.append(t0 + dt * np.arange(last + 1) if every else ts, t1)
    layers = np.round((wanted - t0) / dt)
    # A step computed in float32 is off in its seventh digit, and a layer by as much as all steps before it.
    off = np.abs(t0 + dt * layers - wanted) > dt * np.minimum(1e-6 + 2e-7 * layers, 0.1)
    if off.any():
        raise InputError(f"t = {wanted[off][0]:g} lies between two layers of dt = {dt:g}; take multiples of dt.")
    return float(t0 + dt * last), t0 + dt * layers[:-1]


def whole_layers(t0: Any, t1: Any, ts: Any, save: int | None, max_steps: int) -> tuple[int, np.ndarray, int]:
    """The first layer, those to keep, and the last, as whole numbers."""
    if not is_concrete(t0, t1, ts):
        raise InputError("the number of layers is being traced, and the program is compiled for it; give a number.")
    start, end, wanted = times(t0, t1, ts, save)
    kept = np.arange(start, end + 1) if ts is None and save is None else np.asarray(wanted)
    wanted = np.array([start, *kept, end])
    between = wanted != np.round(wanted)
    if between.any():
        raise InputError(f"t = {wanted[between][0]:g} lies between two layers; give whole numbers.")
    if end - start > max_steps:
        raise InputError(f"{end - start:.0f} layers exceed max_steps = {max_steps}; raise max_steps.")
    return int(start), kept.astype(int), math.floor(end)


def _equispaced(t0: Any, t1: Any, save: int | None, xp: Any) -> Any:
    return xp.asarray([t1]) if save == 1 else xp.linspace(t0, t1, 201 if save is None else save)


def tolerances(rtol: Any, atol: Any, default: tuple[float, float]) -> dict[str, Any]:
    """Relative and absolute tolerance, checked; `None` is the default."""
    values = {"rtol": default[0] if rtol is None else rtol, "atol": default[1] if atol is None else atol}
    for name, value in values.items():
        if is_concrete(value) and not 0 < real(name, value) < 1:
            raise InputError(f"{name} = {value:g} is no tolerance; take a number between 0 and 1.")
    return values


def step_options(
    adaptive: bool, solver: str, dt: Any, rtol: Any, atol: Any, max_steps: int, span: Any, dtype: str
) -> dict[str, Any]:
    """The tolerances of an adaptive solver, or the step of a fixed one, checked."""
    if adaptive:
        if dt is not None:
            raise InputError(f"solver {solver!r} chooses its own steps; drop dt, or take rk4, ifrk4, euler, layers.")
        return tolerances(rtol, atol, TOLERANCES[dtype])
    if rtol is not None or atol is not None:
        raise InputError(f"solver {solver!r} has a fixed step; drop rtol and atol, or take tsit5 or dopri8.")
    if dt is None or (is_concrete(dt) and not 0 < real("dt", dt) < math.inf):
        raise InputError(f"solver {solver!r} needs a positive step; got dt = {dt}, give for example dt=0.1.")
    if is_concrete(dt, span) and span / dt > max_steps:
        raise InputError(f"{span / dt:.0f} steps of dt = {dt:g} exceed max_steps = {max_steps}; raise max_steps.")
    return {"dt": dt}
