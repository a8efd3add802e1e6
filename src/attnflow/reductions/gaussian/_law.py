r"""A Gaussian law as users give it: a mean, and a covariance or a factor of it; checked once."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..._linear_algebra import finite_array
from ...errors import InputError
from ...spaces import Numbers, is_concrete

ROUNDING = 1e-9  # how far a covariance may be from symmetric, or from semidefinite, relative to its largest entry


def law(
    alpha: Numbers, Sigma: Numbers | None, L: Numbers | None
) -> tuple[Float[Array, "*batch d"], Float[Array, "*batch d r"]]:
    """The mean and a factor of the covariance, with the same leading axes."""
    if (Sigma is None) == (L is None):
        raise InputError("give the covariance Sigma0, or a factor of it as L0 with Sigma0 = L0 L0^T: one of the two.")
    mean = _array("alpha0", alpha)
    if mean.ndim < 1 or mean.shape[-1] < 1:
        raise InputError(f"alpha0 has shape {mean.shape}; give a mean (d,), or many (..., d).")
    d = mean.shape[-1]
    name, matrix = ("L0", _array("L0", L)) if Sigma is None else ("Sigma0", _array("Sigma0", Sigma))
    wanted = f"({d}, r)" if Sigma is None else f"({d}, {d})"
    if matrix.ndim < 2 or matrix.shape[-2] != d or matrix.shape[-1] < 1 or (name == "Sigma0" and matrix.shape[-1] != d):
        raise InputError(f"{name} has shape {matrix.shape} and the mean dimension {d}; give {wanted}, or many of them.")
    factor = matrix if Sigma is None else covariance_factor(matrix)
    try:
        batch = jnp.broadcast_shapes(mean.shape[:-1], factor.shape[:-2])
    except ValueError:
        raise InputError(f"alpha0 {mean.shape} and {name} {matrix.shape} have leading axes that do not fit.") from None
    dtype = jnp.result_type(mean.dtype, factor.dtype) if mean.dtype == factor.dtype else jnp.result_type(float)
    mean = jnp.broadcast_to(mean.astype(dtype), (*batch, d))
    return mean, jnp.broadcast_to(factor.astype(dtype), (*batch, *factor.shape[-2:]))


def covariance_factor(Sigma: Float[Array, "*batch d d"]) -> Float[Array, "*batch d d"]:
    r"""$U\sqrt\lambda$ from eigenvectors, which singular covariances have, too; refused if no covariance."""
    if is_concrete(Sigma):
        S = np.asarray(Sigma, float)
        size = np.abs(S).max(axis=(-2, -1))
        if np.any(np.abs(S - np.swapaxes(S, -2, -1)).max(axis=(-2, -1)) > ROUNDING * size):
            raise InputError("Sigma0 is not symmetric; give a covariance, or its factor as L0.")
        least = np.linalg.eigvalsh((S + np.swapaxes(S, -2, -1)) / 2)[..., 0]
        if np.any(least < -ROUNDING * size):
            raise InputError(f"Sigma0 has the eigenvalue {least.min():.3g}; a covariance has none below zero.")
    values, vectors = jnp.linalg.eigh(Sigma)
    return vectors * jnp.sqrt(jnp.maximum(values, 0))[..., None, :]


def _array(name: str, value: Any) -> Array:
    """Finite floating numbers; a JAX array keeps its precision."""
    if is_concrete(value):
        found = finite_array(name, value)
        floating = isinstance(value, jnp.ndarray) and jnp.issubdtype(value.dtype, jnp.floating)
        return jnp.asarray(found, value.dtype if floating else jnp.result_type(float))  # pyright: ignore
    return jnp.asarray(value)
