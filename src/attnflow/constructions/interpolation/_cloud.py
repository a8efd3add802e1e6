"""Sequences side by side, of any lengths: the distinct tokens of each, and how often they occur.

Attention without positions does not depend on the order: equal tokens of a sequence move together, so one of them is
kept, with its number. Tokens stand in lexicographic order, whatever the order they were given in: results do not depend
on it, to the last digit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ._fixed_order import distinct


@dataclass(frozen=True, eq=False)
class Cloud:
    """`x (T, d)`: distinct tokens of all sequences; `ids (T,)`: equal for equal points, also of different sequences;
    `segment (T,)`: their sequences; `starts (N,)`: where each begins; `count (T,)`: how often a token occurs;
    `back`: for every token that was given, its row.
    """

    x: np.ndarray
    ids: np.ndarray
    segment: np.ndarray
    starts: np.ndarray
    count: np.ndarray
    back: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """How many distinct tokens every sequence has."""
        return np.diff(self.starts, append=len(self.x))

    def moved(self, x: np.ndarray) -> "Cloud":
        """The same tokens at other places."""
        return replace(self, x=x)

    def merged(self) -> "Cloud":
        """Tokens that have met in their sequence become one."""
        return _collected(self.x, self.segment, self.count, self.back)


def gathered(sequences: Sequence[np.ndarray]) -> Cloud:
    """Sequences `(n, d)`, none empty, as a cloud."""
    x = np.concatenate(sequences)
    segment = np.repeat(np.arange(len(sequences)), [len(s) for s in sequences])
    return _collected(x, segment, np.ones(len(x), int), np.arange(len(x)))


def _collected(x: np.ndarray, segment: np.ndarray, count: np.ndarray, back: np.ndarray) -> Cloud:
    ids = distinct(x)
    pair = segment * (ids.max() + 1) + ids
    _, first, inverse = np.unique(pair, return_index=True, return_inverse=True)
    segment = segment[first]
    return Cloud(
        x=np.asfortranarray(x[first]),  # layers work on coordinates
        ids=ids[first],
        segment=segment,
        starts=np.flatnonzero(np.diff(segment, prepend=-1)),
        count=np.bincount(inverse, weights=count).astype(int),
        back=inverse[back],
    )
