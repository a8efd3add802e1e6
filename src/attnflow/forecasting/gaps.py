"""Arrays in which NaN is a gap, or a forecast that diverged."""

from typing import Any

import numpy as np

from ..errors import InputError, shown


def with_gaps(name: str, values: Any, *, infinite: bool = False) -> np.ndarray:
    """Real numbers, of which some may be NaN, and infinite if that is allowed; text, True and False are none."""
    try:
        raw = np.asarray(values)
        if raw.dtype.kind not in "fiu":
            raise TypeError
        array = raw.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} = {shown(values)} is not an array of real numbers.") from None
    if not infinite and np.isinf(array).any():
        raise InputError(f"{name} has an entry that is infinite; a gap is NaN.")
    return array


def table_with_gaps(name: str, values: Any, *, infinite: bool = False) -> np.ndarray:
    """The same as `(time, channel)`; one channel may be `(time,)`."""
    array = with_gaps(name, values, infinite=infinite)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or not array.shape[1]:
        raise InputError(f"{name} has shape {array.shape}; give (time, channel).")
    return array
