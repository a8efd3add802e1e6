r"""Sigmoid attention: each pair is weighed by itself, without a denominator."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..errors import InputError
from ..pairsums import AbstractScore, Inner, Pointwise, Projected
from ..parameters import Parameter, inverse_temperature, parameter, score_matrices
from ..registry import Entry, Param
from ._attention import AbstractAttention
from ._gaussian import AffineField
from ._sigmoid_projection import projected_field


class BiasedInner(AbstractScore):
    r"""$s_{ij} = \beta\, x_i^\top B\, y_j + b$ with one number $b$ for all pairs."""

    inner: Inner
    bias: Float[Array, ""]

    def __init__(self, inner: Inner, bias: ArrayLike):
        self.inner = inner
        self.bias = jnp.asarray(bias)

    def project(self, x: Float[Array, "n d"], y: Float[Array, "m e"]) -> Projected:
        queries, keys, *_ = self.inner.project(x, y)
        return Projected(queries, keys, jnp.full(x.shape[:1], self.bias.astype(x.dtype)))

    @property
    def T(self) -> "BiasedInner":
        return BiasedInner(self.inner.T, self.bias)

    @property
    def isotropic(self) -> bool:
        return self.inner.isotropic


class Sigmoid(AbstractAttention):
    r"""$$ \Gamma_\mu(x) = \int \sigma\big(\beta\langle Qx, Ky\rangle + b\big)\, V y\, d\mu(y),
           \qquad \sigma(s) = \frac1{1 + e^{-s}}. $$

    With $b = -\log n$ and a plain sum over the tokens ($w_j = 1$), as in practice, it tends to the unnormalised map as
    $n \to \infty$.

    **Arguments:** `beta >= 0` the inverse temperature; `bias`, the number $b$; `B` (or `Q` and `K`, $B = Q^\top K$) and
    `V`, each `None` for the identity.

    ??? cite "A unified perspective on the dynamics of deep transformers, Castin et al. (arXiv:2501.18322)"
    """

    beta: Any
    bias: Any
    B: Any
    V: Any
    Q: Any
    K: Any

    def __init__(
        self,
        beta: Parameter = 1.0,
        *,
        bias: Parameter = 0.0,
        V: Parameter | None = None,
        B: Parameter | None = None,
        Q: Parameter | None = None,
        K: Parameter | None = None,
    ):
        self.beta = inverse_temperature(beta)
        self.bias = parameter("bias", bias, ndim=0)
        if self.bias is None:
            raise InputError("bias is missing; give a number, for example bias=0.0.")
        self.B, self.Q, self.K = score_matrices(B, Q, K)
        self.V = parameter("V", V, ndim=2)

    @property
    def clock(self) -> str:
        return "sigmoid"

    @property
    def score(self) -> BiasedInner:
        return BiasedInner(Inner(self.beta, self.B, Q=self.Q, K=self.K), self.bias)

    @property
    def reduce(self) -> Pointwise:
        return Pointwise(jax.nn.sigmoid, jax.nn.log_sigmoid)

    @property
    def closure(self) -> str:
        return "projected"

    def bounded_growth(self, d: int) -> str:
        return "the rates of the projected sigmoid map are bounded by |V|"

    def gaussian(self, alpha: Float[Array, " d"], L: Float[Array, "d r"]) -> AffineField:
        r"""The Gaussian projection, $c = \mathbb E\,\Gamma(X)$ and $GL = \mathbb E[(\Gamma(X) - c)Z^\top]$,
        $X = \alpha + LZ$: right in mean and covariance at once, while the law itself leaves the Gaussians."""
        return projected_field(self.score.inner, self.bias, self.V, alpha, L)


ENTRY = Entry(
    kind="attention",
    name="sigmoid",
    factory=Sigmoid,
    summary="each pair weighed by a sigmoid of its score, without a denominator",
    params={
        "beta": Param(1.0, bounds=(0.0, 1e6), scale="log", symbol="β", help="inverse temperature"),
        "bias": Param(0.0, bounds=(-100.0, 100.0), symbol="b", help="number added to the score inside the sigmoid"),
    },
    symmetries=frozenset({"permutation", "rotation", "splitting"}),
    papers=("unified",),
)
