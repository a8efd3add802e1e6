r"""The limits of random layers: an SDE whose noise is common to all tokens, and an ODE with attention averaged out.

Reference: derived in docs/theory/random-layers.md, for the setting of arXiv:2604.01978.
"""

import functools
import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..attention import Softmax
from ..checks import whole
from ..pairsums import AbstractPairs, Full
from ..parameters import Parameter, inverse_temperature, non_negative, parameter, positive
from ..spaces import AbstractSpace, Count, Sphere, is_concrete
from ._model import AbstractModel, check_parts
from ._random import (
    AbstractRandomModel,
    contract,
    gaussian_matrices,
    orthonormal_frame,
    random_readings,
    score_shapes,
    value_deviation,
)
from .two_token_covariance import two_token_covariance


class HomogenizedSDE(AbstractRandomModel):
    r"""$$ dx_i = P_{x_i}\Big(\sum_j S_{ij}(X)\,dB_j + v\,\mathbb Em_i\,dt\Big) - \tfrac{d-1}2C_{ii}(X)\,x_i\,dt,
           \qquad SS^\top = C, \quad C_{ij}(X) = \sigma_V^2\,\mathbb E_B\langle m_i, m_j\rangle, $$

    in the sense of Itô, $B_j$ independent Brownian motions in $\mathbb R^d$. It is run by its own layers,
    $x_i \leftarrow (x_i + \sqrt h\,\xi_i)/|x_i + \sqrt h\,\xi_i|$ with $\xi_i = \sum_jS_{ij}g_j$ (plus the drift):
    `simulate(model, x0, t1=T, key=key, solver="layers")`. They have weak order one, and need no correction: the
    normalisation makes the drift. A Stratonovich scheme (Heun) goes to another equation, because $C$ depends on $X$.

    **Arguments:** `beta`, `sigma_V` (`None`: $1/\sqrt d$), `mean` $v$, `rank` and `pairs` as in `RandomLayers`; `step`
    is $h$.

    $C$ comes from quadrature for two tokens of equal weight that see each other, with `nodes` on a half axis: eight for
    each unit of $\beta$ give five digits, which is the default up to $\beta = 16$ (32 at least). Otherwise, and with
    `nodes=0`, it is the mean over `samples` matrices $B$, drawn afresh in every step. That mean is unbiased, so the
    covariance of $\xi$ over a step is exactly $C$; only its fourth moments are off, by a part $O(1/\text{samples})$,
    and this enters with $h^2$ as the error of the scheme does.
    """

    papers: ClassVar[tuple[str, ...]] = ("homogenized",)

    beta: Any
    step: Any
    sigma_V: Any
    mean: Any
    rank: int | None = eqx.field(static=True)
    samples: int = eqx.field(static=True)
    nodes: int = eqx.field(static=True)
    pairs: AbstractPairs

    def __init__(
        self,
        beta: Parameter,
        step: Parameter = 0.01,
        sigma_V: Parameter | None = None,
        mean: Parameter = 0.0,
        rank: Count | None = None,
        samples: Count = 16,
        nodes: Count | None = None,
        pairs: AbstractPairs | None = None,
    ):
        self.beta = inverse_temperature(beta)
        self.step = positive("step", step)
        self.sigma_V = None if sigma_V is None else non_negative("sigma_V", sigma_V)
        self.mean = parameter("mean", mean, ndim=0)
        self.rank = None if rank is None else whole("rank", rank)
        self.samples = whole("samples", samples)
        self.nodes = _resolving(self.beta) if nodes is None else whole("nodes", nodes, least=0)
        check_parts(pairs=pairs)
        self.pairs = Full() if pairs is None else pairs

    @property
    def dt(self) -> Float[Array, ""]:
        return self.step

    def force(
        self,
        t: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None,
        *,
        key: PRNGKeyArray | None = None,
        kernel: str = "auto",
    ) -> Float[Array, "n d"]:
        r"""$\xi/\sqrt h + v\,\mathbb Em$, with the noise of the step that begins at `t`."""
        scores, values = jax.random.split(self.layer_key(t, key))
        d = x.shape[1]
        if x.shape[0] == 2 and self.nodes and weights is None and self.rank is None and self.pairs.complete:
            S, read = self._two_tokens(x)
        else:
            S, read = self._sampled(scores, x, weights, kernel)
        xi = contract(S, jax.random.normal(values, (S.shape[1], d), x.dtype), kernel)
        sigma = value_deviation(self.sigma_V, d, x.dtype) / jnp.sqrt(self.step.astype(x.dtype))
        return sigma * xi + self.mean.astype(x.dtype) * read

    def _two_tokens(self, x: Float[Array, "2 d"]) -> tuple[Float[Array, "2 2"], Float[Array, "2 d"]]:
        """A root of C by its eigenvectors (1, 1) and (1, -1), and the mean that both tokens read."""
        q = jnp.clip(jnp.sum(x[0] * x[1]), -1, 1)
        alone, together = two_token_covariance(q, self.beta, self.nodes)
        plus, minus = (_root(c / 2) for c in (alone + together, alone - together))
        S = jnp.stack([jnp.stack([plus, minus]), jnp.stack([plus, -minus])])
        return S, jnp.broadcast_to(jnp.mean(x, axis=0), x.shape)

    def _sampled(
        self, key: PRNGKeyArray, x: Float[Array, "n d"], w: Any, kernel: str
    ) -> tuple[Float[Array, "n k"], Float[Array, "n d"]]:
        """A root of the sampled C, at most n wide, and the sampled mean of what tokens read."""
        scores = gaussian_matrices(key, self.samples, score_shapes(x.shape[1], self.rank), x.dtype)
        m = random_readings(scores, self.beta, x, w, pairs=self.pairs, kernel=kernel)
        root = jnp.moveaxis(m, 1, 0).reshape(x.shape[0], -1) / jnp.sqrt(jnp.asarray(self.samples, x.dtype))
        if root.shape[0] < root.shape[1]:
            root = contract(root, orthonormal_frame(root).T, kernel)
        return root, jnp.mean(m, axis=0)


