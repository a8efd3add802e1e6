"""Linear algebra in a fixed order of operations, and comparisons by rank.

A matrix product of BLAS gives one row different values at different places of a batch. A token that two sequences
share would then no longer be the same token, and a network built on such values can be silently wrong.
"""

import numpy as np


def linear(x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """<u, x> for every row: coordinate after coordinate, those with coefficient zero left out."""
    total = None
    for k in np.flatnonzero(u != 0):
        term = x[:, k] * u[k]
        total = term if total is None else total + term
    return x[:, 0] * 0 if total is None else total


def ranks(values: np.ndarray) -> np.ndarray:
    """The place of every entry among the distinct ones; equal entries share it. Fractions, too."""
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def distinct(x: np.ndarray) -> np.ndarray:
    """A number for every row, equal for equal rows, increasing in lexicographic order."""
    ids = ranks(x[:, 0])
    for k in range(1, x.shape[1]):
        if ids.max(initial=0) + 1 == len(ids):
            break  # all differ, and their order is settled
        column = ranks(x[:, k])
        ids = ranks(ids * (column.max() + 1) + column)
    return ids
