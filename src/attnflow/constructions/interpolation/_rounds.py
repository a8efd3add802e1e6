r"""Step C: rounds. One token separates some members of a class from the others, which move away.

A class is a group of sequences whose intervals overlap. A strip marks one token that some members have and others do
not have ($x_2 = 1$). Attention with $Q = e_1^\top$, $K = e_2^\top$, $V = S e_1e_2^\top$ adds $S$ to all tokens of the
members with it. The others read a mean with $x_2 = 0$ and stay. Every round splits a class.
"""

from typing import Any

import numpy as np

from ._blocks import Attention, Block, neurons
from ._cloud import Cloud
from ._draft import Draft
from ._fixed_order import ranks
from ._projection import classes
from ._strip import places, strip


def separate(draft: Draft) -> None:
    """Rounds until every sequence has an interval of its own."""
    e1, e2 = draft.axis(1), draft.axis(2)
    one = draft.arithmetic.array(1)[()]
    while True:
        label = classes(draft.cloud)
        if label.max() + 1 == len(label):
            return
        a = draft.cloud.x[:, 0]
        row, isolation = _telling(draft.cloud, label, draft.span)
        largest = a.max()
        cut = strip(draft.arithmetic, a[row], isolation, largest)
        draft.noticed(isolation)
        least = a[label[draft.cloud.segment] == label[draft.cloud.segment[row]]].min()
        shift = largest - least + 13 * draft.span / 50
        mark = neurons(draft.arithmetic, draft.d, 0, (e1, 0, e1), *cut.neurons(e1, e2))
        move = Attention(rho=one, Q=e1[None], K=e2[None], multiple=one * 0, left=e1 * shift, right=e2)
        draft.add(Block("round", mark, move))


def _telling(cloud: Cloud, label: np.ndarray, span: Any) -> tuple[int, Any]:
    """Of the two sequences of a class that are hardest to separate, the best isolated token that only one has.

    Such a token exists, since the sets differ. The hardest go first because positions grow with every round.
    """
    distinct = places(cloud, label, span)
    isolation = distinct.isolation[distinct.of]
    rank = ranks(isolation)
    enough, most = 0, int(rank.max()) + 1  # tokens of this rank and above separate all sequences, or do not
    while most - enough > 1:
        middle = (enough + most) // 2
        apart = len(np.unique(_seen(cloud, label, rank >= middle))) == len(label)
        enough, most = (middle, most) if apart else (enough, middle)
    _, alike = np.unique(_seen(cloud, label, rank > enough), return_inverse=True)
    rows = np.flatnonzero(rank == enough)
    group = alike[cloud.segment[rows]]
    _, same, holders = np.unique(group * len(distinct.row) + distinct.of[rows], return_inverse=True, return_counts=True)
    row = rows[holders[same] < np.bincount(alike)[group]][0]
    return int(row), isolation[row]


def _seen(cloud: Cloud, label: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """A number for every sequence: random ones of its class and of its tokens that are `shown`, combined."""
    of_class, of_token = np.random.default_rng(0).integers(2**63, size=(2, max(int(cloud.ids.max()) + 1, len(label))))
    return of_class[label] ^ np.bitwise_xor.reduceat(np.where(shown, of_token[cloud.ids], 0), cloud.starts)
