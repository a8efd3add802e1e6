r"""The part of a matrix that grows fastest: its leading eigenvalues, their space, and the projector along the rest.

With an ordered real Schur form $M = Z\begin{pmatrix}T_{11} & T_{12}\\ 0 & T_{22}\end{pmatrix}Z^\top$, the eigenvalues
of $T_{11}$ being those of largest real part, and $R$ with $T_{11}R - RT_{22} = -T_{12}$, the projector is
$Z\begin{pmatrix}I & -R\\ 0 & 0\end{pmatrix}Z^\top$. For a symmetric $M$ it is orthogonal.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import schur, solve_sylvester

from ..errors import InputError
from ..spaces import Numbers, is_concrete


@dataclass(frozen=True, eq=False)
class DominantEigenspace:
    r"""The eigenvalues of largest real part.

    - `eigenvalue` $\lambda_1$, its real part if a complex pair leads; `dimension` $k$ of $E$.
    - `basis (d, k)`, orthonormal; `left (k, d)`, with `left @ basis` the identity; `projector (d, d)`, that on $E$
      along the other invariant space, `basis @ left`.
    - `gap` $\lambda_1 - \mathrm{Re}\,\lambda_2$ to the others, infinite if there are none.
    - `real`, `semisimple`: whether $\lambda_1$ is real, and $M$ is $\lambda_1$ on all of $E$. If either fails, $E$ is
      an invariant space but no eigenspace, and nothing converges to it pointwise.
    - `others`: the eigenvalues that are left, by falling real part.
    """

    eigenvalue: float
    basis: np.ndarray
    left: np.ndarray
    projector: np.ndarray
    gap: float
    real: bool
    semisimple: bool
    others: np.ndarray

    @property
    def dimension(self) -> int:
        return self.basis.shape[1]


def dominant_eigenspace(M: Numbers, tol: float = 1e-7) -> DominantEigenspace:
    r"""The eigenspace $E$ of the eigenvalues of $M$ with the largest real part, with the projector on it.

    Eigenvalues whose real parts differ by at most `tol` times the norm of $M$ count as equal. For $M = \lambda I$ the
    space is everything and the projector the identity.
    """
    M = square("M", M)
    d = M.shape[0]
    norm = max(float(np.linalg.norm(M, 2)), np.finfo(float).tiny)
    every = np.linalg.eigvals(M)
    edge = float(np.real(every).max()) - tol * norm
    ordered: Any = schur(M, output="real", sort=lambda re, im=0.0: re >= edge)
    T, Z, k = ordered
    leading, rest = T[:k, :k], T[k:, k:]
    value = float(np.trace(leading)) / k
    others = np.linalg.eigvals(rest) if k < d else np.zeros(0)
    others = others[np.argsort(-np.real(others), kind="stable")]
    basis, left = Z[:, :k], Z[:, :k].T
    if k == d:
        basis = left = np.eye(d)
    else:
        left = left - solve_sylvester(leading, -rest, -T[:k, k:]) @ Z[:, k:].T
    slack = 10 * tol * norm
    real = bool(np.abs(np.imag(np.linalg.eigvals(leading))).max() <= slack)
    return DominantEigenspace(
        eigenvalue=value,
        basis=basis,
        left=left,
        projector=basis @ left,
        gap=value - float(np.real(others[0])) if k < d else np.inf,
        real=real,
        semisimple=real and bool(np.abs(leading - value * np.eye(k)).max() <= slack),
        others=others,
    )


def square(name: str, matrix: Any) -> np.ndarray:
    """A square matrix of finite numbers, in NumPy."""
    if not is_concrete(matrix):
        raise InputError(f"{name} is being traced, and eigenvalues are SciPy's: call this outside jit, grad and vmap.")
    try:
        found = np.asarray(matrix, float)
    except (TypeError, ValueError):
        raise InputError(f"{name} = {matrix!r} is not a matrix; give d rows of d numbers.") from None
    if found.ndim != 2 or found.shape[0] != found.shape[1] or found.size == 0:
        raise InputError(f"{name} has shape {found.shape}; give a square matrix.")
    if not np.isfinite(found).all():
        raise InputError(f"{name} has an entry that is not finite; give numbers.")
    return found


def both(V: Any, B: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two square matrices of one size."""
    V, B = square("V", V), square("B", B)
    if V.shape != B.shape:
        raise InputError(f"V has shape {V.shape} and B {B.shape}; they act on the same tokens.")
    return V, B
