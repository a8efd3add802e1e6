"""Parameters of attention maps and models: numbers and matrices, or schedules of them, checked once."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike

from .checks import is_concrete, real_array
from .errors import InputError, shown

# What a numeric argument of a map or a model may be: a number, an array (lists will do), or a schedule: a module that
# gives the value at time t when called with t, such as `Piecewise`.
Parameter = ArrayLike | Sequence[Any] | eqx.Module


def parameter(name: str, value: Any, ndim: int) -> Any:
    """A numeric field of a map: an array of the right rank, or a module called with the time, which is kept."""
    if value is None or isinstance(value, eqx.Module):
        return value
    value = real_array(name, value, ndim)
    if is_concrete(value) and not np.isfinite(np.asarray(value)).all():
        where = tuple(map(int, np.argwhere(~np.isfinite(np.asarray(value)))[0]))
        entry = f"{name} = " if ndim == 0 else f"{name} has at {list(where)} the entry "
        raise InputError(f"{entry}{np.asarray(value)[where]:g}, which is not finite.")
    return jnp.asarray(value, value.dtype)  # no weak type: a new value never compiles again


def weight_array(name: str, value: Any) -> Any:
    """Finite real numbers of any shape; weights as files hold them, half precision becomes float32. `None` is kept."""
    if value is None:
        return None
    array = value
    if not isinstance(value, jax.Array):
        try:
            array = np.asarray(value)
        except (TypeError, ValueError, OverflowError):
            array = np.asarray("")
        if array.dtype.kind not in "iuf" and array.dtype.name != "bfloat16":
            raise InputError(f"{name} = {shown(value)} is not an array of real numbers.")
        if array.dtype.itemsize < 4 and array.dtype.kind not in "iu":
            array = array.astype(np.float32)
    array = jnp.asarray(array)
    if jnp.issubdtype(array.dtype, jnp.integer):
        array = array.astype(jnp.result_type(float))
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise InputError(f"{name} has dtype {array.dtype}; give real numbers.")
    if 0 in array.shape:
        raise InputError(f"{name} has shape {array.shape} and no entries; leave it out, or give some.")
    if is_concrete(array) and not np.isfinite(np.asarray(array)).all():
        raise InputError(f"{name} has an entry that is not finite; give finite numbers.")
    return jnp.asarray(array, array.dtype)


def inverse_temperature(beta: Any) -> Any:
    r"""$\beta \ge 0$, refused otherwise: repulsion is a sign of the matrices, not of the temperature."""
    beta = parameter("beta", beta, ndim=0)
    if beta is None:
        raise InputError("beta is missing; give an inverse temperature, for example beta=1.0.")
    least = _least(beta)
    if least is not None and least < 0:
        raise InputError(f"beta = {least:g} is negative; take beta >= 0 and repulsion from V or B (V=-B, K=-Q).")
    return beta


def _least(value: Any) -> float | None:
    """The least value of a number or of a schedule that lists its values; `None` where they are traced."""
    values = getattr(value, "values", None) if isinstance(value, eqx.Module) else value
    return None if values is None or not is_concrete(values) else float(np.min(np.asarray(values)))


def non_negative(name: str, value: Any) -> Any:
    """A number that is at least zero, refused otherwise."""
    value = parameter(name, value, ndim=0)
    if value is None:
        raise InputError(f"{name} is missing; give a number, at least 0.")
    least = _least(value)
    if least is not None and least < 0:
        raise InputError(f"{name} = {least:g} is negative; take a number, at least 0.")
    return value


def positive(name: str, value: Any) -> Any:
    """A number greater than zero, at all times if it is a schedule; refused otherwise."""
    value = non_negative(name, value)
    if _least(value) == 0:
        raise InputError(f"{name} = 0 moves no token; take a number greater than 0.")
    return value


def score_matrices(B: Any, Q: Any, K: Any) -> tuple[Any, Any, Any]:
    r"""`B`, or `Q` and `K` with $B = Q^\top K$, as matrices; giving both is refused."""
    B, Q, K = parameter("B", B, 2), parameter("Q", Q, 2), parameter("K", K, 2)
    if (Q is None) != (K is None):
        raise InputError(f"{'K' if K is None else 'Q'} is missing; Q and K come together (B = Q^T K).")
    if B is not None and Q is not None:
        raise InputError("give B, or Q and K (B = Q^T K), not both.")
    return B, Q, K
