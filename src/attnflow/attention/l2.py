r"""L2 attention: softmax of minus a squared distance."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import flag
from ..pairsums import SquaredDistance
from ..pairsums.algebra import matmul
from ..parameters import Parameter, non_negative, parameter
from ..registry import Entry, Param
from ._attention import AbstractAttention
from ._gaussian import AffineField, affine_field, inverse


class L2(AbstractAttention):
    r"""$$ \Gamma_\mu(x) = \frac{\int e^{-g|Qx - Ky|^2}\, V y\, d\mu(y)}{\int e^{-g|Qx - Ky|^2}\, d\mu(y)}. $$

    With $Q = K = I/\sqrt{2\epsilon g}$ and $V = I$ it is the barycentre of Gaussian mean shift at bandwidth
    $\sqrt\epsilon$; on the sphere with $Q = K = I$ it is softmax attention at $\beta = 2g$.

    **Arguments:** `g >= 0`, its inverse temperature; `V`, `Q`, `K`, each `None` for the identity;
    `by_difference=True` never expands the square, slower and right to the last digit for close points (long times).

    ??? cite "A unified perspective on the dynamics of deep transformers, Castin et al. (arXiv:2501.18322)"
    """

    g: Any
    V: Any
    Q: Any
    K: Any
    by_difference: bool = eqx.field(static=True)

    def __init__(
        self,
        g: Parameter = 1.0,
        *,
        V: Parameter | None = None,
        Q: Parameter | None = None,
        K: Parameter | None = None,
        by_difference: bool = False,
    ):
        self.g = non_negative("g", g)
        self.V, self.Q, self.K = parameter("V", V, 2), parameter("Q", Q, 2), parameter("K", K, 2)
        self.by_difference = flag("by_difference", by_difference)

    @property
    def clock(self) -> str:
        return "SA"

    @property
    def score(self) -> SquaredDistance:
        return SquaredDistance(self.g, self.Q, self.K, by_difference=self.by_difference)

    @property
    def reduce(self) -> str:
        return "softmax"

    @property
    def closure(self) -> str:
        return "exact"

    def bounded_growth(self, d: int) -> str | None:
        injective = self.K is None or np.linalg.matrix_rank(np.asarray(self.K, float)) == d
        return "the rates of L2 attention with injective K are bounded" if injective else None

    def gaussian(self, alpha: Float[Array, " d"], L: Float[Array, "d r"]) -> AffineField:
        r"""$G = 2gVP\Sigma K^\top Q$ and $c = V(\alpha + 2gP\Sigma K^\top(Q - K)\alpha)$.

        Here $P = (I + 2g\Sigma K^\top K)^{-1}$: the kernel tilts the law and adds the precision $2gK^\top K$. With the
        factor, $P\Sigma = L(I + 2gL^\top K^\top KL)^{-1}L^\top$.
        """
        rows = jnp.concatenate([L.T, alpha[None]])
        tile = SquaredDistance(self.g, self.Q, self.K, by_difference=True).project(rows, rows)  # Qx and Ky, bare
        q, k, twice = tile.queries, tile.keys, 2 * self.g.astype(L.dtype)
        H = inverse(twice * matmul(k[:-1], k[:-1].T))
        shift = matmul(k[:-1], q[-1] - k[-1])
        tilted = matmul(matmul(q[:-1], k[:-1].T), matmul(H, L.T))
        return affine_field(self.V, twice * tilted, alpha + twice * matmul(L, matmul(H, shift)))


ENTRY = Entry(
    kind="attention",
    name="l2",
    factory=L2,
    summary="softmax of minus the squared distance of query and key",
    params={
        "g": Param(1.0, bounds=(0.0, 1e6), scale="log", symbol="g", help="inverse temperature of L2 attention"),
        "by_difference": Param(False, help="never expand the square: exact for close points, slower"),
    },
    symmetries=frozenset({"permutation", "rotation", "splitting"}),
    papers=("unified",),
)
