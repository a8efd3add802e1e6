r"""Models seen from a moving frame: tokens that grow like $e^{tV}$, without their growth.

If rows of attention sum to one, $\dot x_i = \sum_j P_{ij}Vx_j$ is $Vx_i$ plus a sum of differences. Two changes of
variables take the growth out:

$$ y = e^{-\lambda(t - t_0)}\,x, \qquad\qquad
   z = e^{-tV}x, \quad \dot z_i = \sum_j P_{ij}(e^{tV}z)\,V(z_j - z_i) . $$

The attention matrix of $y$ and of $z$ is that of $x$.

Reference: arXiv:2305.05465; docs/theory/euclidean.md.
"""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..errors import InputError
from ..spaces import AbstractSpace
from ._model import AbstractModel

# Tokens are multiplied by no more than this fraction of the largest exponent (e^300 in double precision), so that
# their products stay finite; scores of that size are a hardmax to the last digit.
REACH = 0.42

Force = Callable[[Array], Array]


class AbstractFrame(AbstractModel):
    """A model in other variables: in the space and the time of `model`, by its force."""

    model: eqx.AbstractVar[AbstractModel]

    @abc.abstractmethod
    def transformed(self, t: Array, x: Float[Array, "n d"], force: Force) -> Float[Array, "n d"]:
        """The force on tokens `x` of the frame, from the `force` of the model on its own tokens at the time `t`."""

    @property
    def space(self) -> AbstractSpace:
        return self.model.space

    @property
    def clock(self) -> str:
        return self.model.clock

    def force(
        self,
        t: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None,
        *,
        key: PRNGKeyArray | None = None,
        kernel: str = "auto",
    ) -> Float[Array, "n d"]:
        force = lambda tokens: self.model.force(t, tokens, weights, key=key, kernel=kernel)  # noqa: E731
        return self.transformed(jnp.asarray(t, x.dtype), x, force)


class MovingFrame(AbstractFrame):
    r"""$y = e^{-\lambda(t - t_0)}x$: the tokens of `model` without a growth of `rate` $\lambda$ since `start` $t_0$.

    The scores of the true tokens are used as long as they can be written, and scores of $e^{300}y$ afterwards.
    """

    model: AbstractModel
    rate: Float[Array, ""]
    start: Float[Array, ""]

    def __init__(self, model: AbstractModel, rate: ArrayLike, start: ArrayLike = 0.0):
        self.model = model
        self.rate = jnp.asarray(rate)
        self.start = jnp.asarray(start, self.rate.dtype)

    def transformed(self, t: Array, x: Float[Array, "n d"], force: Force) -> Float[Array, "n d"]:
        rate = self.rate.astype(x.dtype)
        grown = jnp.exp(writable(rate * (t - self.start.astype(x.dtype)), x.dtype))
        return force(grown * x) / grown - rate * x

    def linear_part(self, d: int) -> Float[Array, "d d"] | None:
        V = self.model.linear_part(d)
        return None if V is None else V - self.rate.astype(V.dtype) * jnp.eye(d, dtype=V.dtype)


class Rescaled(AbstractFrame):
    r"""$z = e^{-tV}x$ with $V$ the linear part of `model`: what `attnflow.rescaled` makes of a run obeys this."""

    model: AbstractModel

    def __init__(self, model: AbstractModel):
        self.model = model

    def transformed(self, t: Array, x: Float[Array, "n d"], force: Force) -> Float[Array, "n d"]:
        V = self.model.linear_part(x.shape[1])
        if V is None:
            raise InputError("this model has no linear part to rescale by; see attnflow.rescaled.")
        A = t * V.astype(x.dtype)
        grown = x @ jax.scipy.linalg.expm(A).T
        return (force(grown) - grown @ V.astype(x.dtype).T) @ jax.scipy.linalg.expm(-A).T


def writable(log_scale: Any, dtype: Any) -> Any:
    """An exponent, or the largest at which the squares of tokens can still be written."""
    return jnp.minimum(log_scale, REACH * jnp.log(jnp.finfo(dtype).max).astype(dtype))
