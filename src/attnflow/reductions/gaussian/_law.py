r"""Checks of a Gaussian law: a mean, and a covariance or a factor of it."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...checks import finite_array
from ...errors import InputError
from ...linear_algebra import covariance_factor
from ...spaces import is_concrete, warn_if_narrowed


def law(alpha: Any, Sigma: Any, L: Any) -> tuple[Float[Array, "*batch d"], Float[Array, "*batch d r"]]:
    """The mean and a factor of the covariance, with the same leading axes."""
    if (Sigma is None) == (L is None):
        raise InputError("give the covariance Sigma0, or a factor of it as L0 with Sigma0 = L0 L0^T: one of the two.")
    warn_if_narrowed("entries of the law", alpha, Sigma, L)
    mean = _array("alpha0", alpha)
    if mean.ndim < 1 or mean.shape[-1] < 1:
        raise InputError(f"alpha0 has shape {mean.shape}; give a mean (d,), or many (..., d).")
    d = mean.shape[-1]
    name, matrix = ("L0", _array("L0", L)) if Sigma is None else ("Sigma0", _array("Sigma0", Sigma))
    shape = f"({d}, r)" if Sigma is None else f"({d}, {d})"
    if matrix.ndim < 2 or matrix.shape[-2] != d or matrix.shape[-1] < 1 or (name == "Sigma0" and matrix.shape[-1] != d):
        raise InputError(f"{name} has shape {matrix.shape} and the mean dimension {d}; give {shape}, or many of them.")
    if 0 in mean.shape or 0 in matrix.shape:
        raise InputError(f"alpha0 {mean.shape} and {name} {matrix.shape} hold no law; give at least one.")
    factor = matrix if Sigma is None else _factor(matrix)
    try:
        batch = jnp.broadcast_shapes(mean.shape[:-1], factor.shape[:-2])
    except ValueError:
        raise InputError(f"alpha0 {mean.shape} and {name} {matrix.shape} have leading axes that do not fit.") from None
    dtype = jnp.result_type(mean.dtype, factor.dtype) if mean.dtype == factor.dtype else jnp.result_type(float)
    mean = jnp.broadcast_to(mean.astype(dtype), (*batch, d))
    return mean, jnp.broadcast_to(factor.astype(dtype), (*batch, *factor.shape[-2:]))


def _factor(Sigma: Float[Array, "*batch d d"]) -> Float[Array, "*batch d d"]:
    """By eigenvectors; checked where the values are known."""
    if is_concrete(Sigma):
        return jnp.asarray(covariance_factor("Sigma0", Sigma), Sigma.dtype)
    values, vectors = jnp.linalg.eigh(Sigma)
    return vectors * jnp.sqrt(jnp.maximum(values, 0))[..., None, :]


def _array(name: str, value: Any) -> Array:
    """Finite floating numbers; an array keeps its precision."""
    if not is_concrete(value):
        return jnp.asarray(value)
    array, dtype = finite_array(name, value), getattr(value, "dtype", np.dtype(int))
    dtype = jax.dtypes.canonicalize_dtype(dtype)
    return jnp.asarray(array, dtype if jnp.issubdtype(dtype, jnp.floating) else jnp.result_type(float))
