r"""Least squares by a truncated singular value decomposition, with a constant.

$$ Y \approx HA^\top + 1b^\top, \qquad H - 1\bar h^\top = USV^\top, $$
$$ A = (Y - 1\bar y^\top)^\top U_rS_r^{-1}V_r^\top, \qquad b = \bar y - A\bar h . $$

Centring takes the place of a column of ones: a column of ones counts as one of the `rank` directions, and with a given
rank it drives out one of the signal (two tones, 5 % noise, rank 4: an error of .99 in place of .06).
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg


class LinearMap(NamedTuple):
    """`A (d, k)`, `b (d,)`; all singular values of the windows, and how many were kept."""

    A: np.ndarray
    b: np.ndarray
    singular_values: np.ndarray
    rank: int


class Decomposition(NamedTuple):
    """Of the windows once, for any truncation."""

    U: np.ndarray
    s: np.ndarray
    Vt: np.ndarray
    h: np.ndarray

    def solve(self, Y: np.ndarray, *, rank: int | None = None, tol: float = 1e-10, bias: bool = True) -> LinearMap:
        """Keep `rank` directions, or those with a singular value above `tol` times the largest."""
        top = self.s[0] if len(self.s) else 0.0
        kept = int((self.s > tol * top).sum()) if rank is None else min(rank, int((self.s > 0).sum()))
        y = Y.mean(axis=0) if bias else np.zeros(Y.shape[1])
        projected = self.U[:, :kept].T @ (Y - y) / self.s[:kept, None]
        A = projected.T @ self.Vt[:kept]
        return LinearMap(A, y - A @ self.h, self.s, kept)


def decompose(H: np.ndarray, bias: bool = True) -> Decomposition:
    h = H.mean(axis=0) if bias else np.zeros(H.shape[1])
    # The divide-and-conquer driver fails to converge for some matrices; the slower one does not.
    try:
        U, s, Vt = scipy.linalg.svd(H - h, full_matrices=False)
    except scipy.linalg.LinAlgError:
        U, s, Vt = scipy.linalg.svd(H - h, full_matrices=False, lapack_driver="gesvd")
    return Decomposition(U, s, Vt, h)
