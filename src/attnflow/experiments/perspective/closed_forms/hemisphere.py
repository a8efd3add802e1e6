"""Whether points lie in one hemisphere."""

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy


def in_a_hemisphere(x: "numpy.ndarray") -> "numpy.ndarray":
    """Whether the points of each draw `(draws, n, d)`, n >= d and in general position, lie in an open half-space.

    They do if and only if some hyperplane through the origin and d - 1 of them has all others on one side.
    """
    import numpy as np

    n, d = x.shape[1:]
    inside = np.zeros(len(x), bool)
    for chosen in combinations(range(n), d - 1):
        # The normal's coordinates are minors of the chosen points, with alternating signs.
        rows = x[:, chosen, :]
        normal = np.array([np.linalg.det(np.delete(rows, i, axis=2)) * (-1) ** i for i in range(d)])
        heights = np.einsum("rnd,dr->rn", np.delete(x, chosen, axis=1), normal)
        inside |= (heights > 0).all(axis=1) | (heights < 0).all(axis=1)
    return inside
