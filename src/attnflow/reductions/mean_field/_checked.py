"""The times of a solve, as users give them."""

from typing import Any

import numpy as np

from ...checks import finite_array, number, whole
from ...errors import InputError


def times(t0: Any, t1: Any, ts: Any, save: Any) -> tuple[float, float, np.ndarray]:
    """Initial time, final time, and the times to keep."""
    if ts is not None and save is not None:
        raise InputError("give the times to keep as ts, or their number as save, not both.")
    if ts is None and t1 is None:
        raise InputError("the final time is missing; give t1, or the times to keep as ts.")
    start = number("t0", t0)
    kept = None if ts is None else finite_array("ts", ts)
    if kept is not None and (kept.ndim != 1 or kept.size == 0 or (np.diff(kept) <= 0).any()):
        raise InputError("ts must be a list of increasing times.")
    end = number("t1", t1) if kept is None or t1 is not None else float(kept[-1])
    if end <= start:
        raise InputError(f"the law is followed from t0 = {start:g} to t1 = {end:g}; take t1 > t0.")
    if kept is None:
        count = whole("save", 201 if save is None else save)
        kept = np.array([end]) if count == 1 else np.linspace(start, end, count)
    if kept[0] < start or kept[-1] > end:
        raise InputError(f"ts spans [{kept[0]:g}, {kept[-1]:g}], which leaves [t0, t1] = [{start:g}, {end:g}].")
    return start, end, kept
