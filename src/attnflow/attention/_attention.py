r"""The contract of an attention map: the $\Gamma_\mu(x)$ that a query $x$ reads from $\mu = \sum_j w_j \delta_{y_j}$.

A map owns its parameters ($\beta$, $B$ or $Q, K$, and $V$) and goes through `pair_sums`; it knows no space, no mask and
no solver. A numeric field is an array, or a `Schedule` (see `attnflow.models`) that the model evaluates at its time.
"""

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..errors import InputError
from ..pairsums import (
    AbstractPairs,
    AbstractScore,
    Full,
    Reduce,
    as_reduction,
    pair_sums,
    pair_weights,
)
from ..spaces import AbstractSpace, log_weights
from ._energy import AbstractEnergy, InteractionEnergy
from ._values import apply_value


class Zonal(NamedTuple):
    r"""An exponential map among unit tokens, where it depends on $\langle x, y\rangle$ alone.

    Its weights are $e^{\beta(\langle x, y\rangle - 1)}$ times the masses, divided by their sum (`normalized`, as in SA)
    or else multiplied by $e^{\mathrm{log\_speed}}$, which is 0 for shifted USA and $\beta$ for USA.
    """

    beta: Float[Array, ""]
    normalized: bool
    log_speed: Float[Array, ""]


