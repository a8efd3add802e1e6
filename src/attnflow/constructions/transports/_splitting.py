"""A sum of neurons during a slab of time, as neurons one after another. Every way of doing so is one function here."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ._neurons import Neurons


class Pieces(NamedTuple):
    """Arrays of neurons in their order, with durations `t (p,)`."""

    W: np.ndarray
    A: np.ndarray
    b: np.ndarray
    t: np.ndarray


def strang(neurons: Neurons, duration: float, rng: np.random.Generator) -> Pieces:
    """2m - 1 pieces: all for half of the time, the last one for the whole, and back. Of second order."""
    m = len(neurons.b)
    there = np.arange(m)
    times = np.full(2 * m - 1, duration / 2)
    times[m - 1] = duration
    return _in_order(neurons, np.concatenate([there, there[-2::-1]]), times)


def lie(neurons: Neurons, duration: float, rng: np.random.Generator) -> Pieces:
    """m pieces, one after another. Of first order."""
    m = len(neurons.b)
    return _in_order(neurons, np.arange(m), np.full(m, duration))


SPLITTINGS: dict[str, Callable[[Neurons, float, np.random.Generator], Pieces]] = {"strang": strang, "lie": lie}


def still(d: int, duration: float) -> Pieces:
    """One piece that moves nothing."""
    return Pieces(np.zeros((1, d)), np.zeros((1, d)), np.ones(1), np.full(1, duration))


def _in_order(neurons: Neurons, order: np.ndarray, times: np.ndarray) -> Pieces:
    return Pieces(neurons.W[order], neurons.A[order], neurons.b[order], times)


def joined(slabs: list[Pieces]) -> Pieces:
    """The pieces of one slab after the other."""
    return Pieces(*(np.concatenate(parts) for parts in zip(*slabs, strict=True)))
