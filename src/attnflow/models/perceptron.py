r"""A perceptron that is the gradient of a potential.

$$ U(x) = \sum_{k=1}^K \omega_k\,\Phi(\langle a_k, x\rangle + b_k), \qquad
   \nabla U(x) = \sum_k \omega_k\,a_k\,\sigma(\langle a_k, x\rangle + b_k), \qquad \Phi' = \sigma . $$

It is one where the output weight of each neuron is a multiple of its input weight.

Setting: arXiv:2601.21366; derivations: docs/theory/perceptron.md.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import finite_array
from ..errors import InputError
from ..pairsums.algebra import matmul
from ..parameters import Parameter, parameter
from ..spaces import Numbers
from . import activations
from .schedules import depends_on_time, is_schedule

PARALLEL = 1e-9  # how far an output weight may be from a multiple of the input weight, relative to its length


class Perceptron(eqx.Module):
    r"""One hidden layer that is the gradient of a potential; see this module's text.

    **Arguments:** `a (K, d)`, `b (K,)` and `omega (K,)`, one neuron in each row; `b` and `omega` may be one number for
    all neurons. `activation` is a name of `attnflow.models.activations`: relu, tanh, sigmoid, gelu, erf, identity,
    linear (a linear potential), exp. Arrays may be schedules of time.

    >>> float(Perceptron([[1.0, 0.0]], activation="relu", omega=3.0).potential(jnp.array([0.5, 0.0])))
    0.375
    """

    a: Any
    b: Any
    omega: Any
    activation: str = eqx.field(static=True)

    def __init__(self, a: Parameter, b: Parameter = 0.0, omega: Parameter = 1.0, activation: str = "relu"):
        self.a = parameter("a", a, ndim=2)
        if self.a is None:
            raise InputError("a is missing; give one row for each neuron, for example a=[[1.0, 0.0]].")
        self.b, self.omega = (self._per_neuron(name, value) for name, value in (("b", b), ("omega", omega)))
        self.activation = activations.named(activation).name

    def _per_neuron(self, name: str, value: Any) -> Any:
        try:
            single = isinstance(value, str) or np.ndim(value) == 0
        except ValueError:  # lists of different lengths
            single = False
        field = parameter(name, value, ndim=0 if single else 1)
        if field is None:
            raise InputError(f"{name} is missing; give one number, or one for each neuron.")
        known = not (is_schedule(field) or is_schedule(self.a))
        return _for_each(name, field, self.a.shape[0]) if known else field

    @classmethod
    def from_weights(cls, W_out: Numbers, W_in: Numbers, b: Parameter = 0.0, activation: str = "relu") -> "Perceptron":
        r"""The perceptron $x \mapsto W_{out}\,\sigma(W_{in}x + b)$, `W_in (K, d)`, `W_out (d, K)`, if it is a gradient.

        Every column $w_k$ of `W_out` must be a multiple $\omega_ka_k$ of the row $a_k$ of `W_in`; otherwise there is no
        energy, and the first such neuron is named.
        """
        out, into = finite_array("W_out", W_out), finite_array("W_in", W_in)
        if into.ndim != 2 or out.shape != into.shape[::-1]:
            raise InputError(
                f"W_in has shape {into.shape} and W_out has shape {out.shape}; give (K, d) and (d, K) for K neurons."
            )
        length = np.sum(into**2, axis=1)
        omega = np.sum(out.T * into, axis=1) / np.where(length > 0, length, 1)
        off = np.linalg.norm(out.T - omega[:, None] * into, axis=1) > PARALLEL * np.linalg.norm(out, axis=0)
        if off.any():
            k = int(np.argmax(off))
            raise InputError(
                f"neuron {k} has the output weight {out[:, k]} and the input weight {into[k]}, which are not parallel: "
                "this perceptron is no gradient and has no energy; take W_out = omega_k times W_in, or "
                "models.FeedForward in a models.TransformerBlock."
            )
        return cls(into, b, omega, activation)

    @property
    def function(self) -> activations.Activation:
        """The activation with its primitive."""
        return activations.named(self.activation)

    @property
    def smooth(self) -> bool:
        """Whether the potential is analytic."""
        return self.function.smooth

    def potential(self, x: Any) -> Float[Array, "*n"]:
        """$U$ of one point `(d,)`, or of the points `(..., d)`."""
        x, omega, z = self._inputs(x)
        return matmul(self.function.primitive(z), omega)

    def gradient(self, x: Any) -> Float[Array, "*n d"]:
        r"""$\nabla U$ in $\mathbb R^d$, which is what the perceptron gives."""
        x, omega, z = self._inputs(x)
        return matmul(self.function.sigma(z), omega[:, None] * self.a.astype(x.dtype))

    def _inputs(self, x: Any) -> tuple[Float[Array, "*n d"], Float[Array, " K"], Float[Array, "*n K"]]:
        """The points, the weights and what the activation is applied to."""
        if depends_on_time(self):
            raise InputError("this perceptron changes with time; give it at one time, models.at_time(perceptron, t).")
        try:
            x = jnp.asarray(x)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"the points {x!r} are not an array of numbers; give (d,) or (..., d).") from None
        count, d = self.a.shape
        if x.shape[-1:] != (d,):
            dimension = f"tokens {x.shape[-1]}" if x.ndim else "one number has none"
            raise InputError(f"the neurons have dimension {d} and {dimension}; make them equal.")
        if not jnp.issubdtype(x.dtype, jnp.floating):
            x = x.astype(self.a.dtype)
        b, omega = (_for_each(name, getattr(self, name), count).astype(x.dtype) for name in ("b", "omega"))
        z = matmul(x, self.a.astype(x.dtype).T)
        return x, omega, z + jnp.broadcast_to(b, z.shape)


def _for_each(name: str, value: Array, count: int) -> Float[Array, " K"]:
    """One number for each neuron."""
    if value.ndim and value.shape != (count,):
        raise InputError(f"{name} has shape {value.shape} and there are {count} neurons; give one number, or one each.")
    return jnp.broadcast_to(value, (count,))
