r"""Step C: rounds. One token tells some members of a class from the others, and they move away.

A class is a group of sequences whose intervals overlap. A strip marks one token that some members have and others do
not have ($x_2 = 1$). Attention with $Q = e_1^\top$, $K = e_2^\top$, $V = S e_1e_2^\top$ adds $S$ to all tokens of the
members with it. The others read a mean with $x_2 = 0$ and stay. Every round splits a class.
"""

from typing import Any

import numpy as np

from ._blocks import Attention, Block, neurons
from ._cloud import Cloud
from ._draft import Draft
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
    """The best isolated token that tells members of a class apart, in the class that is hardest to split.

    Such a token exists, since the sets differ. The hardest goes first because positions grow with every round.
    """
    found = places(cloud, label, span)
    own = label[cloud.segment[found.row]]  # in increasing order
    telling = np.flatnonzero(found.holders < np.bincount(label)[own])
    isolation, own = found.isolation[telling], own[telling]
    first = np.flatnonzero(np.diff(own, prepend=-1))
    best = np.maximum.reduceat(isolation, first)
    hardest = int(np.argmin(best))
    chosen = telling[(own == own[first[hardest]]) & (isolation == best[hardest])][0]
    return int(found.row[chosen]), best[hardest]
