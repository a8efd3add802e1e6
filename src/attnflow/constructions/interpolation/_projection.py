r"""Step B: tokens become numbers, $x \mapsto e_1\,\mathrm{relu}(\langle u, x\rangle + b)$, all at least D."""

from typing import Any, NamedTuple

import numpy as np

from ._blocks import FeedForward, neurons
from ._cloud import Cloud
from ._draft import Draft
from ._fixed_order import linear

DRAWS = 8


class Direction(NamedTuple):
    """`u`, the range D of the input tokens along it, and their smallest distance relative to D."""

    u: np.ndarray
    span: Any
    relative_gap: Any


def generic_direction(draft: Draft, rng: np.random.Generator) -> Direction:
    """Of a few draws the one along which distinct tokens stay farthest apart."""
    points = draft.cloud.x[np.unique(draft.cloud.ids, return_index=True)[1]]
    drawn = [_measured(points, draft.arithmetic.direction(rng, draft.d)) for _ in range(DRAWS)]
    return max(drawn, key=lambda one: one.relative_gap)


def _measured(points: np.ndarray, u: np.ndarray) -> Direction:
    along = np.sort(linear(points, u))
    span = along[-1] - along[0]
    return Direction(u, span, np.diff(along).min() / span if span > 0 else span + 1)


def projection(draft: Draft, u: np.ndarray) -> FeedForward:
    along = linear(draft.cloud.x, u)
    floor = draft.span if draft.span > 0 else draft.span + 1
    return neurons(draft.arithmetic, draft.d, 0, (u, floor - along.min(), draft.axis(1)))


def reset(draft: Draft) -> FeedForward:
    """Keeps the first coordinate and clears the second."""
    e1 = draft.axis(1)
    return neurons(draft.arithmetic, draft.d, 0, (e1, 0, e1))


def classes(cloud: Cloud) -> np.ndarray:
    """Sequences whose intervals of first coordinates overlap, directly or by others, share a label."""
    a = cloud.x[:, 0]
    low, high = np.minimum.reduceat(a, cloud.starts), np.maximum.reduceat(a, cloud.starts)
    order = np.argsort(low, kind="stable")
    reached = np.maximum.accumulate(high[order])
    label = np.empty(len(order), int)
    label[order] = np.concatenate([[0], np.cumsum(low[order][1:] > reached[:-1])])
    return label
