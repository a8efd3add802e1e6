"""Points tile by tile, on all cores: memory beyond the result does not grow with their number."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...threads import at_the_same_time, usable_cores
from ._kernel import TILE


class Moved(NamedTuple):
    r"""Points after a map, `x (n, d)`, and $\log|\det|$ of its Jacobian where each came from, `log_det (n,)`."""

    x: np.ndarray
    log_det: np.ndarray


def in_tiles(carry_tile: Callable[[np.ndarray], Moved], x: np.ndarray) -> Moved:
    """What `carry_tile` makes of the points, called with a few of them at a time."""
    n = len(x)
    if n <= TILE:
        return carry_tile(x)
    y, log_det = np.empty_like(x), np.empty(n)

    def share(start: int, end: int) -> None:
        for first in range(start, end, TILE):
            rows = slice(first, min(first + TILE, end))
            y[rows], log_det[rows] = carry_tile(x[rows])

    share(0, TILE)  # what has to be compiled is compiled once, before threads share it
    cores = min(usable_cores(), -(-(n - TILE) // TILE))
    edges = TILE * np.linspace(1, -(-n // TILE), cores + 1).astype(int)
    at_the_same_time([lambda k=k: share(edges[k], min(edges[k + 1], n)) for k in range(cores)])
    return Moved(y, log_det)
