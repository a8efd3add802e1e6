r"""Lengths and their means of order $p$ at every scale: neither $10^{160}$ squared nor $(1/2)^{1000}$ is a number.

A power of two changes no digit, so clouds are brought to order one before anything is squared, and powers are taken
relative to the largest length: $\big(\sum_i w_i\ell_i^p\big)^{1/p} = L\,\big(\sum_i w_i(\ell_i/L)^p\big)^{1/p}$.
"""

import math

import numpy as np

from ._checked import Real

TINY = 1e-140  # squares of lengths below it lose digits


def to_order_one(*clouds: np.ndarray) -> tuple[float, list[np.ndarray]]:
    """The power of two that the clouds were divided by, and the clouds: all entries are below two."""
    exponent = math.frexp(max(float(np.abs(x).max(initial=0)) for x in clouds))[1] - 1
    return math.ldexp(1.0, exponent), [np.ldexp(x, -exponent) for x in clouds]


def norms(v: np.ndarray) -> np.ndarray:
    """Euclidean lengths along the last axis; entries are of order one at most."""
    length = np.asarray(np.linalg.norm(v, axis=-1))
    small = length < TINY
    if np.any(small):
        length = np.where(small, np.hypot.reduce(v, axis=-1), length)
    return length


def distances(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`|x_i - y_j|` of two clouds of order one at most, `(n, m)`."""
    from scipy.spatial.distance import cdist

    length = cdist(x, y)
    i, j = np.nonzero(length < TINY)
    length[i, j] = np.hypot.reduce(x[i] - y[j], axis=-1)
    return length


def power_mean(lengths: np.ndarray, weights: np.ndarray, p: float) -> Real:
    r"""$\big(\sum_i w_i\ell_i^p\big)^{1/p}$ along the last axis, relative to the largest length that has a weight."""
    lengths = np.where(weights > 0, lengths, 0.0)
    largest = lengths.max(axis=-1, keepdims=True)
    relative = lengths / np.where(largest > 0, largest, 1.0)
    with np.errstate(under="ignore"):
        return largest[..., 0] * np.sum(weights * relative**p, axis=-1) ** (1 / p)
