r"""Tokens that move by attention to one another: the basic model of the theory."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..attention import AbstractAttention, AbstractEnergy, Softmax
from ..checks import whole
from ..errors import InputError
from ..pairsums import AbstractPairs, Full
from ..parameters import Parameter
from ..registry import Entry
from ..spaces import AbstractSpace, Sphere
from ._model import AbstractModel, check_parts
from .schedules import at_time, depends_on_time


class SelfAttention(AbstractModel):
    r"""$$ \dot x_i = P_{x_i}\,\Gamma_{\mu}(x_i), \qquad \mu = \sum_j w_j \delta_{x_j}. $$

    `SelfAttention(beta=9.0)` is shorthand for `SelfAttention(Softmax(beta=9.0), space=Sphere())`.

    **Arguments:** `attention`, the map $\Gamma$; `space`, which gives the projection $P$; `pairs`, the visible pairs;
    `longest`, the number of tokens it is meant for at most (`None`: any), as `causal_model` gives it.
    """

    attention: AbstractAttention
    space: AbstractSpace
    pairs: AbstractPairs
    longest: int | None = eqx.field(static=True)

    def __init__(
        self,
        attention: AbstractAttention | None = None,
        space: AbstractSpace | None = None,
        pairs: AbstractPairs | None = None,
        *,
        beta: Parameter | None = None,
        longest: int | None = None,
    ):
        if (attention is None) == (beta is None):
            raise InputError("give an attention map, or beta for softmax attention: SelfAttention(beta=1.0).")
        check_parts(attention=attention, space=space, pairs=pairs)
        self.attention = Softmax(beta=beta) if attention is None else attention  # pyright: ignore[reportArgumentType]
        self.space = Sphere() if space is None else space
        self.pairs = Full() if pairs is None else pairs
        self.longest = None if longest is None else whole("longest", longest)

    @property
    def clock(self) -> str:
        return self.attention.clock

    def force(
        self,
        t: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None,
        *,
        key: PRNGKeyArray | None = None,
        kernel: str = "auto",
        state: Any = None,
    ) -> Float[Array, "n d"]:
        if self.longest is not None and x.shape[0] > self.longest:
            raise InputError(
                f"the model is for prompts of at most {self.longest} tokens, and there are {x.shape[0]}; make it for "
                f"{x.shape[0]}, or give the first {self.longest}."
            )
        velocity = at_time(self.attention, t)(x, x, weights, pairs=self.pairs, kernel=kernel, state=state)
        if velocity.shape != x.shape:
            raise InputError(
                f"the attention map gives velocities of dimension {velocity.shape[-1]} to tokens of dimension "
                f"{x.shape[-1]}; take a square V."
            )
        return velocity

    @property
    def attention_alone(self) -> bool:
        return type(self).force is SelfAttention.force

    def warm(
        self,
        t: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None,
        state: Any,
        *,
        kernel: str = "auto",
    ) -> Any:
        """That of the attention map."""
        return at_time(self.attention, t).warm(self.space.nearest(x), weights, state, pairs=self.pairs, kernel=kernel)

    def linear_part(self, d: int) -> Float[Array, "d d"] | None:
        r"""$V$, where the force is $\sum_j P_{ij}Vx_j$ in $\mathbb R^d$ with rows of $P$ that sum to one, for ever."""
        attention = self.attention
        if not self.space.flat or depends_on_time(attention):
            return None
        if not attention.row_stochastic or not self.pairs.reflexive:
            return None
        V = attention.V
        return jnp.eye(d) if V is None else V if V.shape == (d, d) else None

    def energy(self) -> AbstractEnergy:
        if not self.pairs.complete:
            raise InputError("this model has no energy: the force is a gradient only if every token sees all.")
        if depends_on_time(self.attention):
            raise InputError("this model has no energy: its parameters change with time.")
        return self.attention.energy(self.space)


ENTRY = Entry(
    kind="model",
    name="self-attention",
    factory=SelfAttention,
    summary="tokens that attend to one another, on the sphere or in R^d",
    symmetries=frozenset({"permutation", "rotation", "splitting"}),
    papers=("perspective",),
)
