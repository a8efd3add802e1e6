"""A weighted cloud `(x, w)` as users give it, checked once in every public function.

Inside the library a cloud is an array `(n, d)` with tokens as rows and `w` is `None` (equal weights) or an array
`(n,)`, non-negative, summing to one.
"""

import warnings
from collections.abc import Sequence
from typing import Any, overload

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from ..checks import is_concrete
from ..errors import AttnflowWarning, InputError, shown
from ._space import AbstractSpace

Numbers = ArrayLike | Sequence[Any]  # what a user may give for an array
Number = float | int | np.floating | np.integer | np.ndarray | Array  # one real number
Count = int | np.integer
Key = Array  # a random key of JAX


def warn_if_narrowed(what: str, *numbers: object, stacklevel: int = 4) -> None:
    """Warn of float64 numbers of NumPy that JAX will take as float32; Python shows it once for each line of a program.

    `stacklevel` is that of the user's line, by default two calls above the function that checks.
    """
    narrowed = any(isinstance(a, np.ndarray | np.generic) and a.dtype == np.float64 for a in numbers)
    if narrowed and jnp.result_type(float) != jnp.float64:
        warnings.warn(
            f"the {what} are float64 and are taken as float32; call attnflow.precision('float64') before arrays are "
            "made, or give float32.",
            AttnflowWarning,
            stacklevel=stacklevel,
        )


def check_tokens(x: Numbers, space: AbstractSpace) -> Float[Array, "n d"]:
    """Tokens as a floating `(n, d)` array on the space, or one sentence saying what is wrong with them."""
    warn_if_narrowed("tokens", x)
    if not isinstance(space, AbstractSpace):
        raise InputError(f"space = {shown(space)} is no space; give af.Sphere() or af.Euclidean().")
    try:
        x = jnp.asarray(x)
    except (TypeError, ValueError, OverflowError):
        raise InputError("the tokens are not an array of numbers; give an array of shape (n, d).") from None
    if x.ndim != 2 or x.shape[0] < 1 or x.shape[1] < 1:
        raise InputError(f"tokens have shape {x.shape}; give one cloud (n, d), tokens as rows (batches by jax.vmap).")
    if jnp.issubdtype(x.dtype, jnp.integer):
        x = x.astype(jnp.result_type(float))
    if x.dtype not in (jnp.float32, jnp.float64):
        raise InputError(f"tokens have dtype {x.dtype}; give real numbers, float32 or float64.")
    if not is_concrete(x):
        return space.nearest(x)
    finite = np.isfinite(np.asarray(x)).all(axis=-1)
    if not finite.all():
        raise InputError(
            f"token {int(np.argmin(finite))} is not finite: {np.asarray(x[np.argmin(finite)])}; remove it."
        )
    return space.check(x)


def check_weights(weights: Numbers | None, n: int) -> Float[Array, " n"] | None:
    """Weights as a probability vector: a sum off by at most 1e-3 is mended with a message, more is refused."""
    if weights is None:
        return None
    if not isinstance(weights, jax.Array) or not jnp.issubdtype(weights.dtype, jnp.floating):
        try:
            if jnp.asarray(weights).dtype.kind not in "iuf":  # True and complex numbers are no weights
                raise TypeError
            weights = jnp.asarray(weights, jnp.result_type(float))
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"the weights are not an array of numbers; give one per token, shape ({n},).") from None
    if weights.shape != (n,):
        raise InputError(f"weights have shape {weights.shape}; give one per token, shape ({n},).")
    if not is_concrete(weights):
        return weights
    values = np.asarray(weights, np.float64)
    if not np.isfinite(values).all() or (values < 0).any():
        bad = int(np.argmax(~np.isfinite(values) | (values < 0)))
        raise InputError(f"weight {bad} is {values[bad]:g}; weights are finite and not negative.")
    total = values.sum()
    if abs(total - 1) > 1e-3:
        raise InputError(f"the weights sum to {total:.6g}, not 1; divide them by their sum.")
    if abs(total - 1) <= 8 * n * float(jnp.finfo(weights.dtype).eps):
        return weights  # to the last digit: a restarted run has the weights of the first
    warnings.warn(f"the weights summed to {total:.9g} and were normalised.", AttnflowWarning, stacklevel=3)
    return weights / jnp.asarray(total, weights.dtype)


@overload
def log_weights(w: Float[Array, " n"]) -> Float[Array, " n"]: ...
@overload
def log_weights(w: None) -> None: ...
def log_weights(w: Float[Array, " n"] | None) -> Float[Array, " n"] | None:
    """`log w`, with `-inf` (and a zero gradient) for weight zero; `None` stays `None` (equal weights)."""
    if w is None:
        return None
    return jnp.where(w == 0, -jnp.inf, jnp.log(jnp.where(w == 0, 1, w)))  # NaN stays NaN
