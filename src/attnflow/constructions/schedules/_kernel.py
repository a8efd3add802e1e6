"""Many neurons on many points by one compiled program, whose tile of points stays in the cache.

The program is compiled once for each dimension and for each power of two of pieces; how many of them run is an
argument. It computes in float64 whatever JAX does elsewhere.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

TILE = 4096  # points: with d = 2 and the log determinant they fill 100 kB


def neurons_on_tile(
    x: np.ndarray, steps: np.ndarray, A: np.ndarray, b: np.ndarray, growth: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""Up to `TILE` points `(n, d)` after the neurons, and the log determinants there.

    A neuron moves a point with $s = \langle a, x\rangle + b > 0$ by `s * step`, and adds its `growth`.
    """
    n, d = x.shape
    columns = np.zeros((d, TILE))
    columns[:, :n] = x.T
    room = _room(len(b))
    with jax.enable_x64(True), jax.default_device(jax.local_devices(backend="cpu")[0]):
        weights = (_filled(a, room) for a in (steps, A, b, growth))
        y, log_det = _program()(columns, *weights, np.int32(len(b)))
    return np.asarray(y)[:, :n].T, np.asarray(log_det)[:n]


@functools.cache
def _program() -> Any:
    return jax.jit(_through)


def _through(
    x: Float[Array, "d m"],
    steps: Float[Array, "p d"],
    A: Float[Array, "p d"],
    b: Float[Array, " p"],
    growth: Float[Array, " p"],
    count: Array,
) -> tuple[Float[Array, "d m"], Float[Array, " m"]]:
    def neuron(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        x, log_det = state
        s = jnp.sum(A[k][:, None] * x, axis=0) + b[k]
        return x + steps[k][:, None] * jnp.maximum(s, 0)[None, :], log_det + jnp.where(s > 0, growth[k], 0)

    return jax.lax.fori_loop(0, count, neuron, (x, jnp.zeros_like(x[0])))


def _room(p: int) -> int:
    """The power of two, at least 64, that holds p pieces."""
    return max(64, 1 << (p - 1).bit_length())


def _filled(a: np.ndarray, room: int) -> np.ndarray:
    return np.concatenate([a, np.zeros((room - len(a), *a.shape[1:]))])
