r"""Where atoms go: their targets, or places around a target that several of them share.

A flow keeps different points different. Atoms with one target y go to places in a small disc around it, and a gate on
a cap around y, at the end, brings them to y as near as is wanted: one piece for every target that is shared. The same
helps where two targets are antipodal: every great circle through one of them meets the other, so that no band ends at
the second one while the first is taken.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from ...errors import InputError
from ._measure import unit
from .cap_gate import amount_to_reach, cap_gate
from .piece import TransformerPiece

SAME = 1e-9  # targets as close as that are one
RADIUS = 0.1  # of a cap, at most
SHARE = 0.4  # of the distance to the next target
ANTIPODAL = 1e-4  # from the antipode of another target, no band ends there
LEAST = 1e-4  # radius of a cap, at least
GOLDEN = np.pi * (3 - 5**0.5)  # turns of seeds that never repeat


class Destinations(NamedTuple):
    """A place for every atom, `(M, d)`, and the gates that merge what shares a target."""

    places: np.ndarray
    gates: list[TransformerPiece]


def destinations(points: np.ndarray, eps: float, rng: np.random.Generator) -> Destinations:
    """For atoms with the targets `points (M, d)`, to be reached within `eps`."""
    group = groups(points)
    opposite = _opposite(points)
    places, gates = points.copy(), []
    for k in range(group.max() + 1):
        members = np.flatnonzero(group == k)
        if len(members) == 1 and not opposite[members[0]]:
            continue
        y = points[members[0]]
        others = points[group != k]
        nearest = np.min(np.linalg.norm(others - y, axis=1), initial=np.inf)
        radius = min(RADIUS, SHARE * nearest)
        if radius < LEAST:
            raise InputError(
                f"a target that is shared, or antipodal to another one, is {nearest:.2g} from a third; such targets "
                f"must be {LEAST / SHARE:.2g} apart."
            )
        places[members] = _around(y, radius / 2, len(members), rng)
        level = np.cos(radius)
        amount = amount_to_reach(level, np.cos(radius / 2) - level, eps / 10)
        gates.append(cap_gate(y, level, amount))
    return Destinations(places, gates)


def groups(points: np.ndarray) -> np.ndarray:
    """For every point the number of its place."""
    pairs = KDTree(points).query_pairs(SAME, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), (len(points), len(points)))
    return connected_components(graph, directed=False)[1]


def antipodal(points: np.ndarray) -> bool:
    """Whether some of the points are antipodal."""
    return bool(_opposite(points).any())


def _opposite(points: np.ndarray) -> np.ndarray:
    """Whether the antipode of a point is one that comes before it."""
    near = KDTree(points).query_ball_point(-points, ANTIPODAL)
    return np.array([any(j < k for j in found) for k, found in enumerate(near)])


def _around(y: np.ndarray, radius: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Places in a disc around y, like the seeds of a sunflower; in d > 3 in directions by chance."""
    tangent = np.linalg.svd(y[None])[2][1:]
    turn = rng.uniform(0, 2 * np.pi) + GOLDEN * np.arange(count)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    if len(y) > 3:
        ring = rng.normal(size=(count, len(y) - 1))
        ring = unit(ring)
    size = radius * np.sqrt((np.arange(count) + 0.5) / count)
    places = np.cos(size)[:, None] * y + np.sin(size)[:, None] * (ring @ tangent)
    return unit(places)