class AveragedAttention(AbstractModel):
    r"""$$ \dot x_i = P_{x_i}\,v\,\mathbb E_g\sum_j\operatorname{softmax}_j\big(\beta\langle g, x_j\rangle\big)x_j,
           \qquad g\sim N(0, I_d). $$

    For unit tokens $x_i^\top B$ is a standard Gaussian vector for every $i$: all tokens are drawn by one vector.

    **Arguments:** `beta`; `mean` $v$; `samples`, how many vectors $g$ the mean is over, fixed quasi-random points and
    their opposites (the error is about 1e-3 with the default in a few dimensions); `pairs`, the visible pairs.
    """

    papers: ClassVar[tuple[str, ...]] = ("homogenized",)

    beta: Any
    mean: Any
    samples: int = eqx.field(static=True)
    pairs: AbstractPairs

    def __init__(
        self, beta: Parameter, mean: Parameter = 1.0, samples: Count = 1024, pairs: AbstractPairs | None = None
    ):
        self.beta = inverse_temperature(beta)
        self.mean = parameter("mean", mean, ndim=0)
        self.samples = whole("samples", samples, least=2)
        check_parts(pairs=pairs)
        self.pairs = Full() if pairs is None else pairs

    @property
    def space(self) -> AbstractSpace:
        return Sphere()

    @property
    def clock(self) -> str:
        return "limit time"

    def force(
        self,
        t: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None,
        *,
        key: PRNGKeyArray | None = None,
        kernel: str = "auto",
    ) -> Float[Array, "n d"]:
        g = jnp.asarray(gaussian_points(self.samples, x.shape[1]), x.dtype)
        attention = Softmax(beta=self.beta)
        if self.pairs.complete:
            read = jnp.broadcast_to(jnp.mean(attention(g, x, weights, kernel=kernel), axis=0), x.shape)
        else:
            one = lambda g: attention(jnp.broadcast_to(g, x.shape), x, weights, pairs=self.pairs, kernel=kernel)  # noqa: E731
            read = jnp.mean(jax.lax.map(one, g, batch_size=64), axis=0)
        return self.mean.astype(x.dtype) * read


@functools.lru_cache(8)
def gaussian_points(count: Any, d: Any) -> np.ndarray:
    """`count` quasi-random points of the standard Gaussian law in dimension `d`, each with its opposite."""
    from scipy.stats import norm
    from scipy.stats.qmc import Sobol

    power = max((count - 1).bit_length() - 1, 0)
    half = norm.ppf(Sobol(d, scramble=False).random_base2(power) + 0.5 ** (power + 1))  # in the middle of their cells
    return np.concatenate([half, -half])[:count]


def _resolving(beta: Any) -> int:
    """How many nodes give five digits; none where that takes too many, or where beta is not known yet."""
    if not is_concrete(beta) or float(beta) > 16:
        return 0
    return max(32, math.ceil(8 * float(beta)))


def _root(c: Float[Array, ""]) -> Float[Array, ""]:
    """The square root of a variance, zero with derivative zero where rounding leaves none."""
    return jnp.where(c > 0, jnp.sqrt(jnp.where(c > 0, c, 1)), 0)
