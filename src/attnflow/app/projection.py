r"""From dimension $d > 3$ to the three that a screen can turn.

- `pca`: principal axes of $\sum_i w_i x_i x_i^\top$, not centred: the origin stays, and what lies on the sphere is
  drawn inside the ball. Within their span the picture could turn at will from one state to the next; it is turned as
  near as possible to the first three coordinates, so that it depends on the state alone.
- `mean`: upwards the mean of the tokens, sideways two directions that put orthonormal tokens on a ring.
- three coordinates.
"""

import numpy as np


def project(x: np.ndarray, w: np.ndarray | None, axes: tuple[int, ...] | str) -> tuple[np.ndarray, float]:
    """Points `(n, 2)` or `(n, 3)`, and the share of the second moment they show."""
    n, d = x.shape
    if d == 1:
        return np.concatenate([x, np.zeros_like(x)], axis=1), 1.0
    if d <= 3 or not np.isfinite(x).all():
        return x[:, :3], 1.0
    mass = np.full(n, 1 / n) if w is None else w
    if isinstance(axes, tuple):
        points = x[:, list(axes)]
    else:
        points = x @ (_around_the_mean(mass @ x) if axes == "mean" else _principal(x * mass[:, None] ** 0.5))
    total = float(np.sum(mass[:, None] * x**2))
    return points, float(np.sum(mass[:, None] * points**2)) / total if total > 0 else 1.0


def _principal(rows: np.ndarray) -> np.ndarray:
    # With fewer than three tokens the last axes are any: there is nothing along them.
    _, _, right = np.linalg.svd(rows, full_matrices=rows.shape[0] < 3)
    basis = right[:3].T
    left, _, right = np.linalg.svd(basis[:3].T)
    return basis @ left @ right


def _around_the_mean(mean: np.ndarray) -> np.ndarray:
    d = mean.size
    angle = 2 * np.pi * np.arange(d) / d
    # A mean that is nearly zero has no direction to speak of; the sum of all coordinates stands in for it.
    basis: list[np.ndarray] = []
    for axis in (mean + 1e-9 * np.ones(d), np.cos(angle), np.sin(angle)):
        for other in basis:
            axis = axis - (other @ axis) * other
        basis.append(axis / np.linalg.norm(axis))
    return np.stack([basis[1], basis[2], basis[0]], axis=1)
