"""Matrices as users give them, and the invariant spaces that theorems ask for."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import schur, solve_sylvester

from .errors import InputError, shown
from .spaces import is_concrete


def finite_array(name: str, values: Any) -> np.ndarray:
    """Finite numbers, in NumPy; anything else is refused in a sentence."""
    if not is_concrete(values):
        raise InputError(f"{name} is being traced, and this is done by NumPy: call it outside jit, grad and vmap.")
    try:
        given = np.asarray(values)
        if given.dtype.kind in "SUbmM":  # NumPy would read the text "1", True and dates as numbers
            raise TypeError
        found = np.asarray(np.real(given), float)
    except (TypeError, ValueError):
        raise InputError(f"{name} = {shown(values)} is not an array of numbers.") from None
    except OverflowError:
        raise InputError(f"{name} has an entry beyond the range of float64; rescale.") from None
    if given.dtype.kind == "c":
        raise InputError(f"{name} holds complex numbers; give real ones.")
    if not np.isfinite(found).all():
        if found.ndim == 0:
            raise InputError(f"{name} = {found:g} has an entry that is not finite; give a finite number.")
        where = np.argwhere(~np.isfinite(found))[0].tolist()
        raise InputError(f"{name} has an entry that is not finite (at {where}); give numbers.")
    return found


def square_matrix(name: str, value: Any, d: int | None = None) -> np.ndarray:
    """A square matrix of finite numbers, of size d if that is given; a number stands for a 1 x 1 matrix."""
    matrix = np.atleast_2d(finite_array(name, value))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or 0 in matrix.shape:
        raise InputError(f"{name} has shape {matrix.shape}; give a square matrix.")
    if d is not None and len(matrix) != d:
        raise InputError(f"{name} has shape {matrix.shape} and tokens have dimension {d}; give a {d} x {d} matrix.")
    return matrix


def covariance_factor(name: str, value: Any) -> np.ndarray:
    r"""$U\sqrt\lambda$ of covariances `(..., d, d)` by eigenvectors, which singular ones have, too; others are refused.

    They may be off by the rounding of the precision they came in, relative to the largest entry.
    """
    Sigma = finite_array(name, value)
    given = np.asarray(value).dtype
    rounding = max(1e-9, 64 * float(np.finfo(given).eps)) if np.issubdtype(given, np.floating) else 1e-9
    size = np.abs(Sigma).max(axis=(-2, -1))
    turned = np.swapaxes(Sigma, -2, -1)
    if np.any(np.abs(Sigma - turned).max(axis=(-2, -1)) > rounding * size):
        raise InputError(f"{name} is not symmetric; give a covariance, or a factor L of it.")
    values, vectors = np.linalg.eigh((Sigma + turned) / 2)
    if np.any(values[..., 0] < -rounding * size):
        raise InputError(f"{name} has the eigenvalue {values.min():.3g}; a covariance has none below zero.")
    return vectors * np.sqrt(np.maximum(values, 0))[..., None, :]


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
