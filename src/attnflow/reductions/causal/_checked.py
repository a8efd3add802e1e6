"""Numbers as users give them to the causal closed forms."""

from typing import Any

import numpy as np

from ...checks import finite_array, whole
from ...errors import InputError
from ...spaces import Numbers
from .._scalar import one_shape as one_shape

MOST = 10**6  # modes, and dimensions: all of them are computed


def count_of_modes(modes: Any) -> int:
    return whole("modes", modes, most=MOST)


def not_negative(name: str, values: Numbers) -> np.ndarray:
    """Finite numbers, none below zero."""
    array = finite_array(name, values)
    if (array < 0).any():
        raise InputError(f"{name} = {array.min():g} must not be negative.")
    return array


def positive(name: str, values: Numbers) -> np.ndarray:
    """Finite numbers, all above zero."""
    array = finite_array(name, values)
    if not (array > 0).all():
        raise InputError(f"{name} = {array.min():g} must be larger than 0.")
    return array


def sources(s: Numbers, target: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Positions of sources and of their targets, 0 < s <= target <= 1, of one shape."""
    source, target = positive("s", s), positive("target", target)
    one_shape(s=source, target=target)
    source, target = np.broadcast_arrays(source, target)
    if (target > 1).any():
        raise InputError(f"target = {target.max():g} lies behind the prompt; positions run from 0 to 1.")
    if (source > target).any():
        beyond = source > target
        raise InputError(
            f"the source s = {source[beyond][0]:g} lies behind its target = {target[beyond][0]:g}; causal tokens "
            "see what came before them."
        )
    return source, target
