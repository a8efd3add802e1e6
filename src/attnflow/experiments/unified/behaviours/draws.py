r"""The matrices of the figures of arXiv:2501.18322, drawn by NumPy's legacy generator as in the authors' scripts.

Scores are scaled by $\beta = 1/\sqrt k$ with $k$ the rows of $Q$ and $K$, $A = K^\top Q/\sqrt k$. The
section Figures of the paper in docs/theory/gaussian.md lists the differences to the scripts.
"""

from typing import Any, NamedTuple


class Case(NamedTuple):
    """Matrices of softmax attention, and the inverse temperature."""

    Q: Any
    K: Any
    V: Any
    beta: float

    @property
    def A(self) -> Any:
        return self.beta * self.K.T @ self.Q


def case(name: str) -> Case:
    """`zero`, `line`, `two lines`, `blow-up`, `both`: figures F1 to F5."""
    import numpy as np

    random = np.random.RandomState
    one, half = np.eye(2), 2**-0.5
    if name == "zero":
        draw = random(35)
        Q, V = draw.rand(2, 2), draw.randn(2, 2)
        return Case(Q, -Q, V @ V.T, half)
    if name == "line":
        q = random(36).randn(1, 2)
        q = q / np.linalg.norm(q)
        return Case(q, -q, one, 1.0)
    if name == "blow-up":
        return Case(*_until(33, lambda least, largest: least > 0), one, half)
    Q, K = _until(36, lambda least, largest: least * largest < 0)
    if name == "two lines":
        return Case(Q, K, random(32).randn(2, 2), half)
    draw = random(35)
    draw.randn(8, 7)
    return Case(Q, K, draw.randn(2, 2), half)


def rank_draws(d: int, value: str) -> tuple[Any, Any, Any]:
    """F6: a hundred Q, V and factors of the initial covariance in dimension d = 3, 4, 5."""
    import numpy as np

    draw = np.random.RandomState(40)
    Q = {k: np.stack([draw.randn(k // 2, k) for _ in range(100)]) for k in (3, 4, 5)}[d]
    M, draw = np.random.RandomState(41).randn(100, d, d), np.random.RandomState(26)
    other = draw.randn(100, d, d)
    V = np.broadcast_to(np.eye(d), M.shape) if value == "identity" else np.swapaxes(other, 1, 2) @ other
    return Q, V, M


def starts(side: int, reach: float) -> Any:
    """Covariances of trace one on a grid of cone coordinates (x, y), inside the disc."""
    import numpy as np

    grid = np.linspace(-reach, reach, side)
    x, y = (a.ravel() for a in np.meshgrid(grid, grid, indexing="ij"))
    inside = np.hypot(x, y) < 1 - 1e-9
    x, y = x[inside], y[inside]
    return np.stack([np.stack([1 + x, y], -1), np.stack([y, 1 - x], -1)], -2) / 2


def _until(seed: int, wanted: Any) -> tuple[Any, Any]:
    """Q and K, drawn one after the other until the eigenvalues of A + Aᵀ are as wanted."""
    import numpy as np

    draw = np.random.RandomState(seed)
    while True:
        Q, K = draw.randn(2, 2), draw.randn(2, 2)
        A = K.T @ Q
        if wanted(*np.linalg.eigvalsh(A + A.T)):
            return Q, K
