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
    y, log_det = np.empty_like(x), np.empty(n)

    def share(start: int, end: int) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused at the end
            for first in range(start, end, TILE):
                rows = slice(first, min(first + TILE, end))
                y[rows], log_det[rows] = carry_tile(x[rows])

    share(0, min(n, TILE))  # what has to be compiled is compiled once, before threads share it
    left = -(-n // TILE) - 1
    if left > 0:
        edges = TILE * (1 + np.linspace(0, left, min(usable_cores(), left) + 1).astype(int))
        pairs = zip(edges[:-1].tolist(), np.minimum(edges[1:], n).tolist(), strict=True)
        at_the_same_time([lambda pair=pair: share(*pair) for pair in pairs])
    return Moved(y, log_det)
