r"""Linear attention: the score itself is the weight. Its sum over the keys is a matrix, so n tokens cost O(n)."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..pairsums import AbstractPairs, Full, Inner, Pointwise
from ..pairsums.algebra import matmul
from ..parameters import Parameter, inverse_temperature, parameter, score_matrices
from ..registry import Entry, Param
from ._attention import AbstractAttention
from ._gaussian import AffineField, affine_field, gaussian_scores


class Linear(AbstractAttention):
    r"""$$ \Gamma_\mu(x) = \int \beta\langle Qx, Ky\rangle\, V y\, d\mu(y)
           = \beta\, V\, \mathbb E_\mu[y y^\top]\, K^\top Q\, x. $$

    Where every query sees all keys the second form is computed, in time linear in the number of tokens; other pairs
    go through the sum over pairs (a positional bias is added to the score, and so to the weight).

    **Arguments:** `beta >= 0` the inverse temperature, here the speed; `B` (or `Q` and `K`, $B = Q^\top K$) and `V`,
    each `None` for the identity.

    ??? cite "A unified perspective on the dynamics of deep transformers, Castin et al. (arXiv:2501.18322)"
    """

    beta: Any
    B: Any
    V: Any
    Q: Any
    K: Any

    def __init__(
        self,
        beta: Parameter = 1.0,
        *,
        V: Parameter | None = None,
        B: Parameter | None = None,
        Q: Parameter | None = None,
        K: Parameter | None = None,
    ):
        self.beta = inverse_temperature(beta)
        self.B, self.Q, self.K = score_matrices(B, Q, K)
        self.V = parameter("V", V, ndim=2)

    @property
    def clock(self) -> str:
        return "linear"

    @property
    def score(self) -> Inner:
        return Inner(self.beta, self.B, Q=self.Q, K=self.K)

    @property
    def reduce(self) -> Pointwise:
        return Pointwise(jnp.positive)

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
        if weights is not None:  # keys without weight change nothing, even if they are NaN, as in every sum over pairs
            y = jnp.where(weights[:, None] == 0, 0, y)
        if pairs.complete and not pairs.normalized:
            values = self.values(y)
            queries, keys, *_ = self.score.project(x, y)
            weighted = values / y.shape[0] if weights is None else weights.astype(y.dtype)[:, None] * values
            return matmul(queries, matmul(keys.T, weighted))
        return super().__call__(x, y, weights, pairs=pairs, kernel=kernel)

    @property
    def separable(self) -> bool:
        return True

    @property
    def closure(self) -> str:
        return "exact"

    def gaussian(self, alpha: Float[Array, " d"], L: Float[Array, "d r"]) -> AffineField:
        r"""$G = VMA$ and $c = VMA\alpha$ with $M = \Sigma + \alpha\alpha^\top$, $A = \beta B^\top$."""
        s = gaussian_scores(self.score, alpha, L)
        rows = matmul(s.factor, L.T) + s.to_mean[:, None] * alpha[None]
        return affine_field(self.V, rows, matmul(L, s.mean) + s.own * alpha)


ENTRY = Entry(
    kind="attention",
    name="linear",
    factory=Linear,
    summary="the score itself as weight; exact in O(n)",
    params={"beta": Param(1.0, bounds=(0.0, 1e6), scale="log", symbol="β", help="inverse temperature")},
    symmetries=frozenset({"permutation", "rotation", "splitting"}),
    papers=("unified",),
)
