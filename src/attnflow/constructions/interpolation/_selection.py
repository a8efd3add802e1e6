r"""Step E: of a sequence with $m > 1$ outputs, $m - 1$ tokens go to a circle, where attention leaves them alone.

The token with the largest $a$ stays on the line. Block $k$ marks the $k$-th chosen token by a strip ($x_2 = h$, a
power of two of the size of the positions) and moves the one that block $k - 1$ had marked to its place on the circle,
$q = x + \frac1h(q - ae_1 - he_2)\,\mathrm{relu}(x_2)$. Circle points lie in the quadrant $x_1, x_2 < 0$, so no neuron
of these blocks reacts to them. Their radius is the largest $a$.
"""

import numpy as np

from ._arithmetic import floor_power
from ._blocks import Block, neurons
from ._draft import Draft
from ._fixed_order import ranks
from ._strip import places, strip


def select(draft: Draft, m: np.ndarray) -> list[tuple]:
    """Marks and moves `m - 1` tokens of every sequence; the neurons of the last move are left to the caller's block."""
    arithmetic, cloud = draft.arithmetic, draft.cloud
    e1, e2 = draft.axis(1), draft.axis(2)
    tokens = places(cloud, np.arange(len(cloud.starts)), draft.span)
    isolation = tokens.isolation[tokens.of]
    rows = _chosen(cloud.x[:, 0], isolation, cloud.starts, cloud.segment, m)
    a, largest = cloud.x[rows, 0], cloud.x[:, 0].max()
    circle = -largest * arithmetic.circle(len(rows))
    height = floor_power(largest)
    pending: list[tuple] = []
    for k, row in enumerate(rows):
        cut = strip(arithmetic, a[k], isolation[row], largest)
        draft.noticed(isolation[row])
        draft.add(Block("mark", neurons(arithmetic, draft.d, 1, *cut.neurons(e1, e2 * height), *pending)))
        pending = [(e2, 0, (e1 * (circle[k, 0] - a[k]) + e2 * (circle[k, 1] - height)) * (1 / height))]
    return pending


def _chosen(a: np.ndarray, isolation: np.ndarray, starts: np.ndarray, segment: np.ndarray, m: np.ndarray) -> np.ndarray:
    """The best isolated tokens of every sequence without its largest, those of one sequence apart from each other."""
    top = a == np.maximum.reduceat(a, starts)[segment]
    first_top = np.flatnonzero(top)[np.unique(segment[top], return_index=True)[1]]
    worth = ranks(isolation)
    worth[first_top] = -1
    order = np.lexsort((-worth, segment))
    place = np.arange(len(a)) - starts[segment]  # segments keep their positions in this order
    taken = place < (m - 1)[segment]
    return order[taken][np.argsort(place[taken], kind="stable")]
