r"""Least squares by a truncated singular value decomposition, with a constant.

$$ Y \approx HA^\top + 1b^\top, \qquad H - 1\bar h^\top = USV^\top, $$
$$ A = (Y - 1\bar y^\top)^\top U_rS_r^{-1}V_r^\top, \qquad b = \bar y - A\bar h . $$

Centring takes the place of a column of ones: a column of ones counts as one of the `rank` directions, and with a given
rank it drives out one of the signal (two tones, 5 % noise, rank 4: an error of .99 in place of .06).

The rows of $(H\ Y)$ come in blocks and are reduced to the triangle of their QR decomposition, which has the same least
squares problem: memory does not grow with the number of samples.
"""

from collections.abc import Callable, Iterator
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
    r"""Of the windows once, for any truncation: $R_H = USV^\top$ and $R_Y$, the triangle of $(H\ Y)$, and the means."""

    U: np.ndarray
    s: np.ndarray
    Vt: np.ndarray
    RH: np.ndarray
    RY: np.ndarray
    h: np.ndarray
    y: np.ndarray
    n: int

    def solve(self, *, rank: int | None = None, tol: float = 1e-10) -> LinearMap:
        """Keep `rank` directions, or those with a singular value above `tol` times the largest."""
        top = self.s[0] if len(self.s) else 0.0
        kept = int((self.s > tol * top).sum()) if rank is None else min(rank, int((self.s > 0).sum()))
        projected = self.U[:, :kept].T @ self.RY / self.s[:kept, None]
        A = projected.T @ self.Vt[:kept]
        return LinearMap(A, self.y - A @ self.h, self.s, kept)


def decompose(blocks: Callable[[], Iterator[tuple[np.ndarray, np.ndarray]]], bias: bool = True) -> Decomposition:
    """`blocks()` gives the rows of H and Y, as often as it is called; without `bias` nothing is centred."""
    H, Y = next(blocks())
    n, k, total = 0, H.shape[1], np.zeros(H.shape[1] + Y.shape[1])
    for H, Y in blocks():
        n, total = n + len(H), total + np.concatenate([H, Y], axis=1).sum(axis=0)
    mean = total / n if bias else np.zeros_like(total)
    triangle = np.zeros((0, len(mean)))
    for H, Y in blocks():
        rows = np.concatenate([triangle, np.concatenate([H, Y], axis=1) - mean])
        triangle = np.asarray(np.linalg.qr(rows, mode="r"))
    RH, RY = triangle[:, :k], triangle[:, k:]
    # The divide-and-conquer driver fails to converge for some matrices; the slower one does not.
    try:
        U, s, Vt = scipy.linalg.svd(RH, full_matrices=False)
    except scipy.linalg.LinAlgError:
        U, s, Vt = scipy.linalg.svd(RH, full_matrices=False, lapack_driver="gesvd")
    return Decomposition(U, s, Vt, RH, RY, mean[:k], mean[k:], n)
