r"""How inner products of tokens move under a noise that all tokens share.

In the stochastic limit of random layers, $dx_i = P_{x_i}\,dM_i - \frac{d-1}2C_{ii}x_i\,dt$ with
$d\langle M_i, M_j\rangle = C_{ij}I_d\,dt$, and by Itô's formula $q_{ij} = \langle x_i, x_j\rangle$ has the drift and
the quadratic variation

$$ C_{ij}(d - 2 + q_{ij}^2) - \tfrac{d-1}2(C_{ii} + C_{jj})q_{ij}, \qquad
   (1 - q_{ij}^2)(C_{ii} + C_{jj} - 2q_{ij}C_{ij}) . $$

Reference: docs/theory/homogenized.md, Inner products.
"""

from typing import Any

import numpy as np

from ...checks import finite_array
from ...errors import InputError
from ._checked import cosines, dimension


def inner_product_drift(q: Any, C: Any, *, d: Any) -> np.ndarray:
    r"""The drift of every $q_{ij}$. `q (..., n, n)` are inner products of unit tokens in dimension `d`, `C` of the same
    shape is the covariance of what they read, times $\sigma_V^2$."""
    d = dimension(d)
    q, C = _matrices(q, C)
    own = np.diagonal(C, axis1=-2, axis2=-1)
    return C * (d - 2 + q**2) - (d - 1) / 2 * (own[..., :, None] + own[..., None, :]) * q


def inner_product_variance(q: Any, C: Any) -> np.ndarray:
    r"""The quadratic variation of every $q_{ij}$ in a unit of time; it does not see the dimension."""
    q, C = _matrices(q, C)
    own = np.diagonal(C, axis1=-2, axis2=-1)
    return (1 - q**2) * (own[..., :, None] + own[..., None, :] - 2 * q * C)


def _matrices(q: Any, C: Any) -> tuple[np.ndarray, np.ndarray]:
    q, C = cosines("q", q), finite_array("C", C)
    if q.ndim < 2 or q.shape[-1] != q.shape[-2] or q.shape != C.shape:
        raise InputError(f"q and C have shapes {q.shape} and {C.shape}; give square matrices of one shape (..., n, n).")
    for name, M in (("q", q), ("C", C)):
        if not np.allclose(M, M.swapaxes(-1, -2), rtol=0, atol=1e-5 * np.abs(M).max(initial=0)):
            raise InputError(f"{name} is not symmetric; give a matrix with an entry for every pair of tokens.")
    if not np.allclose(np.diagonal(q, axis1=-2, axis2=-1), 1, rtol=0, atol=1e-5):
        raise InputError("q has a diagonal that is not one; give inner products of unit tokens.")
    return q, C
