r"""The rival of a construction: the same transformer with its weights found by gradient descent through `simulate`.

The loss is the mean over measures of the squared distances of the tokens from the targets that an assignment gives
them; assignments are made again every few epochs, so that the loss is $W_2^2$ where they are optimal. Several starts
are trained at once, by Adam.
"""

import functools
import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy

RATE = 0.005
SIZES = {"W": 0.03, "V": 0.03}  # of weights at the start, beside 1 for the others: nothing moves far at first
STEPS = 6  # of Runge and Kutta's method in a piece
PORTION = 50  # epochs between two assignments


class Trained(NamedTuple):
    """$W_2$ of every start and measure at the end, the losses `(starts, epochs)`, and the seconds without
    compilation."""

    distances: "numpy.ndarray"
    losses: "numpy.ndarray"
    seconds: float


def trained(
    x: Any, y: Any, *, pieces: int, width: int, attends: bool, starts: int, epochs: int, coupled: bool, key: Any
) -> Trained:
    """Train `starts` transformers on the pairs `x, y (N, n, d)`. `coupled`: choose assignments, else token by token."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    theta = start(key, starts, pieces, width, x.shape[-1], attends)
    step, ends, begin = program(attends)
    state = begin(theta)
    x, y = jnp.asarray(x), jnp.asarray(y)
    order = np.tile(np.arange(x.shape[1]), (starts, len(x), 1))
    losses, seconds = [], 0.0
    for _ in range(0, epochs, PORTION):
        if coupled:
            order = assignments(np.asarray(ends(theta, x)), np.asarray(y))
        begun = time.perf_counter()
        theta, state, values = jax.block_until_ready(step(theta, state, x, y, jnp.asarray(order)))
        seconds += time.perf_counter() - begun if losses else 0.0  # the first portion compiles
        losses.append(np.asarray(values))
    seconds *= len(losses) / max(1, len(losses) - 1)
    found = np.asarray(ends(theta, x))
    order = assignments(found, np.asarray(y)) if coupled else order
    squares = np.take_along_axis(np.asarray(y)[None], order[..., None], axis=2)
    distances = np.sqrt(np.mean(np.sum((found - squares) ** 2, axis=-1), axis=-1))
    return Trained(distances, np.concatenate(losses, axis=1), seconds)


def assignments(ends: Any, y: Any) -> Any:
    """For every start and measure the targets of the tokens, by an optimal assignment."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    cost = np.sum((ends[:, :, :, None] - y[None, :, None]) ** 2, axis=-1)
    return np.array([[linear_sum_assignment(one)[1] for one in measures] for measures in cost])


def start(key: Any, starts: int, pieces: int, width: int, d: int, attends: bool) -> dict[str, Any]:
    """Weights by chance, for every start."""
    import jax

    shapes = {"W": (d, width), "U": (width, d), "b": (width,)} | ({"V": (d, d), "B": (d, d)} if attends else {})
    keys = dict(zip(shapes, jax.random.split(key, len(shapes)), strict=True))
    drawn = {name: jax.random.normal(keys[name], (starts, pieces, *shape)) for name, shape in shapes.items()}
    return {name: SIZES.get(name, 1.0) * values for name, values in drawn.items()}


@functools.cache
def program(attends: bool) -> tuple[Any, Any, Any]:
    """A portion of Adam, the ends of all tokens, and Adam's start: programs that all starts share."""
    import jax
    import jax.numpy as jnp
    import optax

    import attnflow as af

    adam = optax.adam(RATE)

    def moved(theta: Any, x: Any) -> Any:
        """Where the tokens of all measures end; a piece lasts for the time 1."""
        count = theta["W"].shape[0]
        named = {name: af.Piecewise(jnp.arange(1.0, count), value) for name, value in theta.items()}
        attention = af.Softmax(1.0, V=named["V"], B=named["B"]) if attends else None
        layer = af.models.FeedForward(named["W"], named["U"], named["b"])
        model = af.models.TransformerBlock(attention, layer)
        steps = {"solver": "rk4", "dt": 1 / STEPS, "save": 1, "throw": False, "max_steps": (STEPS + 2) * count}
        return jax.vmap(lambda one: af.simulate(model, one, t1=float(count), **steps).final)(x)

    def loss(theta: Any, x: Any, y: Any, order: Any) -> Any:
        wanted = jnp.take_along_axis(y, order[..., None], axis=1)
        return jnp.mean(jnp.sum((moved(theta, x) - wanted) ** 2, axis=-1))

    @jax.jit
    def step(theta: Any, state: Any, x: Any, y: Any, order: Any) -> Any:
        def epoch(carry: Any, _: Any) -> Any:
            theta, state = carry
            values, gradients = jax.vmap(jax.value_and_grad(loss), in_axes=(0, None, None, 0))(theta, x, y, order)
            updates, state = jax.vmap(adam.update)(gradients, state, theta)
            return (optax.apply_updates(theta, updates), state), values

        (theta, state), values = jax.lax.scan(epoch, (theta, state), length=PORTION)
        return theta, state, values.T

    return step, jax.jit(jax.vmap(moved, in_axes=(0, None))), jax.vmap(adam.init)
