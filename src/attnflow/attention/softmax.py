r"""Softmax attention (SA), the row-normalised map of transformers."""

from typing import Any

from jaxtyping import Array, Float

from ..pairsums import Inner
from ..pairsums.algebra import matmul
from ..parameters import Parameter, inverse_temperature, parameter, score_matrices
from ..registry import Entry, Param
from ._attention import AbstractAttention
from ._gaussian import AffineField, affine_field, gaussian_scores


class Softmax(AbstractAttention):
    r"""$$ \Gamma_\mu(x) = \frac{\int e^{\beta\langle Qx, Ky\rangle}\, V y\, d\mu(y)}
                              {\int e^{\beta\langle Qx, Ky\rangle}\, d\mu(y)}. $$

    **Arguments:** `beta >= 0` the inverse temperature; `B` (or `Q` and `K`, $B = Q^\top K$) and `V`, each `None` for
    the identity. Any of them may be a `Schedule` of time.

    ??? cite "A mathematical perspective on transformers, Geshkovski, Letrouit, Polyanskiy, Rigollet (arXiv:2312.10794)"
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
        return "SA"

    @property
    def score(self) -> Inner:
        return Inner(self.beta, self.B, Q=self.Q, K=self.K)

    @property
    def reduce(self) -> str:
        return "softmax"

    @property
    def closure(self) -> str:
        return "exact"

    def gaussian(self, alpha: Float[Array, " d"], L: Float[Array, "d r"]) -> AffineField:
        r"""$GL = V\Sigma AL$ and $c = V(I + \Sigma A)\alpha$, $A = \beta B^\top$: the score tilts the law."""
        s = gaussian_scores(self.score, alpha, L)
        return affine_field(self.V, matmul(s.factor, L.T), alpha + matmul(L, s.mean))


ENTRY = Entry(
    kind="attention",
    name="softmax",
    factory=Softmax,
    summary="row-normalised attention (SA)",
    params={"beta": Param(1.0, bounds=(0.0, 1e6), scale="log", symbol="β", help="inverse temperature")},
    symmetries=frozenset({"permutation", "rotation", "splitting"}),
    monotone="increasing",
    closed_form="attnflow.reductions.equiangular:equiangular_flow",
    papers=("perspective",),
)
