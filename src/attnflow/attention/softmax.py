r"""Softmax attention (SA), the row-normalised map of transformers."""

from typing import Any

from jaxtyping import Array, Float

from ..pairsums import AbstractPairs, Full, Inner, pair_sums
from ..pairsums._algebra import matmul
from ..registry import Entry, Param
from ..spaces import log_weights
from ._attention import AbstractAttention, apply_value, inverse_temperature, parameter, score_matrices
from ._energy import check_scale, direction, exponential_energy
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

    def __init__(self, beta: Any = 1.0, B: Any = None, V: Any = None, *, Q: Any = None, K: Any = None):
        self.beta = inverse_temperature(beta)
        self.B, self.Q, self.K = score_matrices(B, Q, K)
        self.V = parameter("V", V, ndim=2)

    @property
    def clock(self) -> str:
        return "SA"

    @property
    def score(self) -> Inner:
        return Inner(self.beta, self.B, Q=self.Q, K=self.K)

    def __call__(
        self,
        x: Float[Array, "n d"],
        y: Float[Array, "m d"],
        w: Float[Array, " m"] | None = None,
        *,
        pairs: AbstractPairs = Full(),
        kernel: str = "auto",
        state: Any = None,
    ) -> Float[Array, "n p"]:
        mean, _ = pair_sums(
            self.score, x, y, apply_value(self.V, y), log_w=log_weights(w), pairs=pairs, reduce="softmax", kernel=kernel
        )
        return mean

    def recipe(self, y, w, *, pairs=Full(), kernel="auto"):
        return log_weights(w), "softmax"

    @property
    def closure(self) -> str:
        return "exact"

    def gaussian(self, alpha: Float[Array, " d"], L: Float[Array, "d r"]) -> AffineField:
        r"""$GL = V\Sigma AL$ and $c = V(I + \Sigma A)\alpha$, $A = \beta B^\top$: the score tilts the law."""
        s = gaussian_scores(self.score, alpha, L)
        return affine_field(self.V, matmul(s.factor, L.T), alpha + matmul(L, s.mean))

    def energy_direction(self, d: int) -> int:
        """+1 if the flow climbs its energy, -1 if it descends, 0 if it is no gradient flow."""
        return direction(self, d)

    def energy_scale(self, scale: Any, x: Float[Array, "n d"], *, on_sphere: bool) -> str:
        """The energy scale asked for, or the default; refused in a sentence where it means nothing."""
        return check_scale(scale, self, x, on_sphere)

    def energy(
        self, x: Float[Array, "n d"], w: Float[Array, " n"] | None, *, scale: Any, kernel: str = "auto"
    ) -> Float[Array, ""]:
        """The interaction energy of one cloud on one of the scales."""
        return exponential_energy(self.score, self.beta, x, w, scale, kernel)

    def log_metric(self, x: Float[Array, "n d"], w: Float[Array, " n"] | None) -> Float[Array, " n"]:
        r"""$\log Z_i$: the metric in which the flow is a gradient flow weighs token $i$ by $w_i Z_i$."""
        return pair_sums(self.score, x, x, 1.0, log_w=log_weights(w), reduce="exp")[1]


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
