r"""Attention to a Gaussian law, where it is an affine function of the query.

For $\mu = N(\alpha, LL^\top)$ with a factor $L$ of any width, a map closes on Gaussians if

$$ \Gamma_\mu(x) = c + G(x - \alpha); \qquad\text{then}\quad \dot\alpha = c, \quad \dot L = GL . $$

Everything is written with scores of the columns $l_i$ of the factor: with $S_{ij} = s(l_i, l_j)$ and $a_j =
s(\alpha, l_j)$ softmax attention has $GL = VLS^\top$ and $c = V(\alpha + La)$. So no inverse of $L$ or of a covariance
is needed, and singular covariances are nothing special.

Reference: arXiv:2501.18322; derivations in docs/theory/gaussian.md.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..pairsums.algebra import matmul
from ._values import apply_value


class AffineField(NamedTuple):
    r"""The velocity $c + G(x - \alpha)$ of a Gaussian law: `GL` is $GL$, the velocity of the factor, and `c` that of
    the mean."""

    GL: Float[Array, "p r"]
    c: Float[Array, " p"]


class GaussianScores(NamedTuple):
    r"""Scores among the columns of the factor and the mean: `factor[i, j]` is $s(l_i, l_j)$, `mean[j]` is
    $s(\alpha, l_j)$, `to_mean[i]` is $s(l_i, \alpha)$, `own` is $s(\alpha, \alpha)$."""

    factor: Float[Array, "r r"]
    mean: Float[Array, " r"]
    to_mean: Float[Array, " r"]
    own: Float[Array, ""]


def gaussian_scores(score: Any, alpha: Float[Array, " d"], L: Float[Array, "d r"]) -> GaussianScores:
    """Inner products of projected queries and keys, without biases."""
    rows = jnp.concatenate([L.T, alpha[None]])
    tile = score.project(rows, rows)
    S = matmul(tile.queries, tile.keys.T)
    return GaussianScores(S[:-1, :-1], S[-1, :-1], S[:-1, -1], S[-1, -1])


def affine_field(V: Any, rows: Float[Array, "r d"], mean: Float[Array, " d"]) -> AffineField:
    """$V$ applied to the rows, which are the columns of $V^{-1}GL$, and to the mean."""
    out = apply_value(V, jnp.concatenate([rows, mean[None]]))
    return AffineField(out[:-1].T, out[-1])


def inverse(M: Float[Array, "r r"]) -> Float[Array, "r r"]:
    r"""$(I + M)^{-1}$ for a positive semidefinite $M$."""
    one = jnp.eye(M.shape[0], dtype=M.dtype)
    return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(one + (M + M.T) / 2), True), one)


@jax.custom_jvp
def transport_coupling(S: Float[Array, "r r"]) -> Float[Array, "r r"]:
    r"""The solution of $Z = S(I - Z^\top Z)$: the optimal entropic plan of $N(0, LL^\top)$ to itself has the
    covariance $LZL^\top$ between query and key.

    With $S = U\,\mathrm{diag}(b)\,W^\top$ it is $U\,\mathrm{diag}(z)\,W^\top$, $z = 2b/(1 + \sqrt{1 + 4b^2}) < 1$.
    Singular scores are nothing special.
    """
    U, b, Wt = jnp.linalg.svd(S)
    return matmul(U * (2 * b / (1 + jnp.sqrt(1 + 4 * b * b)))[None], Wt)


@transport_coupling.defjvp
def _transport_coupling_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    # Singular values that coincide have no derivative, but Z = S f(S^T S), f(s) = 2/(1 + sqrt(1 + 4s)), has one: that
    # of a function of a symmetric matrix, by the divided differences of f, which are free of cancellation here.
    (S,), (dS,) = primals, tangents
    _, b, Wt = jnp.linalg.svd(S)
    root = jnp.sqrt(1 + 4 * b * b)
    divided = -8 / ((1 + root)[:, None] * (1 + root)[None, :] * (root[:, None] + root[None, :]))
    cross = matmul(S.T, dS)
    inner = divided * matmul(Wt, matmul(cross + cross.T, Wt.T))
    f = matmul(Wt.T * (2 / (1 + root))[None], Wt)
    return transport_coupling(S), matmul(dS, f) + matmul(S, matmul(Wt.T, matmul(inner, Wt)))
