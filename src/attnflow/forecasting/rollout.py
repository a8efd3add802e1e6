r"""Roll-outs in one compiled program: a step map is called on its own window again and again, until it diverges.

A step map takes a window of tokens `(m, d + q)`, newest first, to the next state `(d,)`. All of it runs in float64,
whatever precision JAX is in: near-linear systems are predicted to more digits than float32 has.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..pairsums.algebra import matmul

DIVERGED = 1e3  # standard deviations of the training data
AT_ONCE = 1 << 14  # windows


class LinearStep(eqx.Module):
    r"""$x_{k+1} = \sum_j A_jx_{k-j} + B_ju_{k+1-j} + b$, `A (d, m (d + q))`."""

    A: Float[Array, "d k"]
    b: Float[Array, " d"]

    def __call__(self, window: Float[Array, "m c"]) -> Float[Array, " d"]:
        return matmul(self.A, window.reshape(-1)) + self.b


@contextlib.contextmanager
def double() -> Iterator[None]:
    """64 bits, in this thread, while the body runs."""
    with jax.enable_x64(True):
        yield


def roll(
    step: Any, window: np.ndarray, inputs: np.ndarray, n: int, centre: np.ndarray, size: np.ndarray
) -> tuple[np.ndarray, int | None]:
    """`n` steps from a window, `(n, d)`, NaN from the step on at which it diverged, and that step.

    `inputs (n - 1, q)`: those of the steps after the first, whose input is part of the window.
    """
    return next(iter(rolls(step, window[None], inputs[None], n, centre, size)))


def rolls(
    step: Any, windows: np.ndarray, inputs: np.ndarray, n: int, centre: np.ndarray, size: np.ndarray
) -> list[tuple[np.ndarray, int | None]]:
    """The same from several windows at once."""
    length = rounded_up(n)
    q = windows.shape[-1] - len(centre)
    padded = np.zeros((len(windows), length, q))
    padded[:, : n - 1] = inputs[:, : n - 1]
    with double():
        arrays = (jnp.asarray(np.ascontiguousarray(a)) for a in (windows, padded, centre, size))
        many = np.asarray(_rolled(step, *arrays))
    return [(rows, first_lost(rows)) for rows in many[:, :n]]


def ensemble(
    steps: Any, window: np.ndarray, inputs: np.ndarray, n: int, centre: np.ndarray, size: np.ndarray
) -> np.ndarray:
    """The same for a batch of step maps, `(runs, n, d)`, from one window."""
    length = rounded_up(n)
    padded = np.zeros((length, window.shape[-1] - len(centre)))
    padded[: n - 1] = inputs[: n - 1]
    with double():
        arrays = (jnp.asarray(a) for a in (window, padded, centre, size))
        return np.asarray(_rolled_by_each(steps, *arrays))[:, :n]


def steps_of(step: Any, tokens: np.ndarray) -> np.ndarray:
    """One step from each of many windows `(n, m, c)`, which may be a view: they are copied in parts."""
    parts = []
    for first in range(0, len(tokens), AT_ONCE):
        part = tokens[first : first + AT_ONCE]
        padded = np.zeros((rounded_up(len(part)), *tokens.shape[1:]))
        padded[: len(part)] = part
        with double():
            parts.append(np.asarray(_stepped(step, jnp.asarray(padded)))[: len(part)])
    return np.concatenate(parts)


def first_lost(rows: np.ndarray) -> int | None:
    lost = ~np.isfinite(rows).all(axis=-1)
    return int(np.argmax(lost)) if lost.any() else None


def rounded_up(n: int) -> int:
    """The next number with three significant bits: few programs are compiled, and little is computed for nothing."""
    unit = 1 << max(0, (max(n, 1) - 1).bit_length() - 3)
    return -(-max(n, 1) // unit) * unit


def scan(step: Any, window: Array, inputs: Array, centre: Array, size: Array) -> Array:
    """A roll-out as long as `inputs`; after a state that is not finite or far from all data there is NaN alone."""

    def advance(carry: Any, u: Array) -> Any:
        window, alive = carry
        state = step(window)
        alive = alive & jnp.all(jnp.abs((state - centre) / size) <= DIVERGED)  # NaN compares as false
        token = jnp.concatenate([jnp.where(alive, state, centre), u])
        window = jnp.concatenate([token[None], window[:-1]])
        return (window, alive), jnp.where(alive, state, jnp.nan)

    return jax.lax.scan(advance, (window, jnp.asarray(True)), inputs)[1]


@eqx.filter_jit
def _rolled(step: Any, windows: Array, inputs: Array, centre: Array, size: Array) -> Array:
    return jax.vmap(lambda window, u: scan(step, window, u, centre, size))(windows, inputs)


@eqx.filter_jit
def _rolled_by_each(steps: Any, window: Array, inputs: Array, centre: Array, size: Array) -> Array:
    return eqx.filter_vmap(lambda step: scan(step, window, inputs, centre, size))(steps)


@eqx.filter_jit
def jacobian(step: Any, window: Array) -> Array:
    """The derivative of the next state by all tokens of the window, `(d, m, c)`."""
    return jax.jacrev(step)(window)


@eqx.filter_jit
def _stepped(step: Any, tokens: Array) -> Array:
    return jax.vmap(step)(tokens)
