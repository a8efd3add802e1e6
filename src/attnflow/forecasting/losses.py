r"""What is minimised: errors of the next states in units of what the network has to learn, averaged over windows.

The model is $z_{k+1} = z_k + Lw_k + l + s\cdot\mathrm{net}(w_k)$, with a linear part $(L, l)$, zero unless wanted, and
s, the deviation per channel of what is left. One step, plain: the mean of $|(\hat z_{k+1} - z_{k+1})/s|^2$. Variants:

- *relative*: a window weighs $1/(q^2 + \delta^2)$, where q is the size of its true increment in standard deviations.
  A slow growth away from an unstable state is resolved as well as the fast motion later;
- *several steps*: the mean over R roll-out steps from the window;
- *input noise*: the window is perturbed, and the clean next state is still to be predicted.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..pairsums.algebra import matmul
from .network import Form, forward, unpacked

LOSSES = ("plain", "relative")


class Base(NamedTuple):
    """The linear part in normalised coordinates, `L (d, m c)`, `l (d,)`, and the scale `s (d,)` of the network."""

    L: Any
    l: Any  # noqa: E741  (the letter of the formula)
    s: Any


class Data(NamedTuple):
    """Normalised tokens in REVERSED time order, so that a window is a slice; padded, of `places` the first n are real.

    `stream (N, c)`; `places (n,)`: the row of the newest token of every window; `weights (n,)` of the windows.
    """

    stream: Any
    places: Any
    weights: Any
    n: Any

    def windows(self, chosen: Any, m: int, ahead: int) -> tuple[Array, Array]:
        """Windows `(b, m, c)`, newest first, and the `ahead` tokens that follow them, in time order."""

        def both(place: Array) -> Array:
            size = (ahead + m, self.stream.shape[1])
            return jax.lax.dynamic_slice(self.stream, (place - ahead, jnp.zeros_like(place)), size)

        rows = jax.vmap(both)(self.places[chosen])
        return rows[:, ahead:], rows[:, :ahead][:, ::-1]


def advance(theta: Array, base: Base, z: Float[Array, "b m c"], form: Form) -> Float[Array, "b d"]:
    """The next state in normalised coordinates."""
    output = forward(unpacked(theta, form), z, form)
    linear = matmul(z.reshape(len(z), -1), base.L.T) + base.l[None, :]
    return z[:, 0, : form.d] + linear + base.s[None, :] * output


def residuals(
    theta: Array, base: Base, z: Float[Array, "b m c"], future: Float[Array, "b R c"], form: Form
) -> Float[Array, "b R d"]:
    """Errors of R roll-out steps in units of s; where s is zero there is nothing to learn."""
    unit = jnp.where(base.s > 0, 1 / jnp.where(base.s > 0, base.s, 1), 0)

    def one(window: Array, truth: Array) -> tuple[Array, Array]:
        state = advance(theta, base, window, form)
        token = jnp.concatenate([state, truth[:, form.d :]], axis=1)
        return jnp.concatenate([token[:, None], window[:, :-1]], axis=1), (state - truth[:, : form.d]) * unit[None, :]

    if future.shape[1] == 1:
        return one(z, future[:, 0])[1][:, None]
    return jax.lax.scan(one, z, future.transpose(1, 0, 2))[1].transpose(1, 0, 2)


def relative_weights(increments: np.ndarray, delta: float) -> np.ndarray:
    r"""$1/(q^2 + \delta^2)$ for every window, divided by their mean; `increments (n, d)` in their own deviations."""
    w = 1 / ((increments**2).mean(axis=1) + delta**2)
    return w / w.mean()
