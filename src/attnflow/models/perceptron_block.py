r"""A perceptron beside attention: tokens on the sphere in the field of one another and of an external potential.

$$ E(\mu) = \frac1{2\beta}\iint e^{\beta\langle x, y\rangle}\,d\mu\,d\mu + \int U\,d\mu, \qquad
   \dot x_i = \pm P_{x_i}\Big(\sum_j w_j e^{\beta\langle x_i, x_j\rangle}x_j + \nabla U(x_i)\Big), \qquad
   \dot E = \pm\sum_i w_i|\dot x_i|^2 . $$

Only the unnormalised kernel makes a gradient flow with $U$ beside it; divided as a whole by
$Z_i = \sum_j w_je^{\beta\langle x_i, x_j\rangle}$ (`softmax_preconditioned`) the flow climbs, or descends, the same
energy in the metric $w_iZ_i$.

Setting: arXiv:2601.21366; derivations: docs/theory/perceptron.md.
"""

import functools
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..attention import AbstractEnergy, Softmax, Unnormalized
from ..checks import flag, whole
from ..errors import InputError
from ..pairsums import Full, Inner, pair_sums
from ..parameters import Parameter, inverse_temperature
from ..registry import Entry, Param
from ..spaces import AbstractSpace, Sphere, is_concrete, log_weights
from ._model import AbstractModel
from .perceptron import Perceptron
from .schedules import at_time, depends_on_time


class PerceptronBlock(AbstractModel):
    r"""Unnormalised attention and a perceptron, on the sphere: the ascent of $E + U$, or with `repulsive` the descent.

    **Arguments:** `beta`; `perceptron`; `repulsive`, which changes the sign of the velocity; `softmax_preconditioned`,
    which divides it by $Z_i$: attention becomes softmax attention, and $\dot E = \pm\sum_i w_iZ_i|\dot x_i|^2$.
    """

    papers: ClassVar[tuple[str, ...]] = ("perceptron",)

    beta: Any
    perceptron: Perceptron
    repulsive: bool = eqx.field(static=True)
    softmax_preconditioned: bool = eqx.field(static=True)

    def __init__(
        self, beta: Parameter, perceptron: Perceptron, repulsive: bool = False, softmax_preconditioned: bool = False
    ):
        if not isinstance(perceptron, Perceptron):
            raise InputError(f"a {type(perceptron).__name__} is no perceptron; give af.models.Perceptron(a, b, omega).")
        self.beta = inverse_temperature(beta)
        self.perceptron = perceptron
        self.repulsive = flag("repulsive", repulsive)
        self.softmax_preconditioned = flag("softmax_preconditioned", softmax_preconditioned)

    @property
    def space(self) -> AbstractSpace:
        return Sphere()

    @property
    def clock(self) -> str:
        return "SA" if self.softmax_preconditioned else "USA"

    @property
    def attention(self) -> Softmax | Unnormalized:
        """The attention map beside the perceptron; its sign is that of the block."""
        return Softmax(self.beta) if self.softmax_preconditioned else Unnormalized(self.beta)

    @property
    def pairs(self) -> Full:
        return Full()

    def force(
        self,
        t: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None,
        *,
        key: PRNGKeyArray | None = None,
        kernel: str = "auto",
    ) -> Float[Array, "n d"]:
        here = at_time(self, t)
        read, log_z = pair_sums(Inner(here.beta), x, x, x, log_w=log_weights(weights), reduce="exp", kernel=kernel)
        drift = here.perceptron.gradient(x)
        if self.softmax_preconditioned:
            velocity = read + jnp.exp(-log_z)[:, None] * drift
        else:
            velocity = jnp.exp(log_z)[:, None] * read + drift
        return -velocity if self.repulsive else velocity

    def energy(self) -> "BlockEnergy":
        if depends_on_time(self):
            raise InputError("this model has no energy: its parameters change with time.")
        if is_concrete(self.beta) and self.beta == 0:
            raise InputError("at beta = 0 the energy of attention, 1/(2 beta), diverges; take beta > 0.")
        return BlockEnergy(self)


class BlockEnergy(AbstractEnergy):
    r"""$\frac1{2\beta}\sum_{ij}w_iw_je^{\beta\langle x_i, x_j\rangle} + \sum_iw_iU(x_i)$.

    It has one scale, since attention and potential are not rescaled apart.
    """

    block: PerceptronBlock

    @property
    def scales(self) -> tuple[str, ...]:
        return ("E+U",)

    @property
    def direction(self) -> int:
        return -1 if self.block.repulsive else 1

    def value(self, x, weights=None, *, scale=None, kernel="auto"):
        self.scale(scale)
        mass = jnp.full(x.shape[0], 1 / x.shape[0], x.dtype) if weights is None else weights
        attention = self._attention.value(x, weights, scale="E", kernel=kernel)
        return attention + jnp.sum(mass * self.block.perceptron.potential(x))

    def log_metric(self, x, weights=None, *, scale=None):
        return self._attention.log_metric(x, weights, scale="E")

    @property
    def _attention(self) -> AbstractEnergy:
        return self.block.attention.energy(self.block.space)


def drawn_block(
    d: int = 3,
    *,
    activation: str,
    beta: float = 1.0,
    neurons: int = 6,
    omega: float = 2.0,
    bias: float = -0.3,
    draw: int = 0,
    repulsive: bool = False,
) -> PerceptronBlock:
    """A block whose neurons have independent uniform directions on the sphere, all with the same weight and bias."""
    key = jax.random.key(whole("draw", draw, least=0))
    a = Sphere().sample(n=whole("neurons", neurons), d=whole("d", d), key=key)
    return PerceptronBlock(beta, Perceptron(a, bias, omega, activation), repulsive=repulsive)


def _entry(activation: str) -> Entry:
    return Entry(
        kind="model",
        name=f"perceptron-{activation}",
        factory=functools.partial(drawn_block, activation=activation),
        summary=f"unnormalised attention and a perceptron ({activation}) with random directions, on the sphere",
        params={
            "beta": Param(1.0, bounds=(0.0, 50.0), scale="log", symbol="β", help="inverse temperature"),
            "neurons": Param(6, bounds=(1, 64), symbol="K", help="number of neurons"),
            "omega": Param(2.0, bounds=(-100.0, 100.0), symbol="ω", help="output weight of every neuron"),
            "bias": Param(-0.3, bounds=(-100.0, 100.0), symbol="b", help="number added inside the activation"),
            "draw": Param(0, bounds=(0, 64), help="which random directions the neurons have"),
            "repulsive": Param(False, help="descend the energy instead of climbing it"),
        },
        spaces=("sphere",),
        symmetries=frozenset({"permutation", "splitting"}),
        monotone="increasing",
        papers=("perceptron",),
    )


RELU = _entry("relu")
TANH = _entry("tanh")
GELU = _entry("gelu")
