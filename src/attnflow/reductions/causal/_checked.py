"""Numbers as users give them to the causal closed forms."""

from typing import Any

import numpy as np

from ...checks import finite_array, whole
from ...errors import InputError
from .._scalar import one_shape as one_shape

MOST = 10**6  # modes, and dimensions: all of them are computed


def count_of_modes(modes: Any) -> int:
    return whole("modes", modes, most=MOST)


def not_negative(name: str, values: Any) -> np.ndarray:
    """Finite numbers, none below zero."""
    found = finite_array(name, values)
    if (found < 0).any():
        raise InputError(f"{name} = {found.min():g} must not be negative.")
    return found


def positive(name: str, values: Any) -> np.ndarray:
    """Finite numbers, all above zero."""
    found = finite_array(name, values)
    if not (found > 0).all():
        raise InputError(f"{name} = {found.min():g} must be larger than 0.")
    return found


def sources(s: Any, at: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions of sources and of their targets, 0 < s <= at <= 1, of one shape."""
    source, target = positive("s", s), positive("at", at)
    one_shape(s=source, at=target)
    source, target = np.broadcast_arrays(source, target)
    if (target > 1).any():
        raise InputError(f"at = {target.max():g} lies behind the prompt; positions run from 0 to 1.")
    if (source > target).any():
        beyond = source > target
        raise InputError(
            f"the source s = {source[beyond][0]:g} lies behind its target at = {target[beyond][0]:g}; causal tokens "
            "see what came before them."
        )
    return source, target
