r"""Between Gaussian laws: the Bures–Wasserstein distance, from factors of the covariances.

$$ W_2^2 = |\alpha - \alpha'|^2 + |L|_F^2 + |L'|_F^2 - 2\,\|L^\top L'\|_* = |\alpha - \alpha'|^2
   + \min_{O\ \text{orthogonal}} |L - L'O|_F^2 . $$

The second form is computed: it has no matrix square root, holds for singular covariances, and keeps its digits where
the laws are close.
"""

import numpy as np

from ..checks import finite_array
from ..errors import InputError
from ..linear_algebra import covariance_factor
from ..spaces import Numbers
from ._checked import Real
from ._lengths import norms, to_order_one


def gaussian_w2(
    mean_x: Numbers,
    mean_y: Numbers,
    cov_x: Numbers | None = None,
    cov_y: Numbers | None = None,
    *,
    L_x: Numbers | None = None,
    L_y: Numbers | None = None,
) -> Real:
    r"""$W_2$ of $N(\alpha, \Sigma)$ and $N(\alpha', \Sigma')$.

    **Arguments:** means `(..., d)`; of each law the covariance `(..., d, d)`, or a factor `L (..., d, r)` of any width
    with $\Sigma = LL^\top$. Leading axes broadcast. Eigenvalues of a covariance are known to 1e-16 of the largest, so
    that $W_2$ of singular ones is known to 1e-8; factors keep all digits.
    """
    first, second = _mean("mean_x", mean_x), _mean("mean_y", mean_y)
    if first.shape[-1] != second.shape[-1]:
        raise InputError(f"mean_x has {first.shape[-1]} coordinates and mean_y {second.shape[-1]}; take one space.")
    L, M = _factor("x", cov_x, L_x, first.shape[-1]), _factor("y", cov_y, L_y, first.shape[-1])
    try:
        np.broadcast_shapes(first.shape[:-1], second.shape[:-1], L.shape[:-2], M.shape[:-2])
    except ValueError:
        raise InputError("the leading axes of the two laws do not fit; give one law, or as many of both.") from None
    width = max(L.shape[-1], M.shape[-1])
    L, M = (np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, width - a.shape[-1])]) for a in (L, M))
    # O does not depend on the sizes of the factors, whose product may be no number.
    U, _, Vt = np.linalg.svd(np.swapaxes(_of_size_one(M), -1, -2) @ _of_size_one(L))
    scale, (first, second, L, M) = to_order_one(first, second, L, M)
    means, factors = first - second, L - M @ U @ Vt
    return scale * np.hypot(norms(means), norms(factors.reshape(*factors.shape[:-2], -1)))


def _of_size_one(L: np.ndarray) -> np.ndarray:
    size = np.abs(L).max(axis=(-2, -1), keepdims=True, initial=0)
    return L / np.where(size > 0, size, 1.0)


def _mean(name: str, value: Numbers) -> np.ndarray:
    found = finite_array(name, value)
    if found.ndim < 1 or found.shape[-1] < 1:
        raise InputError(f"{name} has shape {found.shape}; give a mean (..., d).")
    return found


def _factor(name: str, cov: Numbers | None, L: Numbers | None, d: int) -> np.ndarray:
    if (cov is None) == (L is None):
        raise InputError(f"give the covariance cov_{name}, or a factor of it as L_{name}: one of the two.")
    if L is not None:
        found = finite_array(f"L_{name}", L)
        if found.ndim < 2 or found.shape[-2] != d:
            raise InputError(f"L_{name} has shape {found.shape}; give a factor (..., {d}, r).")
        return found
    found = finite_array(f"cov_{name}", cov)
    if found.ndim < 2 or found.shape[-2:] != (d, d):
        raise InputError(f"cov_{name} has shape {found.shape}; give a covariance (..., {d}, {d}).")
    return covariance_factor(f"cov_{name}", cov)
