r"""The means of attention: for every token that of the tokens with the largest score, or the softmax mean.

Means are $x_{l_0} + \mathrm{mean}(x_l - x_{l_0})$, so that copies of one token average to it exactly. Queries with one
nonzero entry compare keys and not products: that takes O(n), and products can tie by rounding.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ._cloud import Cloud

PAIRS = 2_000_000  # scores held at a time


class Reading(NamedTuple):
    """`means (p, c)`, and for every token which of them it reads."""

    means: np.ndarray
    which: np.ndarray


def hard_reading(cloud: Cloud, q: np.ndarray, k: np.ndarray, x: np.ndarray) -> Reading:
    """The mean of `x (T, c)` over the argmax of `<q_i, k_l>` in the token's own sequence; ties count by number."""
    active = np.count_nonzero(q, axis=1)
    index, means, known = np.empty(len(q), int), [], 0

    def add(rows: np.ndarray, chosen: np.ndarray) -> None:
        nonlocal known
        index[rows] = known + cloud.segment[rows]
        means.append(_mean(x, cloud.count, chosen, cloud.segment[chosen]))
        known += len(cloud.starts)

    for c in range(q.shape[1]):
        for sign, extreme in ((1, np.maximum), (-1, np.minimum)):
            rows = (active == 1) & (q[:, c] * sign > 0)
            if rows.any():
                best = extreme.reduceat(k[:, c], cloud.starts)
                add(rows, np.flatnonzero(k[:, c] == best[cloud.segment]))
    if (rows := active == 0).any():
        add(rows, np.arange(len(q)))
    for pairs in _pairs(cloud, q, k, np.flatnonzero(active > 1)):
        chosen = pairs.score == pairs.best[pairs.group]
        index[pairs.query] = known + np.arange(len(pairs.query))
        means.append(_mean(x, cloud.count, pairs.key[chosen], pairs.group[chosen]))
        known += len(pairs.query)
    return Reading(np.concatenate(means), index)


def soft_reading(cloud: Cloud, q: np.ndarray, k: np.ndarray, x: np.ndarray, beta: float) -> Reading:
    """The mean of `x (T, c)` with weights proportional to `exp(beta <q_i, k_l>)`."""
    means = []
    for pairs in _pairs(cloud, q, k, np.arange(len(q))):
        with np.errstate(over="ignore", under="ignore"):
            weight = np.exp(beta * (pairs.score - pairs.best[pairs.group])) * cloud.count[pairs.key]
        best = np.flatnonzero(pairs.score == pairs.best[pairs.group])
        leader = pairs.key[best[np.unique(pairs.group[best], return_index=True)[1]]]
        away = x[pairs.key] - x[leader[pairs.group]]
        total = np.add.reduceat(weight, pairs.first)
        means.append(x[leader] + np.add.reduceat(weight[:, None] * away, pairs.first) / total[:, None])
    return Reading(np.concatenate(means), np.arange(len(q)))


def score_gaps(cloud: Cloud, q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """For every token how far the best score is above the best of those that are not tied with it; inf if none is."""
    gaps = []
    for pairs in _pairs(cloud, q, k, np.arange(len(q))):
        below = pairs.best[pairs.group] - pairs.score
        gaps.append(np.minimum.reduceat(np.where(below > 0, below, np.inf), pairs.first))
    return np.concatenate(gaps)


class _Pairs(NamedTuple):
    query: np.ndarray  # rows of the queries
    group: np.ndarray  # for every pair, the number of its query
    key: np.ndarray  # for every pair, the row of its key
    first: np.ndarray  # where the pairs of a query begin
    score: np.ndarray
    best: np.ndarray  # of every query


def _pairs(cloud: Cloud, q: np.ndarray, k: np.ndarray, rows: np.ndarray) -> Iterator[_Pairs]:
    """All pairs of the given queries with the keys of their sequences, in portions."""
    size = cloud.sizes[cloud.segment[rows]]
    portion = np.cumsum(size) // PAIRS
    for part in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(portion)) + 1):
        if len(part) == 0:
            continue
        query, many = rows[part], size[part]
        first = np.cumsum(many) - many
        group = np.repeat(np.arange(len(part)), many)
        key = np.arange(len(group)) + (cloud.starts[cloud.segment[query]] - first)[group]
        score: Any = 0
        for c in range(q.shape[1]):
            score = score + q[query[group], c] * k[key, c]
        yield _Pairs(query, group, key, first, score, np.maximum.reduceat(score, first))


def _mean(x: np.ndarray, count: np.ndarray, chosen: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Of the chosen rows of `x`, group after group; every group has some."""
    first = np.flatnonzero(np.diff(group, prepend=-1))
    leader = x[chosen[first]]
    if len(first) == len(chosen):
        return leader
    many = count[chosen].astype(x.dtype)
    away = (x[chosen] - np.repeat(leader, np.diff(first, append=len(chosen)), axis=0)) * many[:, None]
    return leader + np.add.reduceat(away, first) / np.add.reduceat(many, first)[:, None]
