r"""The rank of a matrix of tokens or of attention: numerical and effective."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..checks import number
from ..spaces import Count, Numbers, is_concrete
from ._clouds import Tokens, along, clouds, masses, reached


def numerical_rank(matrix: Tokens, tol: Numbers | None = None, *, at: Count | None = None) -> Int[Array, "*T"]:
    r"""The number of singular values above `tol` times the largest; by default the round-off of the larger side.

    **Arguments:** matrices `(..., n, m)`, for example `attention_matrix(run)`; or a run, for the rank of its tokens.
    A matrix that is not finite has no rank: it is refused, and inside a transformation its rank is -1.
    """
    xs = reached(clouds(matrix, at)).xs
    if tol is None:
        tol = max(xs.shape[-2:]) * float(jnp.finfo(xs.dtype).eps)
    elif is_concrete(tol):
        tol = number("tol", tol, 0)
    return along(_rank, xs, jnp.asarray(tol, xs.dtype))


def effective_rank(matrix: Tokens, *, at: Count | None = None) -> Float[Array, "*T"]:
    r"""$\exp\big(-\sum_k p_k \log p_k\big)$ with $p_k = \sigma_k / \sum_l \sigma_l$, $\sigma$ the singular values.

    Between 1 (rank one) and the smaller side of the matrix (all singular values equal), and continuous; a zero matrix
    gets 0.

    **Arguments:** matrices `(..., n, m)`, for example `attention_matrix(run)`; or a run, for its tokens: then the rows
    $\sqrt{w_i}\,x_i$ are taken, not centred, so that tokens that coincide have rank one however they are weighted.

    ??? cite "The effective rank: a measure of effective dimensionality, Roy and Vetterli (EUSIPCO 2007)"
    """
    batch = clouds(matrix, at)
    return along(_effective, batch.xs, batch.w)


def participation_ratio(matrix: Tokens, *, at: Count | None = None) -> Float[Array, "*T"]:
    r"""$\big(\sum_k\sigma_k^2\big)^2 / \sum_k\sigma_k^4$, $\sigma$ the singular values: how many directions share the
    square norm.

    Between 1 (rank one) and the smaller side of the matrix; a zero matrix gets 0.

    **Arguments:** as for `effective_rank`; of a run, or a cloud, tokens are not centred.
    """
    batch = clouds(matrix, at)
    return along(_participation, batch.xs, batch.w)


def _participation(x: Float[Array, "n m"], w: Float[Array, " n"] | None) -> Float[Array, ""]:
    s = _singular_values(jnp.sqrt(masses(x, w))[:, None] * x)
    share = (s / jnp.where(s[0] == 0, 1, s[0])) ** 2  # the largest is one: no square overflows
    return jnp.where(s[0] == 0, 0.0, jnp.sum(share) ** 2 / jnp.sum(share**2))


def _singular_values(x: Float[Array, "n m"]) -> Float[Array, " k"]:
    return jnp.linalg.svd(x, compute_uv=False)


def _rank(x: Float[Array, "n m"], tol: Float[Array, ""]) -> Int[Array, ""]:
    s = _singular_values(x)
    return jnp.where(jnp.isfinite(s[0]), jnp.sum(s > tol * s[0]), -1)  # inside a transformation nothing is refused


def _effective(x: Float[Array, "n m"], w: Float[Array, " n"] | None) -> Float[Array, ""]:
    s = _singular_values(jnp.sqrt(masses(x, w))[:, None] * x)
    total = jnp.sum(s)
    p = s / jnp.where(total == 0, 1, total)
    entropy = -jnp.sum(jnp.where(p == 0, 0, p * jnp.log(jnp.where(p == 0, 1, p))))
    return jnp.where(total == 0, 0.0, jnp.exp(entropy))
