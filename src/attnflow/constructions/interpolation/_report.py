"""How well a network interpolates, and what it costs against the published count."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._blocks import Block
from ._cloud import Cloud


@dataclass(frozen=True, repr=False)
class InterpolationReport:
    r"""What `verify` found. Printed, it is a sentence.

    - `error`: the largest Hausdorff distance of an output from what is wanted, and `relative_error`, divided by the
      largest entry of the outputs. Fractions, and 0, for a network of fractions.
    - `sequences` N, `points` $M = \sum_j m^j$: different inputs, and their output points.
    - `blocks`, and the published `bound` $2M + 2N + 1$; `roles`: how many blocks each step has.
    - `parameters`: numbers stored, `per_point` that over $dM$.
    - `kappa`: the range of the codes over their smallest gap (`None` without Step A, and for a network from a file).
    - `isolation`: the smallest distance, relative to the range of the data along the projection, that a strip relies
      on (`None` likewise). `plateau`: half the width of the narrowest interval that has a constant output.
    """

    error: Any
    relative_error: Any
    sequences: int
    points: int
    blocks: int
    bound: int
    roles: dict[str, int]
    parameters: int
    per_point: float
    kappa: float | None
    isolation: float | None
    plateau: float

    @property
    def softmax_bound(self) -> int:
        """The published count for softmax attention, 2M + 3N; the same blocks serve here."""
        return 2 * self.points + 3 * self.sequences

    def __repr__(self) -> str:
        sequences, points = (
            f"{many} {word}{'' if many == 1 else 's'}"
            for many, word in ((self.sequences, "sequence"), (self.points, "point"))
        )
        return (
            f"{sequences} to {points}: error {float(self.error):.2g}, {self.blocks} blocks "
            f"(published bound {self.bound}), {self.parameters} parameters."
        )


def counts(blocks: list[Block]) -> dict[str, int]:
    """How many blocks serve each step, in the order of the steps."""
    roles = [block.role for block in blocks]
    return {role: roles.count(role) for role in dict.fromkeys(roles)}


def plateau(blocks: list[Block]) -> float:
    """Half the width of the narrowest plateau of a placement block: its four kinks are t - 2d, t - d, t + d, t + 2d."""
    kinks = [block.feed_forward.b for block in blocks if block.role == "place"]
    return min(float(b[-2] - b[-1]) for b in kinks)


def largest_distance(cloud: Cloud, wanted: list[np.ndarray]) -> Any:
    """The largest Hausdorff distance of a sequence of `cloud` from its wanted points; NaN if there is one.

    Between fractions the distance is that of the largest coordinate, which is a fraction, too.
    """
    size, many = cloud.sizes, np.array([len(y) for y in wanted])
    pairs = size * many
    start = np.repeat(np.cumsum(pairs) - pairs, pairs)
    inside = np.arange(pairs.sum()) - start
    j = np.repeat(np.arange(len(many)), pairs)
    row = cloud.starts[j] + inside // many[j]
    point = (np.cumsum(many) - many)[j] + inside % many[j]
    away = cloud.x[row] - np.concatenate(wanted)[point]
    distance = abs(away).max(axis=1) if away.dtype == object else np.sqrt((away**2).sum(axis=1))
    to_point = np.minimum.reduceat(distance, np.flatnonzero(np.diff(row, prepend=-1)))
    order = np.argsort(point, kind="stable")
    to_row = np.minimum.reduceat(distance[order], np.flatnonzero(np.diff(point[order], prepend=-1)))
    return np.max(np.concatenate([to_point, to_row]))  # of NumPy: Python's max would lose a NaN
