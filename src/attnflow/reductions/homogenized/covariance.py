r"""The covariance of what tokens read from a random layer, $C_{ij} = \sigma_V^2\,\mathbb E_B\langle m_i, m_j\rangle$.

$m_i = \sum_j A_{ij}x_j$ with $A_{ij} = \mathrm{softmax}_j(\beta x_i^\top Bx_j)$ and a matrix $B$ of independent
standard Gaussians. For two tokens it is a quadrature; for more it is sampled. All numbers here are per $\sigma_V^2$.

Reference: docs/theory/homogenized.md, The limit.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ...checks import finite_array, number, whole
from ...errors import InputError
from ...models.two_token_covariance import NODES, TOGETHER
from ...models.two_token_covariance import two_token_covariance as _by_quadrature
from ...spaces import Count, Key, Number, Numbers, Sphere, check_tokens, check_weights, checked_key, log_weights
from ._checked import cosines, inverse_temperature

DRAWN = 256  # matrices B at once


class SampledCovariance(NamedTuple):
    r"""A mean over random matrices, `value`, and its standard errors `stderr`, entry by entry; per $\sigma_V^2$."""

    value: Float[Array, "n m"]
    stderr: Float[Array, "n m"]


def two_token_covariance(q: Numbers, *, beta: Number) -> tuple[np.ndarray, np.ndarray]:
    r"""$(C_{11}, C_{12})$ per $\sigma_V^2$ of two tokens of equal weight with inner products `q`, in float64.

    $$ C_{11} = q + (1 - q)\,\mathbb E[A^2 + (1-A)^2], \qquad C_{12} = q + (1 - q)\,\mathbb E[A(1-A') + (1-A)A'], $$

    where $A, A'$ are logistic functions of centred Gaussians of variance $2\beta^2(1-q)$ and correlation $-q$. They are
    $(1 + q)/2$ at $\beta = 0$.
    """
    q, beta = cosines("q", q), inverse_temperature(beta)
    nodes = NODES * max(1, int(np.ceil(beta / 8)))  # the rule resolves differences of scores up to that
    portions = np.zeros((max(1, -(-q.size // TOGETHER)), TOGETHER))  # one program serves single numbers and tables
    portions.flat[: q.size] = q.ravel()
    with jax.enable_x64(True):
        parts = [np.asarray(_compiled(jnp.asarray(some), jnp.asarray(beta, float), nodes)) for some in portions]
    both = np.concatenate(parts, axis=1)[:, : q.size]
    return both[0].reshape(q.shape), both[1].reshape(q.shape)


@eqx.filter_jit
def _compiled(q: Array, beta: Array, nodes: int) -> Array:
    return jnp.stack(_by_quadrature(q, beta, nodes))


def covariance(
    x: Numbers,
    beta: Number,
    *,
    key: Key,
    samples: Count = 4096,
    points: Numbers | None = None,
    weights: Numbers | None = None,
) -> SampledCovariance:
    r"""$C$ of tokens `x (n, d)` on the sphere by `samples` random matrices, with standard errors; per $\sigma_V^2$.

    - `points (m, d)`: what the tokens read, if that is not themselves; `weights` of the points, equal by default.
    - `samples`: at least two; they are drawn in portions of 256, and the last one is filled.
    """
    for name, values in (("x", x), ("points", points), ("weights", weights)):
        if values is not None:
            finite_array(name, values)
    x = check_tokens(x, Sphere())
    points = x if points is None else check_tokens(points, Sphere())
    if x.shape[1] != points.shape[1]:
        raise InputError(f"x has dimension {x.shape[1]} and points have {points.shape[1]}; they share one space.")
    chunks = -(-whole("samples", samples, least=2) // DRAWN)
    key = checked_key(key)
    w = check_weights(weights, len(points))
    log_w = jnp.zeros(len(points), x.dtype) if w is None else log_weights(w).astype(x.dtype)
    return SampledCovariance(
        *_sampled(x, points, log_w, jnp.asarray(number("beta", beta, least=0), x.dtype), key, chunks)
    )


def mean_field_covariance(
    x: Numbers,
    y: Numbers,
    beta: Number,
    *,
    points: Numbers,
    weights: Numbers | None = None,
    key: Key,
    samples: Count = 4096,
) -> SampledCovariance:
    r"""$\gamma_\mu(x, y) = \mathbb E_B\langle m^B_\mu(x), m^B_\mu(y)\rangle$ for a law $\mu$ of weighted `points`.

    $m^B_\mu(x)$ is the mean of $y \sim \mu$ tilted by $e^{\beta x^\top By}$. With it the conditional law of a token,
    given the noise that all tokens share, solves the stochastic equation of docs/theory/homogenized.md, Mean field.
    `x (n, d)` and `y (m, d)` give a matrix `(n, m)`, both read by the same random matrices.
    """
    x, y = _rows("x", x), _rows("y", y)
    if x.shape[1] != y.shape[1]:
        raise InputError(f"x has dimension {x.shape[1]} and y has {y.shape[1]}; they share one space.")
    joint = covariance(np.concatenate([x, y]), beta, key=key, samples=samples, points=points, weights=weights)
    return SampledCovariance(joint.value[: len(x), len(x) :], joint.stderr[: len(x), len(x) :])


def _rows(name: str, x: Numbers) -> np.ndarray:
    rows = np.atleast_2d(finite_array(name, x))
    if rows.ndim != 2 or not len(rows):
        raise InputError(f"{name} has shape {rows.shape}; give tokens as rows, (n, d).")
    return rows


@eqx.filter_jit
def _sampled(x: Array, points: Array, log_w: Array, beta: Array, key: PRNGKeyArray, chunks: int) -> tuple[Array, Array]:
    d = x.shape[1]

    def some(sums: tuple[Array, Array], key: PRNGKeyArray) -> tuple[tuple[Array, Array], None]:
        B = jax.random.normal(key, (DRAWN, d, d), x.dtype)
        m = jax.nn.softmax(beta * (x @ B @ points.T) + log_w[None, None], axis=-1) @ points
        products = m @ m.swapaxes(1, 2)
        return (sums[0] + products.sum(0), sums[1] + (products**2).sum(0)), None

    zero = jnp.zeros((len(x), len(x)), x.dtype)
    (total, squares), _ = jax.lax.scan(some, (zero, zero), jax.random.split(key, chunks))
    count = chunks * DRAWN
    mean = total / count
    spread = jnp.maximum(squares / count - mean**2, 0)
    return mean, jnp.sqrt(spread / (count - 1))
