r"""Attention and a feed-forward layer side by side: the continuous-time transformer.

$$ \dot x_i = P_{x_i}\big(\Gamma_\mu(x_i) + W\sigma(Ux_i + b)\big), \qquad \mu = \sum_j w_j\delta_{x_j}. $$

With parameters that are constant on intervals of time (`Piecewise`) it is a transformer with one layer for each.
"""

from typing import ClassVar

from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..attention import AbstractAttention, AbstractEnergy
from ..errors import InputError, shown
from ..pairsums import AbstractPairs, Full
from ..spaces import AbstractSpace, Sphere
from ._model import AbstractModel, check_parts
from .block_energy import BlockEnergy
from .feed_forward import FeedForward
from .schedules import at_time, depends_on_time
from .self_attention import SelfAttention


class TransformerBlock(AbstractModel):
    r"""$\dot x_i = P_{x_i}\big(\Gamma_\mu(x_i) + W\sigma(Ux_i + b)\big)$.

    **Arguments:** `attention`, the map $\Gamma$, and `feed_forward`, one of which may be missing; `space`, by default
    the sphere; `pairs`, who sees whom. All parameters may be schedules of time.

    It has an energy where both parts are gradients in one metric (`energy`); `PerceptronBlock` always is such a one.

    ??? cite "Measure-to-measure interpolation using Transformers, Geshkovski et al. (arXiv:2411.04551)"
    """

    papers: ClassVar[tuple[str, ...]] = ("measure-to-measure",)

    attention: AbstractAttention | None
    feed_forward: FeedForward | None
    space: AbstractSpace
    pairs: AbstractPairs

    def __init__(
        self,
        attention: AbstractAttention | None = None,
        feed_forward: FeedForward | None = None,
        space: AbstractSpace | None = None,
        pairs: AbstractPairs | None = None,
    ):
        check_parts(attention=attention, space=space, pairs=pairs)
        if feed_forward is not None and not isinstance(feed_forward, FeedForward):
            raise InputError(f"feed_forward = {shown(feed_forward)} is none; give af.models.FeedForward(W, U, b).")
        if attention is None and feed_forward is None:
            raise InputError("a block without attention and without neurons moves no token; give one of them.")
        self.attention, self.feed_forward = attention, feed_forward
        self.space = Sphere() if space is None else space
        self.pairs = Full() if pairs is None else pairs

    @property
    def clock(self) -> str:
        return "t" if self.attention is None else self.attention.clock

    def force(
        self,
        t: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None,
        *,
        key: PRNGKeyArray | None = None,
        kernel: str = "auto",
    ) -> Float[Array, "n d"]:
        parts = []
        if self.attention is not None:
            parts.append(at_time(self.attention, t)(x, x, weights, pairs=self.pairs, kernel=kernel))
        if self.feed_forward is not None:
            parts.append(at_time(self.feed_forward, t).velocity(x))
        return sum(parts[1:], parts[0])

    def energy(self) -> AbstractEnergy:
        if depends_on_time(self):
            raise InputError("this model has no energy: its parameters change with time.")
        if self.feed_forward is None:
            return SelfAttention(self.attention, self.space, self.pairs).energy()
        if not self.pairs.complete:
            raise InputError("this model has no energy: the force is a gradient only if every token sees all.")
        perceptron = self.feed_forward.as_perceptron()
        return BlockEnergy(self.attention, perceptron, self.space, repulsive=False, divided=False)
