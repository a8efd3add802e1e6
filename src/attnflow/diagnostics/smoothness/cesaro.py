r"""Masked attention without scores is the mean of what came before: the Cesàro matrix, and Hardy's inequality.

$$ (C_nh)_i = \frac1i\sum_{j\le i}h_j, \qquad \|C_n\| < 2, \qquad \|C_n\| \to 2 . $$

The inverse is bidiagonal, $h_i = i\,y_i - (i-1)y_{i-1}$, so that $(C_n^\top C_n)^{-1}$ is tridiagonal, and the norm
comes from its least eigenvalue.
"""

from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal

from ...checks import whole

HARDY = 2.0  # p/(p - 1) for p = 2, the norm of the infinite matrix


def cesaro_norm(n: Any) -> float:
    r"""$\|C_n\|$, which Hardy's inequality bounds by 2.

    >>> round(cesaro_norm(8), 5)
    1.37978
    """
    i = np.arange(1.0, whole("n", n) + 1)
    diagonal, beside = i**2 + (i - 1) ** 2, -(i[:-1] ** 2)
    least = eigh_tridiagonal(diagonal, beside, eigvals_only=True, select="i", select_range=(0, 0))
    return float(least[0] ** -0.5)
