"""Names beside points that cover neither points nor each other."""

from collections.abc import Sequence
from typing import Any

import numpy as np

FONT, GAP = 9, 8  # the size of a name, and how far it stands from its point, in points


def to_text(across: int, up: int) -> np.ndarray:
    """From a mark to its name, in points, in one of eight directions."""
    return np.array([across, up]) * (GAP if across == 0 or up == 0 else 0.6 * GAP)


def free_places(points: np.ndarray, texts: Sequence[str], order: Any, side: float) -> list[tuple[int, int]]:
    """For each text the direction in which it covers least of the marks and of the texts before it, and stays inside.

    `points (marks, 2)` is in points from the lower left corner of a square picture of that side; text number k belongs
    to the mark `order[k]`.
    """
    taken = [(x - GAP, y - GAP, x + GAP, y + GAP) for x, y in points]
    directions = [(0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)]
    chosen = []
    for k, text in zip(order, texts, strict=True):
        boxes = {}
        for across, up in directions:
            width, height = 0.6 * FONT * len(text), 1.25 * FONT
            x, y = points[k] + to_text(across, up) + np.array([across - 1, up - 1]) / 2 * [width, height]
            boxes[across, up] = (x, y, x + width, y + height)
        others = [box for j, box in enumerate(taken) if j != k]
        best = min(directions, key=lambda at: _outside(boxes[at], side) + sum(_overlap(boxes[at], b) for b in others))
        taken.append(boxes[best])
        chosen.append(best)
    return chosen


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def _outside(a: tuple[float, ...], side: float) -> float:
    whole = (a[2] - a[0]) * (a[3] - a[1])
    return 3 * (whole - _overlap(a, (2.0, 2.0, side - 2, side - 2)))
