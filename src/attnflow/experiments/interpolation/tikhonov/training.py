r"""Regularised training of one block that can interpolate its data exactly.

The model is attention, then a feed-forward layer,

$$ z_i = \rho x_i + V\sum_l \mathrm{softmax}_l(\langle Qx_i, Kx_l\rangle)\,x_l, \qquad
   T_i = \eta z_i + W\,\mathrm{relu}(Uz_i + b), $$

and the targets are its own outputs for $\theta^*$: $Q = K = 0$, $V = I$, $\rho = 0$, $\eta = 1$. What is minimised is
$\mathrm{loss}(\theta) + \frac\varepsilon2|\theta|^2$, $\mathrm{loss}$ the mean over sequences of
$\max_i|T_i - y|^2$: Adam with its own weight decay adds $\varepsilon\theta$ to the gradient.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy

N, TOKENS, D, WIDTH = 10, 100, 16, 4
RATE = 1e-3
PORTION = 5_000  # epochs that are compiled together


class Task(NamedTuple):
    """`x (N, n, d)`, `y (N, d)`, the squared norm of the parameters that interpolate, parameters to start from."""

    x: Any
    y: Any
    square: float
    start: dict[str, Any]
    exact: dict[str, Any]


def task(seed: int) -> Task:
    """Data and start; inputs and the target's U, W, b are uniform on [0, 1], the start is U(-1, 1)/sqrt(fan-in)."""
    import numpy as np

    rng = np.random.default_rng(seed)
    x, U, W, b = (rng.random(shape) for shape in ((N, TOKENS, D), (WIDTH, D), (D, WIDTH), (WIDTH,)))
    mean = x.mean(axis=1)
    y = mean + np.maximum(mean @ U.T + b, 0) @ W.T
    fan_in = {"Q": ((1, D), D), "K": ((1, D), D), "V": ((D, D), D), "U": ((WIDTH, D), D), "W": ((D, WIDTH), WIDTH)}
    start: dict[str, Any] = {name: rng.uniform(-1, 1, shape) / np.sqrt(k) for name, (shape, k) in fan_in.items()}
    start |= {"b": rng.uniform(-1, 1, WIDTH) / np.sqrt(D), "rho": np.zeros(()), "eta": np.zeros(())}
    exact = {"Q": np.zeros((1, D)), "K": np.zeros((1, D)), "V": np.eye(D), "U": U, "W": W, "b": b}
    exact |= {"rho": np.zeros(()), "eta": np.ones(())}
    return Task(x, y, float(sum((p**2).sum() for p in exact.values())), start, exact)


def distances(theta: Any, queries: Any, x: Any, y: Any) -> Any:
    """Squared distances `(N, k)` of the images of the tokens `queries (N, k, d)` of sequences `x` from the targets."""
    import jax
    import jax.numpy as jnp

    score = (queries @ theta["Q"][0])[:, :, None] * (x @ theta["K"][0])[:, None, :]
    z = theta["rho"] * queries + (jax.nn.softmax(score, axis=-1) @ x) @ theta["V"].T
    hidden = jax.nn.relu(z @ theta["U"].T + theta["b"][None, None, :])
    return jnp.sum((theta["eta"] * z + hidden @ theta["W"].T - y[:, None, :]) ** 2, axis=-1)


def loss(theta: Any, x: Any, y: Any) -> Any:
    """The mean over sequences of the largest squared distance of a token from its target.

    Its gradient is that of the farthest tokens alone: they are selected without derivatives, and only they are
    differentiated.
    """
    import jax
    import jax.numpy as jnp

    farthest = jnp.argmax(jax.lax.stop_gradient(distances(theta, x, x, y)), axis=1)
    return jnp.mean(distances(theta, jnp.take_along_axis(x, farthest[:, None, None], axis=1), x, y))


def trained(theta: Any, x: Any, y: Any, eps: float, schedule: int, epochs: int) -> tuple[Any, "numpy.ndarray"]:
    """Parameters after `epochs` of a cosine schedule of `schedule`, and the loss before each.

    In single precision, as in the paper's program. `epochs` is a multiple of `PORTION`.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np

    begin, go_on = _program()
    theta, x, y, eps, schedule = jax.tree.map(lambda p: jnp.asarray(p, jnp.float32), (theta, x, y, eps, schedule))
    state, losses = begin(theta), []
    for first in range(0, epochs, PORTION):
        theta, state, values = go_on(theta, state, x, y, eps, schedule, jnp.float32(first))
        losses.append(np.asarray(values, float))
    return jax.tree.map(np.asarray, theta), np.concatenate(losses)


@functools.cache
def _program() -> tuple[Callable, Callable]:
    """Adam's start, and `PORTION` epochs as one compiled scan, which all runs share."""
    import jax
    import jax.numpy as jnp
    import optax

    adam = optax.scale_by_adam()

    @jax.jit
    def go_on(theta, state, x, y, eps, schedule, first):
        def step(carry, k):
            theta, state = carry
            value, gradient = jax.value_and_grad(loss)(theta, x, y)
            decayed = jax.tree.map(lambda g, p: g + eps * p, gradient, theta)  # Adam's own decay, not AdamW's
            update, state = adam.update(decayed, state)
            rate = RATE * 0.5 * (1 + jnp.cos(jnp.pi * k / schedule))
            return (jax.tree.map(lambda p, u: p - rate * u, theta, update), state), value

        ks = first + jnp.arange(PORTION, dtype=jnp.float32)
        (theta, state), losses = jax.lax.scan(step, (theta, state), ks)
        return theta, state, losses

    return adam.init, go_on
