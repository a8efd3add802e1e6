r"""Sigmoid attention of a Gaussian law, and the Gaussian flow that is nearest to it.

By Stein's formula, for $y \sim N(\alpha, \Sigma)$,

$$ \Gamma(x) = V\big[s_0(x)\,\alpha + s_1(x)\,\Sigma Ax\big], \qquad s_0 = \mathbb E\,\sigma(u),\quad
   s_1 = \mathbb E\,\sigma'(u), \qquad u \sim N\big(\langle Ax, \alpha\rangle + b,\ x^\top A^\top\Sigma Ax\big) . $$

$s_0$ and $s_1$ depend on $x$, so this does not close. The projection keeps the rates of mean and covariance:
$c = \mathbb E\,\Gamma(X)$, $GL = \mathbb E[(\Gamma(X) - c)Z^\top]$, $X = \alpha + LZ$.

Quadrature. Trapezoid rules converge geometrically here: in $u = m + sz$ with steps of $\min(\frac14, \frac1{2s})$ in
$z$; in $Z$ with steps of ¼ up to two dimensions. Gauss–Hermite nodes are too far apart where the score is spread: they
serve in three dimensions, and Sobol points beyond. Derivation: docs/theory/gaussian.md.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import ndtri

from ..pairsums.algebra import matmul
from ..spaces import safe_norm
from ._gaussian import AffineField
from ._values import apply_value

REACH, STEP = 9.0, 0.25  # standard deviations, and the step in them
# For scores spread more than WIDE the step is 1/2 in u, and functions that vanish like exp(-|u|) are summed.
WIDE, SPAN, STEP_U = 2.0, 40.0, 0.5
PROBIT = 1.702  # Phi(u / 1.702) is within 0.0095 of the sigmoid; any width near it would do
HERMITE, SOBOL = 24, 12  # nodes per axis in three dimensions; log2 of the number of points beyond


def projected_field(
    score: Any, bias: Float[Array, ""], V: Any, alpha: Float[Array, " d"], L: Float[Array, "d r"]
) -> AffineField:
    """The mean and the factor of the law move so; `score` is the inner product, without the bias."""
    z, w = (jnp.asarray(a, L.dtype) for a in _nodes(L.shape[1]))
    X = alpha[None] + matmul(z, L.T)
    keys = jnp.concatenate([L.T, alpha[None]])
    tile = score.project(X, keys)
    scores = matmul(tile.queries, tile.keys.T)
    tilt = scores[:, :-1]  # L^T A x
    s0, s1 = sigmoid_moments(scores[:, -1] + bias.astype(L.dtype), safe_norm(tilt))
    velocity = apply_value(V, s0[:, None] * alpha[None] + s1[:, None] * matmul(tilt, L.T))
    c = matmul(w, velocity)
    return AffineField(matmul((w[:, None] * (velocity - c[None])).T, z), c)


def sigmoid_moments(m: Float[Array, " n"], s: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    r"""$\mathbb E\,\sigma(u)$ and $\mathbb E\,\sigma'(u)$ for $u \sim N(m, s^2)$, to round-off for every $m$ and $s$.

    For $s \le 2$ by nodes in $z = (u - m)/s$. For larger $s$ by nodes in $u$, of the same distance, against the density
    of $u$: of $\sigma'$, and of $\sigma - \Phi(\cdot/1.702)$, which vanish at infinity; $\mathbb E\,\Phi$ is known.
    """
    z, w = (jnp.asarray(a, m.dtype) for a in _trapezoid(REACH, STEP))
    near = jax.nn.sigmoid(m[:, None] + jnp.minimum(s, WIDE)[:, None] * z[None])
    u = jnp.arange(-SPAN, SPAN + STEP_U / 2, STEP_U, dtype=m.dtype)
    wide = jnp.maximum(s, WIDE)[:, None]
    density = jnp.exp(-(((u[None] - m[:, None]) / wide) ** 2) / 2) * (STEP_U / jnp.sqrt(2 * jnp.pi).astype(m.dtype))
    at_u = jax.nn.sigmoid(u)
    table = jnp.stack([at_u - jax.scipy.stats.norm.cdf(u / PROBIT), at_u * (1 - at_u)], axis=1)
    far = matmul(density / wide, table)
    probit = jax.scipy.stats.norm.cdf(m / jnp.sqrt(PROBIT**2 + wide[:, 0] ** 2))
    narrow = s <= WIDE
    s0 = jnp.where(narrow, matmul(near, w), probit + far[:, 0])
    return s0, jnp.where(narrow, matmul(near * (1 - near), w), far[:, 1])


@functools.cache
def _nodes(r: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes `(N, r)` and weights `(N,)` of the standard normal law."""
    if r > 3:
        from scipy.stats import qmc  # takes longer to import than all of attention

        points = ndtri(qmc.Sobol(r, rng=np.random.default_rng(0)).random_base2(SOBOL))
        points -= points.mean(axis=0)
        points = np.linalg.solve(np.linalg.cholesky(points.T @ points / len(points)), points.T).T
        return points, np.full(len(points), 1 / len(points))
    if r == 3:
        z, w = np.polynomial.hermite_e.hermegauss(HERMITE)
        w = w / w.sum()
    else:
        z, w = _trapezoid(REACH, STEP)
    grid = np.stack([a.ravel() for a in np.meshgrid(*[z] * r, indexing="ij")], axis=1)
    weights = functools.reduce(np.multiply.outer, [w] * r).ravel()
    kept = weights > 1e-18 * weights.max()  # corners of the square: nothing of a double is there
    return grid[kept], weights[kept] / weights[kept].sum()


@functools.cache
def _trapezoid(reach: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Equispaced nodes and their weights for the standard normal law, summing to one."""
    z = np.arange(-round(reach / step), round(reach / step) + 1) * step
    w = np.exp(-z * z / 2)
    return z, w / w.sum()
