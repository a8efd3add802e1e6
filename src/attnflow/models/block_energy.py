r"""The energy of attention beside a perceptron.

$$ F(\mu) = \frac{c}{2\beta}\iint e^{\beta\langle x, By\rangle}\,d\mu\,d\mu + \int U\,d\mu, $$

where $c\,\nabla_xe^{\beta\langle x, By\rangle}/\beta$ is what a token reads from another: $c = 1$ for unnormalised
attention with $V = B$, $e^{-\beta}$ if it is shifted, negative for $V = -B$. In the flow
$\dot x_i = \pm P_{x_i}(\Gamma_\mu + \nabla U)(x_i)$ then $\dot F = \pm\sum_iw_i|\dot x_i|^2$; where the whole velocity
is divided by $Z_i$ the metric is $w_iZ_i$.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..attention import AbstractAttention, AbstractEnergy
from ..errors import InputError
from ..pairsums import as_reduction
from ..spaces import AbstractSpace, is_concrete
from .perceptron import Perceptron


class BlockEnergy(AbstractEnergy):
    r"""$F$ of this module's text. It has one scale, since attention and potential are not rescaled apart.

    `attention=None` leaves $\int U\,d\mu$; `divided`: the velocity is divided by $Z_i$, and attention is softmax.
    """

    attention: AbstractAttention | None
    perceptron: Perceptron
    space: AbstractSpace
    repulsive: bool = eqx.field(static=True)
    divided: bool = eqx.field(static=True)

    def __check_init__(self) -> None:
        if self.attention is None:
            return
        # A check of its own energy: B symmetric, V one of B and -B.
        pair_energy = self.attention.energy(self.space)
        if as_reduction(self.attention.reduce)[0].total is None and not self.divided:
            raise InputError(
                "this model has no energy: softmax attention and a perceptron are gradients in different metrics; take "
                "af.Unnormalized, or PerceptronBlock(softmax_preconditioned=True)."
            )
        if is_concrete(self.attention) and pair_energy.direction == 0:
            raise InputError("this model has no energy: beside a perceptron V must be B or -B, symmetric.")
        beta: Any = getattr(self.attention, "beta", None)
        if beta is not None and is_concrete(beta) and np.asarray(beta) == 0:
            raise InputError("at beta = 0 the energy of attention, 1/(2 beta), diverges; take beta > 0.")

    @property
    def scales(self) -> tuple[str, ...]:
        return ("E+U",)

    @property
    def direction(self) -> int:
        return -1 if self.repulsive else 1

    def value(self, x, weights=None, *, scale=None, kernel="auto"):
        self.scale(scale)
        mass = jnp.full(x.shape[0], 1 / x.shape[0], x.dtype) if weights is None else weights
        own = jnp.sum(mass * self.perceptron.potential(x))
        if self.attention is None:
            return own
        pairs = self.attention.energy(self.space)
        return own + self._factor(x) * pairs.value(x, weights, scale="E_B", kernel=kernel)

    def log_metric(self, x, weights=None, *, scale=None):
        self.scale(scale)
        if self.attention is None or not self.divided:
            return jnp.zeros_like(x[:, 0])
        return self.attention.energy(self.space).log_metric(x, weights, scale="E_B")

    def _factor(self, x: Float[Array, "n d"]) -> Float[Array, ""]:
        attention: Any = self.attention
        total = as_reduction(attention.reduce)[0].total
        if total is None:
            return self._sign(x)
        factor, shift = (jnp.asarray(a, x.dtype) for a in (total.factor, total.shift))
        return self._sign(x) * factor * jnp.exp(-shift)

    def _sign(self, x: Float[Array, "n d"]) -> Float[Array, ""]:
        """1 for V = B and -1 for V = -B, also where they are traced."""
        attention: Any = self.attention
        eye = jnp.eye(x.shape[1], dtype=x.dtype)
        V, B = (eye if a is None else a.astype(x.dtype) for a in (attention.V, attention.score.matrix))
        return jnp.sum(V * B) / jnp.sum(B * B)
