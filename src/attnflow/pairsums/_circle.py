r"""Sums on the circle by Fourier series (Jacobi and Anger).

$$ e^{\beta(\cos u - 1)} = \sum_k c_k e^{iku}, \qquad c_k = e^{-\beta} I_{|k|}(\beta), $$

so that with $z = e^{i\theta}$ and real charges $q_j$ at the keys

$$ \sum_j q_j\, e^{\beta(\cos(\theta - \theta_j) - 1)}
   = \operatorname{Re} \sum_{k=0}^{K} (2 - \delta_{k0})\, c_k\, z^k\, \overline{m_k}, \qquad m_k = \sum_j q_j z_j^k . $$

Powers are products, $z^{Ba + b} = z^{Ba} z^b$, with about $\sqrt K$ factors of each kind, made by doubling. That turns
both halves into matrix products over a tile of tokens, $O(K)$ work for each, and an error that does not grow with $K$
beyond the rounding of the tokens themselves.

Reference: docs/theory/fast-sums.md.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._bessel import circle_coefficients


def powers(z: tuple[Array, Array], count: int) -> tuple[Float[Array, "count t"], Float[Array, "count t"]]:
    """Real and imaginary parts of 1, z, ..., z^(count - 1), by doubling; tokens along the last axis."""
    re, im = jnp.ones_like(z[0])[None], jnp.zeros_like(z[0])[None]
    while re.shape[0] < count:
        a, b = z[0][None], z[1][None]
        re, im = jnp.concatenate([re, re * a - im * b]), jnp.concatenate([im, re * b + im * a])
        z = (z[0] * z[0] - z[1] * z[1], 2 * z[0] * z[1])
    return re[:count], im[:count]


class Circle:
    """Modes 0 to `K` on the circle, as moments of keys, convolution with the kernel, and values at queries."""

    def __init__(self, modes: int):
        self.K = modes
        self.B = 1 << max(0, round(np.log2(modes + 1) / 2))  # small powers z^b, b < B
        self.A = -(-(modes + 1) // self.B)  # large powers z^(B a), a < A

    def coefficients(self, beta: Float[Array, ""]) -> tuple[Float[Array, " k"], Float[Array, ""]]:
        """The series of the kernel, and its last term relative to the first."""
        c = circle_coefficients(beta, self.K)
        return c, jnp.abs(c[-1] / c[0])

    def _powers(self, x: Float[Array, "t 2"]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        z = (x[:, 0], x[:, 1])
        small = powers(z, 2 * self.B)
        return tuple(p[: self.B] for p in small), powers(tuple(p[self.B] for p in small), self.A)  # pyright: ignore

    def moments(self, y: Float[Array, "t 2"], q: Float[Array, "t p"]) -> Float[Array, "p K 2"]:
        r"""$\sum_j q_j \cos k\theta_j$ and $\sum_j q_j \sin k\theta_j$ of a tile."""
        (br, bi), (ar, ai) = self._powers(y)
        charges = q.T
        large = charges[:, None, None, :] * jnp.stack([ar, ai])[None]  # (p, 2, A, t)
        small = jnp.concatenate([br, bi])
        products = large.reshape(-1, large.shape[-1]) @ small.T
        (rr, ri), (ir, ii) = products.reshape(q.shape[1], 2, self.A, 2, self.B).transpose(1, 3, 0, 2, 4)
        return jnp.stack([rr - ii, ri + ir], axis=-1).reshape(q.shape[1], self.A * self.B, 2)

    def convolve(self, moments: Float[Array, "p K 2"], c: Float[Array, " k"]) -> Float[Array, "P B"]:
        """The same for the convolved charges, as the matrix that `evaluate` multiplies by."""
        g = jnp.pad(jnp.concatenate([c[:1], 2 * c[1:]]), (0, self.A * self.B - self.K - 1))
        re, im = (g[None] * moments[..., part] for part in (0, 1))  # z^k (re - i im) has real part re cos + im sin
        re, im = (h.reshape(-1, self.A, self.B) for h in (re, im))
        rows = jnp.stack([jnp.concatenate([re, im], axis=-1), jnp.concatenate([-im, re], axis=-1)], axis=1)
        return rows.reshape(-1, 2 * self.B)

    def evaluate(self, x: Float[Array, "t 2"], series: Float[Array, "P B"]) -> Float[Array, "t p"]:
        (br, bi), (ar, ai) = self._powers(x)
        inner = (series @ jnp.concatenate([br, bi])).reshape(-1, 2, self.A, x.shape[0])
        return jnp.sum(inner * jnp.stack([ar, -ai])[None], axis=(1, 2)).T
