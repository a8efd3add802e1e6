"""One evaluation of a pair sum, the library's engine against plain NumPy."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np

import attnflow as af


@dataclass(frozen=True)
class Timing:
    """Seconds: to compile, and the medians of one call each."""

    n: int
    d: int
    compile: float
    library: float
    plain: float

    @property
    def ratio(self) -> float:
        return self.plain / self.library


def plain(x: np.ndarray, beta: float) -> np.ndarray:
    """Softmax attention of a cloud to itself, as one writes it in NumPy."""
    scores = beta * (x @ x.T)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights @ x / weights.sum(axis=1, keepdims=True)


def measure(n: int, d: int, beta: float = 4.0, seconds: float = 1.0) -> Timing:
    """Time both by turns for about `seconds`, after checking that they agree."""
    x = np.random.default_rng(0).normal(size=(n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    cloud = jax.numpy.asarray(x)
    lowered = jax.jit(lambda x, beta: af.pair_sums(af.Inner(beta), x, x, x)[0]).lower(cloud, jax.numpy.asarray(beta))
    start = time.perf_counter()
    compiled = lowered.compile()
    compile_seconds = time.perf_counter() - start

    arguments = cloud, jax.numpy.asarray(beta)
    np.testing.assert_allclose(compiled(*arguments), plain(x, beta), rtol=1e-9, atol=1e-12)
    library, numpy = [], []
    until = time.perf_counter() + seconds
    while len(library) < 3 or time.perf_counter() < until:
        library.append(_clock(lambda: compiled(*arguments).block_until_ready()))
        numpy.append(_clock(lambda: plain(x, beta)))
    return Timing(n, d, compile_seconds, float(np.median(library)), float(np.median(numpy)))


def _clock(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
