"""What the systems have in common: arguments, exact trajectories, and series with their time axis."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray

from ...checks import finite_array, number
from ...errors import InputError, SolveError, shown

Real = float | int


def positive(name: str, value: Any) -> float:
    """A finite number above zero."""
    value = number(name, value)
    if value <= 0:
        raise InputError(f"{name} = {value:g} must be above zero.")
    return value


def series(
    values: np.ndarray, dt: float, names: Sequence[str], title: str, begin: float = 0.0, **about: Any
) -> xarray.DataArray:
    """Rows of `values (n, d)` at the times `begin`, `begin + dt`, …"""
    times = begin + dt * np.arange(len(values))
    return xarray.DataArray(
        values, dims=("time", "variable"), coords={"time": times, "variable": list(names)}, name=title, attrs=about
    )


def chosen(all_names: Sequence[str], observed: Any) -> list[str]:
    """The observed components, in the order of the user; text such as `"xz"` or a list of names."""
    names = list(observed) if isinstance(observed, str | list | tuple) else []
    if not names or any(name not in all_names for name in names) or len(set(names)) < len(names):
        raise InputError(f"observed = {shown(observed)} should name some of {', '.join(all_names)}, each once.")
    return names


def start_of(value: Any, d: int) -> np.ndarray:
    """The first state."""
    start = finite_array("start", value)
    if start.shape != (d,):
        raise InputError(f"start has shape {start.shape}; give {d} numbers.")
    return start


def trajectory(
    field: Callable[[float, np.ndarray], list[Any]], start: np.ndarray, dt: float, n: int, transient: float
) -> np.ndarray:
    """The solution at `n` times `dt` apart, after a transient; Dormand and Prince's method of order eight.

    Tolerances are 1e-10, and 1e-9 in the transient, which is not kept.
    """
    from scipy.integrate import solve_ivp

    with np.errstate(all="ignore"):  # what leaves all bounds is refused below
        return _integrated(solve_ivp, field, start, dt, n, transient)


def _integrated(solve_ivp: Any, field: Any, start: np.ndarray, dt: float, n: int, transient: float) -> np.ndarray:
    if transient > 0:
        start = _solved(solve_ivp(field, (0.0, transient), start, method="DOP853", rtol=1e-9, atol=1e-9))[:, -1]
    if n == 1:
        return start[None]
    times = dt * np.arange(n)
    solved = solve_ivp(
        field, (0.0, times[-1]), start, method="DOP853", rtol=1e-10, atol=1e-10, t_eval=times, first_step=dt / 10
    )
    return _solved(solved).T


def _solved(solution: Any) -> np.ndarray:
    if not solution.success or not np.isfinite(solution.y).all():
        why = " ".join(str(solution.message).split()).rstrip(".")
        raise SolveError(f"the system could not be integrated from this start ({why}); take another one.")
    return solution.y
