r"""The polytope case: $V = I$ (or $V|_F = \lambda I$) and $B$ symmetric, positive definite.

The hull of the rescaled tokens $z_i = e^{-tV}x_i$ decreases to a polytope $K$, and every $z_i$ converges to a point of
the finite set

$$ S = \{x \in K : \langle x, Bx\rangle = \max_{v} \langle x, Bv\rangle\}, \qquad v \text{ the vertices of } K. $$

Vertices belong to $S$, and $S \subset \partial K \cup \{0\}$: at a point $x \ne 0$ of $S$ the vector $Bx$ is normal to
a supporting plane. The boundary is that in the space of the tokens, so a flat $K$ is all boundary. Points of $S$ that
are no vertices are unstable; tokens in general position end on vertices.

??? cite "The emergence of clusters in self-attention dynamics, Geshkovski et al. (arXiv:2305.05465)"
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import square_matrix
from ..errors import InputError
from ..flows import Run
from ..spaces import Number, Numbers, order_one
from ._clouds import Tokens
from ._final import (
    at_rest,
    cluster_points,
    default_distance,
    fastest,
    final_tokens,
    linking_distance,
    moving,
    plural,
    real_numbers,
)
from ._rescaled_state import last_state
from .hulls import Hull, hull
from .spectrum import Paranormal, detect_paranormal

RESIDUAL = 1e-6  # how well points of S satisfy their equation, in units of the largest <c, Bc>
KNOWN = 1e-9  # positions are known no better than this part of their size


@dataclass(frozen=True, eq=False, repr=False)
class Polytope:
    r"""The limit of the tokens, estimated from their last positions. Printed, it is a verdict in words.

    - `labels (n,)`: the cluster of each token, numbered in order of first appearance; `centroids (m, d)`.
    - `vertices`: the indices of the centroids that are vertices of their hull; `dimension`: that of the hull.
    - `residuals (m,)`: $|c^\top Bc - \max_v c^\top Bv| \,/\, \max_k c_k^\top Bc_k$ for every centroid $c$.
    - `inner`: the indices of the other centroids; `inner_distance`: from each of them to the boundary of the hull or
      to 0, whichever is nearer. `flat` says that the hull has no interior, and is its own boundary.
    - `eps`: the linking distance. `speed`: that of the fastest token, `None` if it was not given.
    - `space`: the leading eigenspace F of V, if V is no multiple of the identity; then all this is about the components
      in F, and `centroids` are coordinates in `space.basis`. `None`: the tokens themselves.
    """

    labels: np.ndarray
    centroids: np.ndarray
    vertices: np.ndarray
    dimension: int
    residuals: np.ndarray
    inner: np.ndarray
    inner_distance: np.ndarray
    flat: bool
    eps: float
    speed: float | None
    space: Paranormal | None = None

    @property
    def count(self) -> int:
        """How many clusters there are."""
        return len(self.centroids)

    @property
    def corners(self) -> np.ndarray:
        """The vertices of the polytope, `(k, d)`."""
        return self.centroids[self.vertices]

    @property
    def converged(self) -> bool | None:
        """Whether no token moves faster than a tenth of `eps` in a unit of time; `None` if speeds were not given."""
        return at_rest(self.speed, self.eps)

    @property
    def in_s(self) -> bool:
        """Whether all centroids satisfy the equation of S, and those that are no vertices lie on the boundary or 0."""
        return bool(np.all(self.residuals < RESIDUAL) and np.all(self.inner_distance <= self.eps))

    @property
    def holds(self) -> bool:
        """Whether this is known to be a limit as the theorem describes it (that B is positive, `classify` checks)."""
        return self.converged is True and self.in_s and (self.space is None or self.space.holds)

    @property
    def verdict(self) -> str:
        """The polytope, and the reasons why it may not be the limit."""
        shape = {0: "a point", 1: "a segment"}.get(self.dimension, f"a polytope of dimension {self.dimension}")
        ends = plural(len(self.vertices), "vertex", "vertices")
        parts = [f"{plural(self.count, 'cluster')} linked within {self.eps:.2g}; their hull is {shape} with {ends}."]
        parts.append(moving(self.speed, self.eps))
        worst = float(self.residuals.max())
        if worst < RESIDUAL:
            parts.append(f"All clusters satisfy the equation of S to {worst:.1g}.")
        else:
            parts.append(f"Cluster {self.residuals.argmax()} misses the equation of S by {worst:.2g}: no limit yet.")
        if len(self.inner):
            far = float(self.inner_distance.max())
            parts.append(
                f"{plural(len(self.inner), 'cluster')} on no vertex, {far:.1g} or less from the boundary or 0."
            )
            if self.in_s:
                parts.append("Such points of S are unstable.")
        if self.space is not None:
            parts.append(f"All this in the leading eigenspace F of V, of dimension {self.space.dimension}.")
            if not self.space.holds:
                parts.append(self.space.verdict)
        return " ".join(parts)

    def __repr__(self) -> str:
        return self.verdict


def detect_polytope(
    z: Tokens,
    *,
    V: Numbers | None = None,
    B: Numbers | None = None,
    eps: Number | None = None,
    speed: Numbers | None = None,
) -> Polytope:
    r"""The clusters of rescaled tokens, the polytope that they span, and whether it is the limit of the theorem.

    **Arguments:**

    - `z`: final rescaled tokens `(n, d)`, or a run, whose last state is taken (and rescaled, if it is not); a run knows
      its own V, B and velocities.
    - `B`: the matrix of scores, `None` for the identity.
    - `V`: where it is not a multiple of the identity, the components of tokens in its leading eigenspace are looked at.
    - `eps`: the linking distance; by default a thousandth of the largest token (of a run: at its start).
    - `speed`: the velocities $\dot z_i$, `(n, d)`, or their lengths `(n,)`. Without them nothing is called converged.

    >>> import numpy as np
    >>> square = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1], [1, 1]])
    >>> detect_polytope(square, speed=np.zeros(5)).labels.tolist()
    [0, 1, 2, 3, 0]
    """
    size = None
    if isinstance(z, Run):
        z, size, own_V, own_B, velocity = last_state(z)
        V, B, speed = (b if a is None else a for a, b in ((V, own_V), (B, own_B), (speed, velocity)))
    z = final_tokens(z)
    d = z.shape[1]
    B = np.eye(d) if B is None else square_matrix("B", B, d)
    space = None if V is None else detect_paranormal(V=square_matrix("V", V, d))
    if space is None or space.dimension == d:
        return _polytope(z, B, eps, speed, None, size)
    speed = None if speed is None else real_numbers(speed, "speeds", f"give ({len(z)},), or velocities {z.shape}")
    if speed is not None and speed.ndim == 2:
        if speed.shape != z.shape:
            raise InputError(f"velocities have shape {speed.shape} and tokens {z.shape}; they must agree.")
        speed = space.components(speed)
    return _polytope(space.components(z), space.restrict(B), eps, speed, space, None)


def _polytope(z: np.ndarray, B: np.ndarray, eps: Any, speed: Any, space: Paranormal | None, start: Any) -> Polytope:
    n, d = z.shape
    unit = order_one(z)
    z, B = z * unit, B * order_one(B)
    size = float(np.linalg.norm(z, axis=1).max())
    reach = (default_distance(start or size / unit) if eps is None else linking_distance(eps)) * unit
    labels, c = cluster_points(z, reach)
    quickest = fastest(speed, n)
    slow = 0.0 if quickest is None else quickest * unit
    # A centroid is known no better than its cluster is wide, or than it still has to go (at the rate one).
    wide = float(np.linalg.norm(z - c[labels], axis=1).max())
    shape = hull(c, tol=min(reach, max(KNOWN * size, wide, slow)))
    own, scores = np.einsum("kd,de,ke->k", c, B, c), c @ B @ shape.corners.T
    gaps = scores.max(axis=1) - own
    inner = np.setdiff1d(np.arange(len(c)), shape.vertices)
    flat = shape.dimension < d
    return Polytope(
        labels=labels,
        centroids=c / unit,
        vertices=shape.vertices,
        dimension=shape.dimension,
        residuals=np.abs(gaps) / (np.abs(own).max() or 1.0),
        inner=inner,
        inner_distance=_to_boundary_or_zero(c[inner], B, gaps[inner], shape, flat) / unit,
        flat=flat,
        eps=reach / unit,
        speed=quickest,
        space=space,
    )


def _to_boundary_or_zero(c: np.ndarray, B: np.ndarray, gaps: np.ndarray, shape: Hull, flat: bool) -> np.ndarray:
    """From facets where they are known; else the support of the hull in the direction Bc bounds it from above."""
    to_zero = np.linalg.norm(c, axis=1)
    if flat:
        return np.zeros(len(c))
    if shape.normals is not None:
        return np.minimum(to_zero, shape.to_boundary(c))
    slope = np.linalg.norm(c @ B, axis=1)
    bound = np.divide(np.maximum(gaps, 0), slope, out=np.full(len(c), np.inf), where=slope > 0)
    return np.minimum(to_zero, bound)
