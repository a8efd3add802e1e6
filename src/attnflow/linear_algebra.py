"""Factors of covariances, and the invariant spaces in the assumptions of theorems."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import schur, solve_sylvester

from .checks import finite_array
from .errors import InputError


def covariance_factor(name: str, value: Any) -> np.ndarray:
    r"""$U\sqrt\lambda$ of covariances `(..., d, d)` by eigenvectors, which singular ones have, too; others are refused.

    They may be off by the rounding of the precision they came in, relative to the largest entry.
    """
    Sigma = finite_array(name, value)
    dtype = np.asarray(value).dtype
    rounding = max(1e-9, 64 * float(np.finfo(dtype).eps)) if np.issubdtype(dtype, np.floating) else 1e-9
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
