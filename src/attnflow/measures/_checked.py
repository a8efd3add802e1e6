"""Checks of the arguments of a distance: points, masses and the order, in float64."""

import math
import numbers
from typing import Any

import numpy as np

from ..checks import finite_array, number
from ..errors import InputError
from ..spaces import Numbers, check_weights

ROUNDING = 16 * float(np.finfo(float).eps)  # of the whole mass: sums of masses are known to this

Real = np.ndarray | np.floating | float  # a number, or one for every leading axis


def cloud(name: str, points: Numbers) -> np.ndarray:
    """Points as rows, `(..., n, d)`."""
    array = finite_array(name, points)
    if array.ndim < 2 or 0 in array.shape[-2:]:
        raise InputError(f"{name} has shape {array.shape}; give points as rows, (n, d).")
    return array


def pair(x: Numbers, y: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds in the same dimension."""
    first, second = cloud("x", x), cloud("y", y)
    if first.shape[-1] != second.shape[-1]:
        raise InputError(f"x has {first.shape[-1]} coordinates and y {second.shape[-1]}; they must live in one space.")
    return first, second


def clouds(x: Numbers, y: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds `(n, d)` and `(m, d)`, without leading axes."""
    first, second = pair(x, y)
    if first.ndim != 2 or second.ndim != 2:
        raise InputError(f"x and y have shapes {first.shape} and {second.shape}; give one cloud (n, d) each.")
    return first, second


def masses(w: Numbers | None, n: int) -> np.ndarray:
    """The masses of `n` points, summing to one to the last digit."""
    if w is None:
        return np.full(n, 1 / n)
    array = finite_array("the weights", w)
    check_weights(w, n)
    return array / array.sum()


def moves(mass: np.ndarray, least: Real) -> np.ndarray:
    """Whether a mass that a plan moves is one: below rounding it is, if it is half of the smaller point at least."""
    return (mass > ROUNDING) | (2 * mass >= least)


def exponent(p: Any) -> float:
    """The order of a Wasserstein distance."""
    order = number("p", p) if not isinstance(p, numbers.Real) or isinstance(p, bool) else float(p)
    if not 1 <= order < math.inf:
        raise InputError(f"p = {order:g} is no order of a Wasserstein distance; take a finite number, at least 1.")
    return order
