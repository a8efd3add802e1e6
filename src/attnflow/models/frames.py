r"""Models seen from a moving frame: tokens that grow like $e^{tV}$, without their growth.

If rows of attention sum to one, $\dot x_i = \sum_j P_{ij}Vx_j$ is $Vx_i$ plus a sum of differences. Two changes of
variables take the growth out:

$$ y = e^{-\lambda(t - t_0)}\,x, \qquad\qquad
   z = e^{-tV}x, \quad \dot z_i = \sum_j P_{ij}(e^{tV}z)\,V(z_j - z_i) . $$

The attention matrix of $y$ and of $z$ is that of $x$.

Reference: arXiv:2305.05465; docs/theory/euclidean.md.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..errors import InputError
from ..spaces import AbstractSpace, Euclidean
from ._model import AbstractModel

# Tokens are multiplied by no more than this fraction of the largest exponent (e^300 in double precision), so that
# their products stay finite; scores of that size are a hardmax to the last digit.
REACH = 0.42


class MovingFrame(AbstractModel):
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

    @property
    def space(self) -> AbstractSpace:
        return Euclidean()

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
        rate = self.rate.astype(x.dtype)
        grown = jnp.exp(writable(rate * (jnp.asarray(t, x.dtype) - self.start.astype(x.dtype)), x.dtype))
        return self.model.force(t, grown * x, weights, key=key, kernel=kernel) / grown - rate * x

    def linear_part(self, d: int) -> Float[Array, "d d"] | None:
        V = self.model.linear_part(d)
        return None if V is None else V - self.rate.astype(V.dtype) * jnp.eye(d, dtype=V.dtype)


class Rescaled(AbstractModel):
    r"""$z = e^{-tV}x$ with $V$ the linear part of `model`: what `attnflow.rescaled` makes of a run obeys this."""

    model: AbstractModel

    def __init__(self, model: AbstractModel):
        self.model = model

    @property
    def space(self) -> AbstractSpace:
        return Euclidean()

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
        V = self.model.linear_part(x.shape[1])
        if V is None:
            raise InputError("this model has no linear part to rescale by; see attnflow.rescaled.")
        A = jnp.asarray(t, x.dtype) * V.astype(x.dtype)
        grown = x @ jax.scipy.linalg.expm(A).T
        rest = self.model.force(t, grown, weights, key=key, kernel=kernel) - grown @ V.astype(x.dtype).T
        return rest @ jax.scipy.linalg.expm(-A).T


def writable(log_scale: Any, dtype: Any) -> Any:
    """An exponent, or the largest at which the squares of tokens can still be written."""
    return jnp.minimum(log_scale, REACH * jnp.log(jnp.finfo(dtype).max).astype(dtype))
