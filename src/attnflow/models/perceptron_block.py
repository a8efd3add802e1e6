r"""A perceptron beside attention: tokens on the sphere in the field of one another and of an external potential.

$$ E(\mu) = \frac1{2\beta}\iint e^{\beta\langle x, y\rangle}\,d\mu\,d\mu + \int U\,d\mu, \qquad
   \dot x_i = \pm P_{x_i}\Big(\sum_j w_j e^{\beta\langle x_i, x_j\rangle}x_j + \nabla U(x_i)\Big), \qquad
   \dot E = \pm\sum_i w_i|\dot x_i|^2 . $$

Only an unnormalised kernel makes a gradient flow with $U$ beside it; divided as a whole by
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

from ..attention import AbstractAttention, Softmax, Unnormalized
from ..checks import flag, whole
from ..errors import InputError
from ..pairsums import Full, pair_sums
from ..parameters import Parameter
from ..registry import Entry, Param
from ..spaces import AbstractSpace, Sphere, log_weights
from ._model import AbstractModel, check_parts
from .block_energy import BlockEnergy
from .perceptron import Perceptron
from .schedules import at_time, depends_on_time


class PerceptronBlock(AbstractModel):
    r"""Attention and a perceptron, on the sphere: the ascent of $E + U$, or with `repulsive` the descent.

    **Arguments:**

    - `beta`, the inverse temperature of unnormalised attention; `shifted=True` takes the exponent
      $\beta(\langle x, y\rangle - 1)$, so that attention is $e^\beta$ times weaker beside the perceptron. Or any
      `attention` map in its place.
    - `perceptron`; `repulsive`, which changes the sign of the velocity.
    - `softmax_preconditioned`, which divides the velocity by $Z_i$: attention becomes softmax attention, and
      $\dot E = \pm\sum_i w_iZ_i|\dot x_i|^2$.

    With a map that is no gradient in the metric of the perceptron there is no energy.
    """

    papers: ClassVar[tuple[str, ...]] = ("perceptron",)

    attention: AbstractAttention
    perceptron: Perceptron
    repulsive: bool = eqx.field(static=True)
    softmax_preconditioned: bool = eqx.field(static=True)

    def __init__(
        self,
        beta: Parameter | None = None,
        perceptron: Perceptron | None = None,
        repulsive: bool = False,
        softmax_preconditioned: bool = False,
        *,
        shifted: bool = False,
        attention: AbstractAttention | None = None,
    ):
        if not isinstance(perceptron, Perceptron):
            raise InputError(f"a {type(perceptron).__name__} is no perceptron; give af.models.Perceptron(a, b, omega).")
        self.perceptron = perceptron
        self.repulsive = flag("repulsive", repulsive)
        self.softmax_preconditioned = flag("softmax_preconditioned", softmax_preconditioned)
        self.attention = _attention(beta, attention, flag("shifted", shifted), softmax_preconditioned)

    @property
    def space(self) -> AbstractSpace:
        return Sphere()

    @property
    def clock(self) -> str:
        return self.attention.clock

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
        drift, attention = here.perceptron.gradient(x), here.attention
        if self.softmax_preconditioned:
            values, log_w = attention.values(x), log_weights(weights)
            read, log_z = pair_sums(attention.score, x, x, values, log_w=log_w, reduce="exp", kernel=kernel)
            velocity = read + jnp.exp(-log_z)[:, None] * drift
        else:
            velocity = attention(x, x, weights, kernel=kernel) + drift
        return -velocity if self.repulsive else velocity

    def energy(self) -> BlockEnergy:
        if depends_on_time(self):
            raise InputError("this model has no energy: its parameters change with time.")
        return BlockEnergy(self.attention, self.perceptron, self.space, self.repulsive, self.softmax_preconditioned)


def _attention(beta: Any, attention: Any, shifted: bool, divided: bool) -> AbstractAttention:
    """The map beside the perceptron: that of `beta` and its flags, or the one given."""
    if (beta is None) == (attention is None):
        raise InputError("give beta for unnormalised attention, or attention= for another map, and not both.")
    if shifted and (divided or attention is not None):
        raise InputError("shifted=True is about unnormalised attention with beta; drop it, or give beta alone.")
    if attention is None:
        return Softmax(beta) if divided else Unnormalized(beta, shifted=shifted)
    check_parts(attention=attention)
    if divided and not (attention.exponential and attention.row_stochastic):
        raise InputError(
            f"softmax_preconditioned=True divides by the sum of softmax attention, which {type(attention).__name__} "
            "does not; give attention=af.Softmax(beta)."
        )
    return attention


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
