"""Numbers as users give them: counts, and times."""

import operator
from typing import Any

import numpy as np

from ..._linear_algebra import finite_array
from ...errors import InputError


def whole(name: str, value: Any, least: int = 1) -> int:
    """A whole number, at least `least`."""
    try:
        count = operator.index(value)
    except TypeError:
        raise InputError(f"{name} = {value!r} is not a whole number.") from None
    if count < least:
        raise InputError(f"{name} = {count} is too small; take at least {least}.")
    return count


def times(t0: Any, t1: Any, ts: Any, save: Any) -> tuple[float, float, np.ndarray]:
    """Initial time, final time, and the times to keep."""
    if ts is not None and save is not None:
        raise InputError("give the times to keep as ts, or their number as save, not both.")
    if ts is None and t1 is None:
        raise InputError("the final time is missing; give t1, or the times to keep as ts.")
    start = _time("t0", t0)
    kept = None if ts is None else finite_array("ts", ts)
    if kept is not None and (kept.ndim != 1 or kept.size == 0 or (np.diff(kept) <= 0).any()):
        raise InputError("ts must be a list of increasing times.")
    end = _time("t1", t1) if kept is None or t1 is not None else float(kept[-1])
    if end <= start:
        raise InputError(f"the law is followed from t0 = {start:g} to t1 = {end:g}; take t1 > t0.")
    if kept is None:
        count = whole("save", 201 if save is None else save)
        kept = np.array([end]) if count == 1 else np.linspace(start, end, count)
    if kept[0] < start or kept[-1] > end:
        raise InputError(f"ts spans [{kept[0]:g}, {kept[-1]:g}], which leaves [t0, t1] = [{start:g}, {end:g}].")
    return start, end, kept


def _time(name: str, value: Any) -> float:
    found = finite_array(name, value)
    if found.ndim:
        raise InputError(f"{name} has shape {found.shape}; give one number.")
    return float(found)
