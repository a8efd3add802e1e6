r"""The contract of a model that is a sequence of maps of the whole cloud: layers, with no time between them.

$$ X_{k+1} = \Phi_k(X_k), \qquad k = 0, 1, \dots $$
"""

import abc

from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..spaces import AbstractSpace, Euclidean
from ._model import AbstractModel


class AbstractLayers(AbstractModel):
    r"""Layers $\Phi_k$, run by `simulate(model, x0, solver="layers")`; time counts them, and token states live in
    $\mathbb R^d$.

    `force` is the change that a layer makes, $\Phi_k(X) - X$, so that what reads the velocity of a model reads that.
    """

    @property
    def space(self) -> AbstractSpace:
        return Euclidean()

    @property
    def clock(self) -> str:
        return "layers"

    @property
    @abc.abstractmethod
    def depth(self) -> int:
        """How many layers there are; `simulate` runs so many if it gets no `t1`."""

    @property
    @abc.abstractmethod
    def endless(self) -> bool:
        """Whether there are layers beyond `depth`, since all of them are one map."""

    @abc.abstractmethod
    def layer(
        self,
        k: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None = None,
        *,
        kernel: str = "auto",
    ) -> Float[Array, "n d"]:
        """What layer `k` makes of the tokens; beyond the last one, what the last one does."""

    def force(
        self,
        t: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None,
        *,
        key: PRNGKeyArray | None = None,
        kernel: str = "auto",
    ) -> Float[Array, "n d"]:
        return self.layer(t, x, weights, kernel=kernel) - x
