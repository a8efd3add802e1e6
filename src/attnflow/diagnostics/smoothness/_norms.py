"""What bounds depend on: the norms of V and of beta B, and a radius; checked."""

from typing import Any

import numpy as np

from ..._linear_algebra import finite_array, square_matrix
from ...errors import InputError


def number(name: str, value: Any) -> float:
    """A finite number that is not negative."""
    found = finite_array(name, value)
    if found.ndim != 0 or found < 0:
        raise InputError(f"{name} = {value!r} must be one number, at least 0.")
    return float(found)


def count(name: str, value: Any, least: int = 1) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} = {value!r} must be a whole number, at least {least}.")
    return int(value)


def matrix_norms(V: Any, B: Any, beta: Any) -> tuple[float, float]:
    r"""$\|V\|$ and $\|\beta B\|$, spectral norms; `None` is the identity."""
    beta = number("beta", beta)
    matrices = {name: None if value is None else square_matrix(name, value) for name, value in (("V", V), ("B", B))}
    sizes = {name: len(matrix) for name, matrix in matrices.items() if matrix is not None}
    if len(set(sizes.values())) > 1:
        raise InputError(
            f"V is for tokens of dimension {sizes['V']} and B for dimension {sizes['B']}; they must agree."
        )
    norms = {name: 1.0 if m is None else float(np.linalg.norm(m, 2)) for name, m in matrices.items()}
    return norms["V"], beta * norms["B"]
