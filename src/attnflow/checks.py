"""Numbers, arrays and matrices as users give them; anything else is refused in a sentence."""

import operator
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .errors import InputError, shown


def is_concrete(*arrays: object) -> bool:
    """Whether values can be looked at: false inside `jit`, `grad` and `vmap`, where checks are skipped."""
    return not any(isinstance(a, jax.core.Tracer) for a in jax.tree.leaves(arrays))


def finite_array(name: str, values: Any) -> np.ndarray:
    """Finite numbers, in NumPy; anything else is refused in a sentence."""
    if not is_concrete(values):
        raise InputError(f"{name} is being traced, and this is done by NumPy: call it outside jit, grad and vmap.")
    try:
        raw = np.asarray(values)
        if raw.dtype.kind in "SUbmM":  # NumPy would read the text "1", True and dates as numbers
            raise TypeError
        array = np.asarray(np.real(raw), float)
    except (TypeError, ValueError):
        raise InputError(f"{name} = {shown(values)} is not an array of numbers.") from None
    except OverflowError:
        raise InputError(f"{name} has an entry beyond the range of float64; rescale.") from None
    if raw.dtype.kind == "c":
        raise InputError(f"{name} holds complex numbers; give real ones.")
    if not np.isfinite(array).all():
        if array.ndim == 0:
            raise InputError(f"{name} = {array:g} has an entry that is not finite; give a finite number.")
        where = np.argwhere(~np.isfinite(array))[0].tolist()
        raise InputError(f"{name} has an entry that is not finite (at {where}); give numbers.")
    return array


def square_matrix(name: str, value: Any, d: int | None = None) -> np.ndarray:
    """A square matrix of finite numbers, of size d if that is given; a number stands for a 1 x 1 matrix."""
    matrix = np.atleast_2d(finite_array(name, value))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or 0 in matrix.shape:
        raise InputError(f"{name} has shape {matrix.shape}; give a square matrix.")
    if d is not None and len(matrix) != d:
        raise InputError(f"{name} has shape {matrix.shape} and tokens have dimension {d}; give a {d} x {d} matrix.")
    return matrix


def whole(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """A whole number from `least` to `most` (by default what 64 bits hold); True and False are none."""
    most = 2**63 - 1 if most is None else most
    try:
        count = operator.index(value)
    except TypeError:
        count = None
    if count is None or isinstance(value, bool):
        raise InputError(f"{name} = {shown(value)} is not a whole number.")
    if count < least:
        raise InputError(f"{name} = {count} is too small; take at least {least}.")
    if count > most:
        raise InputError(f"{name} = {shown(count)} is too large; take at most {most}.")
    return count


def flag(name: str, value: Any) -> bool:
    """True or False; text such as "no" would count as true."""
    if not isinstance(value, bool | np.bool):
        raise InputError(f"{name} = {shown(value)} is neither True nor False.")
    return bool(value)


def real(name: str, value: Any) -> float:
    """A real number, finite or not; text that reads like one, True and False are none."""
    try:
        if isinstance(value, str | bytes | bool):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} = {shown(value)} is not a number.") from None


def number(name: str, value: Any, least: float | int | None = None) -> float:
    """A finite number, not below `least`."""
    array = finite_array(name, value)
    if array.ndim:
        raise InputError(f"{name} has shape {array.shape}; give one number.")
    if least is not None and array < least:
        raise InputError(f"{name} = {array:g} must be one number, at least {least:g}.")
    return float(array)


def real_array(name: str, value: Any, ndim: int) -> Array:
    """Real numbers with `ndim` axes, for JAX, traced or not; their values are not looked at."""
    try:
        array = jnp.asarray(value)
        if not (jnp.issubdtype(array.dtype, jnp.floating) or jnp.issubdtype(array.dtype, jnp.integer)):
            raise TypeError  # True, complex numbers, keys
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} = {shown(value)} is not a number or an array of real numbers.") from None
    if array.ndim != ndim:
        raise InputError(f"{name} has shape {array.shape}; give {('a number', 'a vector', 'a matrix')[ndim]}.")
    if 0 in array.shape:
        raise InputError(f"{name} has shape {array.shape} and no entries; leave it out, or give some.")
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(jnp.result_type(float))


def reals(name: str, values: Any, *, infinite: bool = False) -> Array:
    """Real numbers of any shape for JAX; concrete values are checked, traced ones are accepted.

    NaN is refused, and infinity unless `infinite`; so is a finite number that only the other precision can write.
    """
    kind = jnp.result_type(float)
    if not is_concrete(values):
        return jnp.asarray(values, kind)
    try:
        known = np.asarray(values)
        allowed = np.isinf(known) if infinite and known.dtype.kind == "f" else np.zeros(known.shape, bool)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} = {shown(values)} is not an array of numbers.") from None
    exact = finite_array(name, np.where(allowed, 0, known) if allowed.any() else values)
    with np.errstate(over="ignore", under="ignore"):
        array = np.asarray(np.where(allowed, known, exact) if allowed.any() else exact, kind)
    lost = ~allowed & (np.isinf(array) | ((array == 0) & (exact != 0)))
    if lost.any():
        raise InputError(f"{name} = {exact[lost][0]:g} cannot be written in {kind.name}; take af.precision('float64').")
    return jnp.asarray(array)
