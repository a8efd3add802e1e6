r"""Step G: one block for every output. The source at $t$ goes to $y$, from the largest $t$ down.

The displacement along $a = x_1$ is piecewise linear: 0 for $|a - t| \ge d_2$, and $y - ae_1$ for $|a - t| \le d_1$, so
that a whole interval has the output $y$: this removes errors of $a$, and makes softmax exact. Nothing is left above the
source; lower sources and finished outputs see exact zeros. The first block also rescales, $a = sx_1 + o$, so that all
sources are at least twice the outputs and no farther apart than they. With $s, d_1, d_2$ powers of two and $t, o$ on a
grid no bias rounds, and outputs are right to a few units in the last place, however close the sources are.
"""

import math
from typing import Any

import numpy as np

from ._arithmetic import floor_power
from ._blocks import Block, neurons
from ._draft import Draft
from ._fixed_order import ranks
from ._strip import MARGIN, Unseparated


def place(draft: Draft, outputs: list[np.ndarray]) -> None:
    """Send the points of every sequence to its outputs, `(m, d)` each."""
    e1 = draft.axis(1)
    x = draft.cloud.x[:, 0]
    wanted = np.concatenate(outputs)
    size = abs(wanted).max()
    size = size if size > 0 else size + 1
    scale, offset, grid = _rescaling(draft, x, size)
    order = np.argsort(-ranks(x), kind="stable")
    for k, row in enumerate(order):
        a = scale * x + offset if k == 0 else draft.cloud.x[:, 0]
        t = round(a[row] / grid) * grid
        gap = min(size, t - a[order[k + 1]]) if k + 1 < len(order) else size
        d2 = floor_power(9 * gap / 20) if gap > 0 else 0
        if not d2 >= MARGIN * grid:
            raise Unseparated(
                f"two sequences end {float(gap / size):.2g} of the size of the outputs apart, and positions there are "
                f"held with a spacing of {float(grid / size):.1g}; {draft.arithmetic.remedy}."
            )
        moves = _to(wanted[row], t, d2, e1)
        if k == 0:
            moves = [(e1, 0, e1), *moves]
            moves = [(e1 * scale, offset + b, w) for _, b, w in moves]
        draft.add(Block("place", neurons(draft.arithmetic, draft.d, 0 if k == 0 else 1, *moves)))


def _rescaling(draft: Draft, x: np.ndarray, size: Any) -> tuple[Any, Any, Any]:
    """Scale, offset, and the grid on which positions are rounded afterwards."""
    low, high, far = x.min(), x.max(), abs(x).max()
    scale = floor_power(size / (high - low if high > low else far))
    grid = draft.arithmetic.grid(scale * far + 4 * size)
    return scale, math.ceil((2 * size - scale * low) / grid) * grid, grid


def _to(y: np.ndarray, t: Any, d2: Any, e1: np.ndarray) -> list[tuple[Any, Any, Any]]:
    """Four neurons: up to y on [t - d1, t + d1], and back to 0."""
    d1 = d2 / 2
    rise, fall = (y - (t - d1) * e1) * (1 / d1), (y - (t + d1) * e1) * (1 / d1)
    return [
        (e1, -(t - d2), rise),
        (e1, -(t - d1), -rise - e1),
        (e1, -(t + d1), e1 - fall),
        (e1, -(t + d2), fall),
    ]
