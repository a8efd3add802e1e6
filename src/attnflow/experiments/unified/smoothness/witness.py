r"""The derivative of softmax attention by its formula, and at the law of Gaussian tokens: NumPy alone.

Here $A = \beta B^\top$ acts on the query: the score is $\langle Ax_i, x_j\rangle$.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy


def weights(x: "numpy.ndarray", A: "numpy.ndarray", masked: bool) -> "numpy.ndarray":
    """The attention matrix P."""
    import numpy as np

    scores = x @ A.T @ x.T
    if masked:
        scores = np.where(np.tril(np.ones_like(scores)) > 0, scores, -np.inf)
    P = np.exp(scores - scores.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True)


def attention(x: "numpy.ndarray", A: "numpy.ndarray", V: "numpy.ndarray", masked: bool) -> "numpy.ndarray":
    """The map itself."""
    return weights(x, A, masked) @ x @ V.T


def derivative(x: "numpy.ndarray", A: "numpy.ndarray", V: "numpy.ndarray", masked: bool) -> "numpy.ndarray":
    r"""The matrix `(n d, n d)` of $V\{\sum_jP_{ij}[h_j + (x_j - m_i)\langle Ax_i, h_j\rangle] + C_iAh_i\}$."""
    import numpy as np

    n, d = x.shape
    P = weights(x, A, masked)
    apart = x[None, :, :] - (P @ x)[:, None, :]
    covariance = np.einsum("ij,ija,ijb->iab", P, apart, apart)
    J = np.einsum("ij,ijab->iajb", P, np.eye(d) + apart[..., :, None] * (x @ A.T)[:, None, None, :])
    J[np.arange(n), :, np.arange(n), :] += covariance @ A
    return np.einsum("ca,iajb->icjb", V, J).reshape(n * d, n * d)


def differences(
    x: "numpy.ndarray", h: "numpy.ndarray", A: "numpy.ndarray", V: "numpy.ndarray", masked: bool
) -> "numpy.ndarray":
    """The derivative in the direction h by central differences of fourth order."""
    step = 1e-3

    def along(k: int) -> "numpy.ndarray":
        return attention(x + k * step * h, A, V, masked)

    return (8 * (along(1) - along(-1)) - (along(2) - along(-2))) / (12 * step)


def gaussian_law_norm(a: float, modes: int = 80) -> float:
    r"""The norm of the derivative at the law N(0, 1) on the line for the score $axy$, $V = 1$.

    On Hermite polynomials $h = He_k$ the derivative is $(k+1)a^kx^k + a\,He_k(x)$, and
    $x^k = \sum_j\frac{k!}{2^jj!(k-2j)!}He_{k-2j}$ (docs/theory/smoothness.md, Gaussian tokens).
    """
    import numpy as np
    from scipy.special import gammaln

    k, j = np.meshgrid(np.arange(modes), np.arange(modes // 2 + 1), indexing="ij")
    k, j = k[2 * j <= k], j[2 * j <= k]
    low = k - 2 * j
    # In the orthonormal basis He_k / sqrt(k!).
    entry = 0.5 * gammaln(k + 1.0) - 0.5 * gammaln(low + 1.0) - j * np.log(2.0) - gammaln(j + 1.0) + k * np.log(a)
    matrix = np.zeros((modes, modes))
    matrix[low, k] = (k + 1) * np.exp(entry)
    return float(np.linalg.norm(matrix + a * np.eye(modes), 2))
