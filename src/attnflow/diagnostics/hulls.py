r"""Convex hulls of any dimension: a point, a segment, a flat polygon in space, a solid.

Limits of the rescaled dynamics are often flat, and Qhull refuses flat input. So the points are first written in the
principal coordinates of their affine span, each scaled to unit spread (an affine map keeps vertices and facets), and
Qhull gets well-conditioned clouds only. Where no facets are needed, distances to a hull come from non-negative least
squares, in any dimension.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from scipy.spatial import ConvexHull, QhullError

ROUND_OFF = 1e-12  # directions in which points spread by less than this part of their size do not count
FACETS_UP_TO = 6  # the number of facets grows like m^(r/2); above this dimension r none are computed


@dataclass(frozen=True, eq=False)
class Hull:
    r"""The convex hull of points `(m, d)` inside their affine span.

    - `dimension`: that of the span, r.
    - `vertices`: indices of the points that are vertices, in increasing order.
    - `origin (d,)` and orthonormal `axes (r, d)`: the affine span is $o + \{\sum_k y_k a_k\}$.
    - `normals (f, d)`, `offsets (f,)`: the facets $\langle a, x\rangle \le b$, with unit normals in the span; `None`
      where the dimension is too high to list them.
    """

    points: np.ndarray
    vertices: np.ndarray
    origin: np.ndarray
    axes: np.ndarray
    normals: np.ndarray | None
    offsets: np.ndarray | None

    @property
    def dimension(self) -> int:
        return len(self.axes)

    @property
    def corners(self) -> np.ndarray:
        """The vertices themselves, `(k, d)`."""
        return self.points[self.vertices]

    def off_span(self, x: np.ndarray) -> np.ndarray:
        """How far points `(..., d)` are from the affine span."""
        shifted = x - self.origin
        return np.linalg.norm(shifted - shifted @ self.axes.T @ self.axes, axis=-1)

    def excess(self, x: np.ndarray) -> np.ndarray:
        r"""$\max_f \langle a_f, x\rangle - b_f$ for points `(..., d)`: positive outside, minus the depth inside.

        Of a single point it is the distance to that point; nan where facets are not known.
        """
        if self.normals is None or self.offsets is None:
            return np.full(np.shape(x)[:-1], np.nan)
        if not self.dimension:
            return self.off_span(x)
        return np.max(x @ self.normals.T - self.offsets, axis=-1)

    def to_boundary(self, x: np.ndarray) -> np.ndarray:
        """The distance of points `(..., d)` of the hull to its relative boundary; a point is its own boundary."""
        return np.abs(self.excess(x))

    def contains(self, x: np.ndarray, tol: float = 0.0) -> np.ndarray:
        """Which points `(k, d)` lie within `tol` of the hull."""
        return np.array([distance_to_hull(self.corners, p) <= tol for p in np.atleast_2d(x)])


def hull(points: np.ndarray, tol: float | None = None) -> Hull:
    """The hull of points `(m, d)`; spread and corners smaller than `tol` (default: round-off) do not count."""
    points = np.asarray(points, float)
    origin = points.mean(axis=0)
    centred = points - origin
    size = float(np.abs(centred).max(initial=0.0))
    if tol is None:  # coordinates carry round-off of their own size, so a far cloud is known less well
        tol = ROUND_OFF * max(size, float(np.abs(points).max(initial=0.0)))
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    coordinates = centred @ directions.T
    kept = np.ptp(coordinates, axis=0) > 2 * tol if size > 0 else np.zeros(len(directions), bool)
    axes, y = directions[kept], coordinates[:, kept]
    if not kept.any():
        return Hull(points, np.array([0]), origin, axes, np.zeros((0, points.shape[1])), np.zeros(0))
    candidates, outward = _qhull(y)
    vertices = _pruned(y, candidates, tol)
    if outward is None:
        return Hull(points, vertices, origin, axes, None, None)
    normals = outward @ axes
    return Hull(points, vertices, origin, axes, normals, np.max(points @ normals.T, axis=0))


def _qhull(y: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Indices among which the vertices are, and the unit normals of the facets, of points that span their space."""
    r = y.shape[1]
    if r == 1:
        return np.array([y.argmin(), y.argmax()]), np.array([[-1.0], [1.0]])
    if r > FACETS_UP_TO:
        return np.arange(len(y)), None
    width = np.std(y, axis=0)
    try:
        convex = ConvexHull(y / width)
    except QhullError:  # coincident up to its own round-off; vertices are still found, only facets are not
        return np.arange(len(y)), None
    _, first = np.unique(np.round(convex.equations, 9), axis=0, return_index=True)  # a facet of many simplices, once
    # A normal is a covector: back in the old units it is divided by them once more.
    normals = convex.equations[np.sort(first), :-1] / width
    return convex.vertices, normals / np.linalg.norm(normals, axis=1, keepdims=True)


def _pruned(y: np.ndarray, candidates: np.ndarray, tol: float) -> np.ndarray:
    """The candidates without those that lie within `tol` of the hull of the others, the innermost first."""
    middle = y[candidates].mean(axis=0)
    order = np.argsort(np.linalg.norm(y[candidates] - middle, axis=1), kind="stable")
    kept = list(candidates)
    for i in candidates[order]:
        others = [j for j in kept if j != i]
        if others and distance_to_hull(y[others], y[i]) <= tol:
            kept = others
    return np.sort(np.array(kept))


def distance_to_hull(points: np.ndarray, x: np.ndarray) -> float:
    """The distance of one point `(d,)` to the convex hull of points `(m, d)`, flat or not, in any dimension."""
    return float(np.linalg.norm(nearest_weights(points, x) @ (points - x)))


def nearest_weights(points: np.ndarray, x: np.ndarray) -> np.ndarray:
    r"""Weights `(m,)` whose mean of the points `(m, d)` is the point of their hull nearest to `x (d,)`.

    With $q_j = p_j - x$, the minimiser $u \ge 0$ of $|\sum_j u_j q_j|^2 + (1 - \sum_j u_j)^2$ is a multiple of the
    weights of the nearest point: for fixed $u / \sum_j u_j = a$ the least value is $s / (1 + s)$ with
    $s = |\sum_j a_j q_j|^2$, which grows with $s$.
    """
    q = points - x
    size = np.abs(q).max()
    if size == 0:
        return np.full(len(q), 1 / len(q))
    u, _ = nnls(np.vstack([q.T / size, np.ones(len(q))]), np.append(np.zeros(q.shape[1]), 1.0))
    return u / u.sum()
