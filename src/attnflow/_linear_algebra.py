"""Matrices as users give them, and the invariant spaces that theorems ask for."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import schur, solve_sylvester

from .errors import InputError
from .spaces import is_concrete


def finite_array(name: str, values: Any) -> np.ndarray:
    """Finite numbers, in NumPy; anything else is refused in a sentence."""
    if not is_concrete(values):
        raise InputError(f"{name} is being traced, and this is done by NumPy: call it outside jit, grad and vmap.")
    try:
        found = np.asarray(values, float)
    except (TypeError, ValueError):
        raise InputError(f"{name} = {values!r} is not an array of numbers.") from None
    if not np.isfinite(found).all():
        where = np.argwhere(~np.isfinite(found))[0].tolist() if found.ndim else ""
        raise InputError(f"{name} has an entry that is not finite{f' (at {where})' if where else ''}; give numbers.")
    return found


def square_matrix(name: str, value: Any, d: int | None = None) -> np.ndarray:
    """A square matrix of finite numbers, of size d if that is given; a number stands for a 1 x 1 matrix."""
    matrix = np.atleast_2d(finite_array(name, value))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or 0 in matrix.shape:
        raise InputError(f"{name} has shape {matrix.shape}; give a square matrix.")
    if d is not None and len(matrix) != d:
        raise InputError(f"{name} has shape {matrix.shape} and tokens have dimension {d}; give a {d} x {d} matrix.")
    return matrix


class InvariantSpace(NamedTuple):
    r"""The space of some eigenvalues of $M$, and coordinates on it along the space of the others.

    `basis (d, k)` has orthonormal columns; `left (k, d)` is zero on the other space, with `left @ basis` the identity;
    `block (k, k)` is $M$ in that basis, `rest` what is left of the Schur form.
    """

    basis: np.ndarray
    left: np.ndarray
    block: np.ndarray
    rest: np.ndarray


def invariant_space(M: np.ndarray, select: Callable[[complex], bool]) -> InvariantSpace:
    r"""That of the eigenvalues which `select` chooses; of a complex pair both or none.

    With an ordered real Schur form $M = Z\begin{pmatrix}T_{11} & T_{12}\\ 0 & T_{22}\end{pmatrix}Z^\top$ and $R$ with
    $T_{11}R - RT_{22} = -T_{12}$, the coordinates are $\begin{pmatrix}I & -R\end{pmatrix}Z^\top$. For a symmetric $M$
    the projector `basis @ left` is orthogonal, otherwise oblique. Eigenvectors may be nearly parallel.
    """
    ordered: Any = schur(M, output="real", sort=lambda re, im=0.0: select(complex(re, im)))
    T, Z, k = np.asarray(ordered[0]), np.asarray(ordered[1]), int(ordered[2])
    if k == len(M):  # everything, to the last digit
        one = np.eye(k)
        return InvariantSpace(one, one, np.asarray(M, float), T[k:, k:])
    block, rest = T[:k, :k], T[k:, k:]
    left = Z[:, :k].T - solve_sylvester(block, -rest, -T[:k, k:]) @ Z[:, k:].T
    return InvariantSpace(Z[:, :k], left, block, rest)
