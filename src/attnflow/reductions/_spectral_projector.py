"""The part of a matrix that grows fastest: its eigenvalues of largest real part, and the projector on their space."""

from dataclasses import dataclass

import numpy as np

from ..checks import number, square_matrix
from ..errors import InputError
from ..linear_algebra import invariant_space
from ..spaces import Number, Numbers

TIE = 1e-8  # lengths that differ by less, relatively, are equal, and the first of them counts


@dataclass(frozen=True, eq=False)
class DominantEigenspace:
    r"""The eigenvalues of largest real part.

    - `eigenvalue` $\lambda_1$, its real part if a complex pair leads; `dimension` $k$ of $E$.
    - `basis (d, k)`, orthonormal and unique: each column is the coordinate axis that is nearest to
      $E$, projected on it (and across the columns before). So its entry there is positive, and for $k = 1$ that is the
      first of the largest entries of the eigenvector. `left (k, d)`, with `left @ basis` the identity; `projector
      (d, d)`, that on $E$ along the other invariant space, `basis @ left`.
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


def dominant_eigenspace(M: Numbers, tol: Number = 1e-7) -> DominantEigenspace:
    r"""The eigenspace $E$ of the eigenvalues of $M$ with the largest real part, with the projector on it.

    Eigenvalues whose real parts differ by at most `tol` times the norm of $M$ count as equal. For $M = \lambda I$ the
    space is everything and the projector the identity.
    """
    M, tol = square_matrix("M", M), number("tol", tol, least=0)
    d = M.shape[0]
    norm = max(float(np.linalg.norm(M, 2)), np.finfo(float).tiny)
    edge = float(np.real(np.linalg.eigvals(M)).max()) - tol * norm
    any_basis, any_left, block, rest = invariant_space(M, lambda value: value.real >= edge)
    basis = _settled(any_basis)
    turn = any_basis.T @ basis
    left, leading = turn.T @ any_left, turn.T @ block @ turn
    k = basis.shape[1]
    value = float(np.trace(leading)) / k
    others = np.linalg.eigvals(rest) if k < d else np.zeros(0)
    others = others[np.argsort(-np.real(others), kind="stable")]
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


def _settled(basis: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the same space that depends on the space alone (see `DominantEigenspace`)."""
    rest = basis @ basis.T
    chosen = np.zeros((len(basis), 0))
    for _ in range(basis.shape[1]):
        lengths = np.linalg.norm(rest, axis=0)
        column = rest[:, np.argmax(lengths >= (1 - TIE) * lengths.max())]
        column = column - chosen @ (chosen.T @ column)
        chosen = np.column_stack([chosen, column / np.linalg.norm(column)])
        rest = rest - np.outer(chosen[:, -1], chosen[:, -1] @ rest)
    return chosen


def both(V: Numbers, B: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Two square matrices of one size."""
    V, B = square_matrix("V", V), square_matrix("B", B)
    if V.shape != B.shape:
        raise InputError(f"V has shape {V.shape} and B {B.shape}; they act on the same tokens.")
    return V, B
