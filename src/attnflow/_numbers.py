"""Single numbers as users give them: counts, real ones and finite ones; anything else is refused in a sentence."""

import operator
from typing import Any

from ._linear_algebra import finite_array
from .errors import InputError, shown


def whole(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """A whole number from `least` to `most`; True and False are none."""
    try:
        count = operator.index(value)
    except TypeError:
        count = None
    if count is None or isinstance(value, bool):
        raise InputError(f"{name} = {shown(value)} is not a whole number.")
    if count < least:
        raise InputError(f"{name} = {count} is too small; take at least {least}.")
    if most is not None and count > most:
        raise InputError(f"{name} = {count} is too large; take at most {most}.")
    return count


def real(name: str, value: Any) -> float:
    """A real number, finite or not; text that reads like one is none."""
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} = {value!r} is not a number.") from None


def number(name: str, value: Any, least: float | int | None = None) -> float:
    """A finite number, not below `least`."""
    found = finite_array(name, value)
    if found.ndim:
        raise InputError(f"{name} has shape {found.shape}; give one number.")
    if least is not None and found < least:
        raise InputError(f"{name} = {found:g} must be one number, at least {least:g}.")
    return float(found)
