"""The norms of V and of beta B, on which the bounds depend."""

from typing import Any

import numpy as np

from ...checks import number, square_matrix
from ...errors import InputError


def matrix_norms(V: Any, B: Any, beta: Any) -> tuple[float, float]:
    r"""$\|V\|$ and $\|\beta B\|$, spectral norms; `None` is the identity."""
    beta = number("beta", beta, 0)
    matrices = {name: None if value is None else square_matrix(name, value) for name, value in (("V", V), ("B", B))}
    sizes = {name: len(matrix) for name, matrix in matrices.items() if matrix is not None}
    if len(set(sizes.values())) > 1:
        raise InputError(
            f"V is for tokens of dimension {sizes['V']} and B for dimension {sizes['B']}; they must agree."
        )
    norms = {name: 1.0 if m is None else float(np.linalg.norm(m, 2)) for name, m in matrices.items()}
    return norms["V"], beta * norms["B"]
