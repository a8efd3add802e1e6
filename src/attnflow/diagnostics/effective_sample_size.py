r"""The effective number of keys of a query: whether tokens are dense enough to represent a density."""

import warnings

import numpy as np
from jaxtyping import ArrayLike, Float

from ..checks import finite_array
from ..errors import AttnflowWarning, InputError

ENOUGH = 5.0


def effective_sample_size(P: ArrayLike) -> Float[np.ndarray, "..."]:
    r"""$1/\sum_j P_{ij}^2$ for every row of attention matrices `P (..., n, m)`, between 1 and the number of keys.

    At low temperature a query reads a disc of radius $(\beta|B^\top x|)^{-1/2}$. If few tokens are in it, the particle
    system no longer follows the mean-field equation: a warning says so if the median is below 5. `P` is
    `af.attention_matrix(run, at=...)`, which has the weights of the tokens in it.
    """
    rows = finite_array("P", P)
    if rows.ndim < 2 or 0 in rows.shape:
        raise InputError(f"P has shape {rows.shape}; give attention matrices (..., n, m).")
    if (rows < 0).any():
        raise InputError(f"P has the entry {rows.min():.6g}; give probabilities, which are not negative.")
    total = rows.sum(axis=-1)
    if not np.all(np.abs(total - 1) <= 1e-6):
        raise InputError(
            f"a row of P sums to {total.ravel()[np.argmax(np.abs(total - 1))]:.6g}, not 1; normalise rows."
        )
    size = 1 / np.sum(rows**2, axis=-1)
    if np.median(size) < ENOUGH:
        warnings.warn(
            f"half of the queries read fewer than {ENOUGH:g} keys (median {np.median(size):.2g}): the tokens do not "
            "resolve the mean field; take more tokens, more of them where queries look, or a smaller beta.",
            AttnflowWarning,
            stacklevel=2,
        )
    return size
