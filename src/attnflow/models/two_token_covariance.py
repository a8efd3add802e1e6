r"""The covariance of what two tokens read from a random layer, by quadrature.

For two unit tokens of equal weight with inner product $q$ and a Gaussian matrix $B$ of scores,

$$ c_{11} = \mathbb E_B|m_1|^2 = \tfrac{1+q}2 + \tfrac{1-q}2\,\mathbb E\tanh^2 u_1, \qquad
   c_{12} = \mathbb E_B\langle m_1, m_2\rangle = \tfrac{1+q}2 - \tfrac{1-q}2\,\mathbb E\tanh u_1\tanh u_2, $$

where $u_{1,2} = \beta\big(\tfrac{1-q}2 g \pm \tfrac{\sqrt{1-q^2}}2 g'\big)$ with independent standard Gaussians are
half the differences of scores, of variance $\beta^2(1-q)/2$ and correlation $-q$. The integrand is even in
$g$ and in $g'$, and

$$ \tanh(p+r)\tanh(p-r) = \frac{b - a}{a + b - ab}, \qquad
   a = \operatorname{sech}^2p, \quad b = \operatorname{sech}^2r, $$

so that the hyperbolic functions are needed on the axes alone.

Reference: derived in docs/theory/random-layers.md, Two tokens.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

REACH = 6.2  # Gaussian mass beyond is 6e-10
NODES = 112  # on a half axis; 1e-8 needs about 12 nodes for each unit of beta
TOGETHER = 64  # values of q computed at once: more take memory and no less time


def two_token_covariance(
    q: ArrayLike, beta: ArrayLike, nodes: int = NODES
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    r"""$(c_{11}, c_{12})$ at inner products `q` in $[-1, 1]$ (any shape, `beta` broadcast to it), per $\sigma_V^2$.

    The rule of midpoints with `nodes` points on a half axis: its error $e^{-\pi^2 \text{nodes}/(6.2\beta)}$ is below
    1e-8 for $\beta \le 8$ with the default. At $q = 1$ and at $\beta = 0$ it is exact, at $q = -1$ it has
    $c_{12} = -c_{11}$.
    """
    q, beta = jnp.broadcast_arrays(jnp.asarray(q, jnp.result_type(float, q)), jnp.asarray(beta, float))
    x = (np.arange(nodes) + 0.5) * (REACH / nodes)
    weight = np.exp(-x * x / 2)
    square, weight = jnp.asarray(x * x, q.dtype), jnp.asarray(weight / weight.sum(), q.dtype)

    def one(item: tuple[Array, Array]) -> tuple[Array, Array]:
        q, beta = item
        near, far, beta = (1 + q) / 2, (1 - q) / 2, beta.astype(q.dtype)
        z, y = ((beta * far) ** 2 * square)[:, None], (beta**2 * near * far * square)[None, :]
        p, r = _sech_squared(z), _sech_squared(y)
        below = p + r - p * r
        left = below > 0  # or both are too small for a number, and the hyperbolic tangents are signs
        product = jnp.where(left, (r - p) / jnp.where(left, below, 1), jnp.sign(z - y))
        together = jnp.sum(weight[:, None] * weight[None, :] * product)
        alone = jnp.sum(weight * (1 - _sech_squared(beta**2 * far * square)))
        return near + far * alone, near - far * together

    if q.size <= TOGETHER:
        c11, c12 = jax.vmap(one)((q.ravel(), beta.ravel()))
    else:
        c11, c12 = jax.lax.map(one, (q.ravel(), beta.ravel()), batch_size=TOGETHER)
    return c11.reshape(q.shape), c12.reshape(q.shape)


def _sech_squared(z: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""$\operatorname{sech}^2\sqrt z$, by its series near zero, where the root has no derivative."""
    small = z < 1e-4
    decay = jnp.exp(-2 * jnp.sqrt(jnp.where(small, 1.0, z)))
    return jnp.where(small, 1 - z * (1 - z * (2 / 3 - z * (17 / 45))), 4 * decay / (1 + decay) ** 2)
