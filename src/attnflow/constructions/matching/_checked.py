"""Checks of what the parts of a schedule are made of."""

from typing import Any

import numpy as np

from ...checks import finite_array, number
from ...errors import InputError

UNIT = 1e-9  # how far a direction may be from length one before it is refused


def direction(name: str, value: Any) -> np.ndarray:
    """A unit vector `(d,)`; one that is nearly so is made one."""
    vector = finite_array(name, value)
    if vector.ndim != 1 or vector.size < 2:
        raise InputError(f"{name} has shape {vector.shape}; give a unit vector (d,).")
    length = np.linalg.norm(vector)
    if not abs(length - 1) <= UNIT:
        raise InputError(f"{name} has length {length:.6g}, not 1; divide it by its length.")
    return vector / length


def orthogonal(gamma: np.ndarray, omega: np.ndarray) -> None:
    if len(gamma) != len(omega):
        raise InputError(f"gamma has {len(gamma)} coordinates and omega {len(omega)}; they must live in one space.")
    if len(gamma) < 3:
        raise InputError("a band has three neurons and needs d >= 3; on the circle it holds two points at most.")
    if not abs(gamma @ omega) <= UNIT:
        raise InputError(f"<gamma, omega> = {gamma @ omega:.3g}; take omega orthogonal to gamma.")


def duration(T: Any) -> float:
    return positive("T", T)


def positive(name: str, value: Any) -> float:
    """A finite number greater than zero."""
    size = number(name, value)
    if not size > 0:
        raise InputError(f"{name} = {size:g} must be greater than 0.")
    return size


def signed(name: str, value: Any, most: float | None = None) -> float:
    """A finite number of either sign; below `most` in size, if that is given."""
    size = number(name, value)
    if most is not None and not abs(size) < most:
        raise InputError(f"{name} = {size:g} must lie between {-most:g} and {most:g}.")
    return size
