r"""The spectra of $V$ and of $B = Q^\top K$ of every head, and the theorem that applies to them.

$V = W_hV_h$ and $B$ are $d\times d$ matrices of rank at most $k$, the width of a head. The eigenvalues of $V$ that are
not zero are those of $V_hW_h$, those of $B$ are those of $KQ^\top$. The theorems ask about the range of $V$ and about
whether $B$ is positive definite, and it is not where $2k < d$: so they are asked in $k + 1$ dimensions, the range of
$V$ and one direction outside it that $K$ maps to zero.
"""

from typing import NamedTuple

import numpy as np

from ...attention import SoftmaxHeads
from ...diagnostics import classify


class HeadSpectrum(NamedTuple):
    """Eigenvalues of one head, the largest first, and what `classify` says: its case, or none."""

    V: np.ndarray
    B: np.ndarray
    case: str


def spectrum(heads: SoftmaxHeads, h: int) -> HeadSpectrum:
    """The spectrum of head `h`."""
    Q, K, V, W = factors(heads, h)
    small_V, small_B = restricted(Q, K, V, W)
    case = classify(V=small_V, B=float(heads.beta) * small_B).case or "none"
    of_V, of_B = _sorted(V @ W), _sorted(K @ Q.T)
    # Both have d eigenvalues; those beyond the rank are zero.
    most = max(len(of_V), len(of_B))
    of_V, of_B = (np.pad(values, (0, most - len(values))) for values in (of_V, of_B))
    return HeadSpectrum(of_V, of_B, case)


def factors(heads: SoftmaxHeads, h: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """`Q (k, d)`, `K (k, d)`, `V (p, d)`, `W (d, p)` of one head in float64; `W V` is what it does to a token."""
    one = heads.head(h)
    Q, K = np.asarray(one.compared.Q, float), np.asarray(one.compared.K, float)
    if heads.W is None or one.V is None:
        d = Q.shape[1]
        return Q, K, np.eye(d) / heads.H, np.eye(d)
    return Q, K, np.asarray(one.V, float), np.asarray(heads.W[h], float)


def restricted(Q: np.ndarray, K: np.ndarray, V: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """V and B in an orthonormal basis of a subspace on which the theorems say the same, or the whole matrices."""
    d, p = W.shape
    if p == d and 2 * len(K) < d and np.array_equal(W, np.eye(d)):  # every head reads the tokens themselves
        E = _orthonormal(np.concatenate([Q.T, K.T, np.cos(np.arange(d))[:, None]], axis=1))
        return V[0, 0] * np.eye(E.shape[1]), (Q @ E).T @ (K @ E)
    if p + len(K) >= d:
        return W @ V, Q.T @ K
    span = _orthonormal(np.concatenate([W, K.T], axis=1))
    # Any direction outside the range of W and of the rows of K will do.
    some = np.cos(np.arange(d))
    outside = some - span @ (span.T @ some)
    E = np.concatenate([span[:, :p], outside[:, None] / np.linalg.norm(outside)], axis=1)
    return (E.T @ W) @ (V @ E), (Q @ E).T @ (K @ E)


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the span of columns, the first ones spanning what the first columns span.

    Twice by Cholesky factors of their products, which is many times faster than `qr` for a few tall columns; where
    these depend on each other up to rounding, by `qr`.
    """
    basis = columns
    try:
        for _ in range(2):
            factor = np.linalg.cholesky(basis.T @ basis)
            basis = np.linalg.solve(factor, basis.T).T
    except np.linalg.LinAlgError:
        return np.linalg.qr(columns)[0]
    good = np.abs(basis.T @ basis - np.eye(basis.shape[1])).max() < 1e-10
    return basis if good else np.linalg.qr(columns)[0]


def _sorted(matrix: np.ndarray) -> np.ndarray:
    values = np.linalg.eigvals(matrix)
    return values[np.argsort(-np.abs(values), kind="stable")]
