r"""The feed-forward layer of a transformer, in general no gradient.

$$ x \mapsto W\sigma(Ux + b), \qquad U \in \mathbb R^{m\times d},\ b \in \mathbb R^m,\ W \in \mathbb R^{d\times m}. $$
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..errors import InputError
from ..pairsums.algebra import matmul
from ..parameters import Parameter, parameter
from ..spaces import is_concrete
from . import activations
from .perceptron import Perceptron
from .schedules import depends_on_time, is_schedule


class FeedForward(eqx.Module):
    r"""$x \mapsto W\sigma(Ux + b)$ with $m$ neurons.

    **Arguments:** `W (d, m)`, `U (m, d)`, `b (m,)`, each an array or a schedule of time; `activation` as for
    `Perceptron`, which is the layer with $W = U^\top\mathrm{diag}(\omega)$.

    >>> import jax.numpy as jnp
    >>> layer = FeedForward(W=[[0.0], [3.0]], U=[[1.0, 0.0]], b=[-0.5])
    >>> layer.velocity(jnp.array([[1.0, 7.0]])).tolist()
    [[0.0, 1.5]]
    """

    W: Any
    U: Any
    b: Any
    activation: str = eqx.field(static=True)

    def __init__(self, W: Parameter, U: Parameter, b: Parameter, activation: str = "relu"):
        given = {"W": parameter("W", W, 2), "U": parameter("U", U, 2), "b": parameter("b", b, 1)}
        for name, value in given.items():
            if value is None:
                raise InputError(f"{name} is missing; give W (d, m), U (m, d) and b (m,) for m neurons.")
        self.W, self.U, self.b = given.values()
        self.activation = activations.named(activation).name
        if not any(is_schedule(value) for value in given.values()):
            self._check_shapes()

    def _check_shapes(self) -> None:
        m, d = self.U.shape
        if self.W.shape != (d, m) or self.b.shape != (m,):
            raise InputError(
                f"W has shape {self.W.shape}, U has shape {self.U.shape} and b has shape {self.b.shape}; give (d, m), "
                "(m, d) and (m,) for m neurons."
            )

    def velocity(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """What the layer adds to the velocity of every token."""
        if depends_on_time(self):
            raise InputError("this layer changes with time; give it at one time, models.at_time(layer, t).")
        self._check_shapes()
        if x.shape[-1] != self.U.shape[1]:
            raise InputError(f"the neurons have dimension {self.U.shape[1]} and tokens {x.shape[-1]}; make them equal.")
        z = matmul(x, self.U.astype(x.dtype).T) + self.b.astype(x.dtype)[None, :]
        return matmul(activations.named(self.activation).sigma(z), self.W.astype(x.dtype).T)

    def as_perceptron(self) -> Perceptron:
        """The same layer as the gradient of a potential; one that is none is refused, naming a neuron."""
        if depends_on_time(self):
            raise InputError("this layer changes with time and has no potential; give it at one time.")
        if is_concrete(self.W, self.U):
            return Perceptron.from_weights(self.W, self.U, self.b, self.activation)
        # Inside a transformation matrices cannot be looked at: the caller knows what they are.
        length = jnp.sum(self.U * self.U, axis=1)
        omega = jnp.sum(self.W.T * self.U, axis=1) / jnp.where(length > 0, length, 1)
        return Perceptron(self.U, self.b, omega, self.activation)