class AbstractAttention(eqx.Module):
    r"""A map `(x, y, weights) -> velocity`; queries `(n, d)`, keys `(m, d)`, weights `(m,)` or `None` for equal ones.

    A map is a `score`, a matrix `V` of values, and what it makes of a row of scores, `reduce` of `pair_sums`; the
    velocity follows. A map that weighs its keys by more than their mass has `log_weights` of its own, and one that
    knows a faster way to the same velocity its own `__call__`; it then says itself what it qualifies for.

    The velocity has the height of `V`: `(n, d)`, except in a head of a multi-head map, whose `V` may be `(k, d)`.
    A query without keys gets the velocity zero, with zero gradient.
    `clock` names the time its flow runs in: times of differently normalised maps do not compare.

    The rest of the library depends on these declared properties, never on the class of a map:

    - `exponential`: the weights are $e^{s}$ times the masses, normalised or not. Such maps have spectral sums,
      `long_time` and trajectory kernels, where their score allows.
    - `row_stochastic`: the weights of a row sum to one, so that in $\mathbb R^d$ the flow has the linear part $V$.
    - `isotropic`: it commutes with rotations, since it depends on inner products alone. `zonal` says how, where it is
      exponential, too: then `long_time`, metastable times and the reduced equations are about it.
    - `separable`: a key weighs its score, so that sums over keys are products with second moments.
    - `continuous`: the velocity depends continuously on the measure.
    - `closure`: whether Gaussian laws stay Gaussian, `"exact"`; whether `gaussian` is the best approximation by one,
      `"projected"`; or `"none"`. `gaussian(alpha, L)` is the velocity on such a law, as in `attention/_gaussian.py`.
    - `energy(space)`: what its flow climbs or descends.
    """

    clock: eqx.AbstractVar[str]
    V: eqx.AbstractVar[Any]

    @property
    @abc.abstractmethod
    def score(self) -> AbstractScore: ...

    @property
    @abc.abstractmethod
    def reduce(self) -> Reduce: ...

    def __call__(
        self,
        x: Float[Array, "n d"],
        y: Float[Array, "m d"],
        weights: Float[Array, " m"] | None = None,
        *,
        pairs: AbstractPairs = Full(),
        kernel: str = "auto",
        state: Any = None,
    ) -> Float[Array, "n p"]:
        log_w = self.log_weights(y, weights, pairs=pairs, kernel=kernel, state=state)
        values = self.values(y)
        return pair_sums(self.score, x, y, values, log_w=log_w, pairs=pairs, reduce=self.reduce, kernel=kernel)[0]

    def values(self, y: Float[Array, "m d"]) -> Float[Array, "m p"]:
        """`V y_j` for every key."""
        return apply_value(self.V, y)

    def log_weights(
        self,
        y: Float[Array, "m d"],
        weights: Float[Array, " m"] | None,
        *,
        pairs: AbstractPairs = Full(),
        kernel: str = "auto",
        state: Any = None,
    ) -> Float[Array, " m"] | None:
        """The log weights of the keys in the sums over pairs."""
        return log_weights(weights)

    def warm(
        self,
        x: Float[Array, "m d"],
        weights: Float[Array, " m"] | None,
        state: Any,
        *,
        pairs: AbstractPairs = Full(),
        kernel: str = "auto",
    ) -> Any:
        """The `state` for calls near the cloud `(x, weights)`, where the map iterates."""
        return None

    def matrix(
        self,
        x: Float[Array, "n d"],
        log_w: Float[Array, " n"] | None,
        rows: Int[Array, " r"] | None = None,
        *,
        pairs: AbstractPairs = Full(),
        log: bool = False,
    ) -> Float[Array, "r n"]:
        r"""The weights $A$ of tokens among themselves, $\Gamma_\mu(x_i) = \sum_j A_{ij}Vx_j$, or their logarithms.

        `log_w` are those of `log_weights`, which are the same for all `rows`.
        """
        return pair_weights(self.score, x, x, rows=rows, log_w=log_w, pairs=pairs, reduce=self.reduce, log=log)

    @property
    def exponential(self) -> bool:
        reduction, selection = as_reduction(self.reduce)
        return self.one_sum and reduction.exponential and selection is None

    @property
    def one_sum(self) -> bool:
        """Whether the velocity is one sum over pairs, of `score`, `values`, `reduce` and the masses of the keys."""
        return self._is_derived and type(self).log_weights is AbstractAttention.log_weights

    @property
    def row_stochastic(self) -> bool:
        reduction, _ = as_reduction(self.reduce)
        return self._is_derived and reduction.exponential and reduction.total is None

    @property
    def _is_derived(self) -> bool:
        """Whether the velocity is that of score, values and reduction; an overridden call may compute anything."""
        return all(getattr(type(self), name) is getattr(AbstractAttention, name) for name in ("__call__", "values"))

    @property
    def isotropic(self) -> bool:
        return self.V is None and self.score.isotropic

    @property
    def zonal(self) -> Zonal | None:
        """The map among unit tokens, if it is exponential, without a matrix, and depends on inner products alone."""
        if not self.exponential or not self.isotropic or self.score.zonal is None:
            return None
        beta, offset = self.score.zonal
        total = as_reduction(self.reduce)[0].total
        if total is None:
            return Zonal(beta, True, jnp.zeros_like(beta))
        log_factor = jnp.log(jnp.maximum(total.factor, jnp.finfo(beta.dtype).tiny))  # zero: nothing ever moves
        return Zonal(beta, False, jnp.asarray(offset - total.shift + log_factor, beta.dtype))

    @property
    def separable(self) -> bool:
        r"""Whether a key weighs its score alone, $\langle Ax, y\rangle$: the velocity is linear in second moments."""
        return False

    @property
    def continuous(self) -> bool:
        return as_reduction(self.reduce)[1] is None

    @property
    def closure(self) -> str:
        return "none"

    @property
    def exact(self) -> bool:
        """Whether Gaussian laws stay Gaussian under this map, as `gaussian` says."""
        return self.closure == "exact"

    def gaussian(self, alpha: Float[Array, " d"], L: Float[Array, "d r"]) -> Any:
        raise InputError(
            f"{type(self).__name__} attention has no Gaussian closure; take Softmax, L2, Sinkhorn, Linear, a MultiHead "
            "of these, or the projection of Sigmoid."
        )

    def bounded_growth(self, d: int) -> str | None:
        """Why a Gaussian law grows exponentially at most under this map, as the end of a sentence; `None`: unknown."""
        return None

    def energy(self, space: AbstractSpace) -> AbstractEnergy:
        """The energy that the flow climbs or descends on a space; a map without one is refused in a sentence."""
        if not self.exponential or not self.score.is_bilinear:
            raise InputError(f"{type(self).__name__} attention declares no energy.")
        return InteractionEnergy(self.score, self.V, as_reduction(self.reduce)[0].total, space.unit)


def heads_of(attention: AbstractAttention) -> tuple[AbstractAttention, ...]:
    """The heads of a multi-head map; of any other the map itself."""
    return getattr(attention, "heads", (attention,))
