"""Points, vectors and numbers of a schedule: float64, or converted with a word."""

import warnings
from typing import Any

import numpy as np

from ...checks import finite_array
from ...errors import AttnflowWarning, InputError


def doubles(name: str, value: Any) -> np.ndarray:
    """Finite numbers in float64; coarser floating-point numbers are converted, with a warning."""
    array = finite_array(name, value)
    narrow(name, value)
    return array


def narrow(name: str, value: Any) -> None:
    """Say a word where numbers are coarser than float64."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None and np.dtype(dtype).kind == "f" and np.dtype(dtype).itemsize < 8:
        warnings.warn(
            f"{name} is {np.dtype(dtype).name} and was converted to float64, with no more digits than it had; "
            "af.precision('float64') before arrays are made keeps them.",
            AttnflowWarning,
            stacklevel=2,
        )


def vector(name: str, value: Any, d: int | None = None) -> np.ndarray:
    """A vector, of dimension d if that is given; a number stands for a vector of the line. It cannot be written to."""
    array = np.atleast_1d(doubles(name, value)).copy()
    if array.ndim != 1 or not array.size or (d is not None and len(array) != d):
        wanted = "a vector (d,)" if d is None else f"a vector of dimension {d}"
        raise InputError(f"{name} has shape {array.shape}; give {wanted}.")
    return frozen(array)


def direction(name: str, value: Any, d: int | None = None) -> np.ndarray:
    """A vector that is not zero."""
    array = vector(name, value, d)
    if not array.any():
        raise InputError(f"{name} is zero and has no direction; give a nonzero vector.")
    return array


def number(name: str, value: Any) -> float:
    """One finite number."""
    array = doubles(name, value)
    if array.ndim:
        raise InputError(f"{name} has shape {array.shape}; give one number.")
    return float(array)


def points(name: str, value: Any, d: int) -> np.ndarray:
    """Rows `(n, d)`."""
    array = doubles(name, value)
    if array.ndim != 2 or array.shape[1] != d:
        raise InputError(f"{name} has shape {array.shape}; give points of R^{d} as rows (n, {d}).")
    return array


def increasing(name: str, value: Any) -> np.ndarray:
    """Numbers that grow from one to the next."""
    array = vector(name, value)
    if (short := np.flatnonzero(np.diff(array) <= 0)).size:
        k = int(short[0])
        raise InputError(
            f"{name} must increase, and {name}[{k + 1}] = {array[k + 1]:.17g} follows {array[k]:.17g}; "
            "sort them and drop repetitions."
        )
    return array


def frozen(array: np.ndarray) -> np.ndarray:
    """The same array, which nobody can write to: pieces are values."""
    array.flags.writeable = False
    return array


def masses(value: Any, n: int) -> np.ndarray:
    """Weights of n points, none negative."""
    array = doubles("weights", value)
    if array.shape != (n,):
        raise InputError(f"weights have shape {array.shape} and there are {n} points; give one weight for each.")
    if (array < 0).any():
        raise InputError(f"weights[{int(array.argmin())}] = {array.min():g} is negative; give weights >= 0.")
    return array
