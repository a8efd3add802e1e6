r"""Sums on the sphere $S^2$ by spherical harmonics (Funk and Hecke).

$$ e^{\beta(\langle x, y\rangle - 1)} = \sum_{l=0}^{L} a_l \sum_{m=0}^{l} (2 - \delta_{m0})\,
   \tilde P_{lm}(\theta_x)\,\tilde P_{lm}(\theta_y) \cos m(\varphi_x - \varphi_y), \qquad
   a_l = e^{-\beta} i_l(\beta) = \tfrac12 \int_{-1}^1 e^{\beta(t-1)} P_l(t)\, dt, $$

with $\tilde P_{lm}$ normalised to $\tilde P_{00} = 1$. As a function of the angle, $\tilde P_{lm}$ is a sum of
$\cos k\theta$ (even $m$) or $\sin k\theta$ (odd $m$), $k \le L$. So tokens meet only trigonometric functions of their
two angles, in matrix products, $O(L^2)$ work for each; and the Legendre functions are needed on a grid of $L + 1$
angles alone, whatever the number of tokens. There the recurrence in $l$ is stable, and what underflows near the poles
is far below anything that counts. A pole is a token like any other: its longitude is arbitrary, and is called 0.

Reference: docs/theory/fast-sums.md.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._bessel import sphere_coefficients
from ._circle import powers


@functools.lru_cache(maxsize=8)
def _grid(L: int) -> dict[str, np.ndarray]:
    """Angles, what takes coefficients in k to values at the angles, and the recurrence of the Legendre functions."""
    angles = (np.arange(L + 1) + 0.5) * np.pi / (L + 1)
    k = np.arange(L + 1)
    scale = np.where(k == 0, 1, 2) / (L + 1)
    growth = np.append(1, np.sqrt((2 * k[1:] + 1) / (2 * k[1:])))
    with np.errstate(under="ignore"):
        sectoral = np.cumprod(growth[:, None] * np.where(k[:, None] == 0, 1, np.sin(angles)), axis=0)
    l, m = k[:, None], k[None, :]  # noqa: E741
    alpha = np.where(l > m, np.sqrt(np.maximum(4 * l**2 - 1, 0) / np.maximum(l**2 - m**2, 1)), 0)
    before = np.vstack([np.zeros(L + 1), alpha[:-1]])
    return {
        "cosine": np.cos(angles),
        "even": scale * np.cos(np.outer(angles, k)),
        "odd": scale * np.sin(np.outer(angles, k)),
        "sectoral": sectoral,
        "alpha": alpha,
        "ratio": np.divide(alpha, before, out=np.zeros_like(alpha), where=before > 0),
    }


class Harmonics:
    """Degrees 0 to `L` on the sphere, as moments of keys, convolution with the kernel, and values at queries."""

    def __init__(self, modes: int):
        self.L = modes

    def coefficients(self, beta: Float[Array, ""]) -> tuple[Float[Array, " l"], Float[Array, ""]]:
        """The series of the kernel, and its last term relative to their sum, which is 1."""
        a = sphere_coefficients(beta, self.L)
        return a, (2 * self.L + 1) * jnp.abs(a[-1])

    def _angles(self, x: Float[Array, "t 3"]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        r"""$\cos k\theta, \sin k\theta$ and $\cos m\varphi, \sin m\varphi$ of a tile, tokens along the last axis."""
        square = x[:, 0] ** 2 + x[:, 1] ** 2
        pole = square == 0
        rho = jnp.sqrt(jnp.where(pole, 1, square))
        longitude = (jnp.where(pole, 1, x[:, 0] / rho), jnp.where(pole, 0, x[:, 1] / rho))
        return powers((x[:, 2], jnp.where(pole, 0, rho)), self.L + 1), powers(longitude, self.L + 1)

    def moments(self, y: Float[Array, "t 3"], q: Float[Array, "t p"]) -> Float[Array, "m p2 k"]:
        r"""$\sum_j q_j\, (\cos m\varphi_j, \sin m\varphi_j)\, (\cos k\theta_j$ or $\sin k\theta_j)$ of a tile."""
        (even, odd), longitudes = self._angles(y)
        charged = jnp.stack(longitudes, axis=1)[:, None] * q.T[None, :, None]  # (m, p, 2, t)
        charged = charged.reshape(self.L + 1, -1, y.shape[0])

        def half(part: Array, latitudes: Array) -> Array:
            return (part.reshape(-1, y.shape[0]) @ latitudes.T).reshape(*part.shape[:2], self.L + 1)

        return self._interleaved(half(charged[0::2], even), half(charged[1::2], odd))

    def convolve(self, moments: Float[Array, "m p2 k"], a: Float[Array, " l"]) -> Float[Array, "m p2 k"]:
        """The same coefficients of the convolved charges: to the grid, to degrees, and back."""
        grid = {name: jnp.asarray(table) for name, table in _grid(self.L).items()}
        m = jnp.arange(self.L + 1)
        even = (m % 2 == 0)[:, None, None]

        def on_grid(h: Array) -> Array:
            return jnp.where(even, h @ grid["even"].T, h @ grid["odd"].T)

        here = on_grid(moments)  # (m, p2, angle)
        twice = jnp.where(m == 0, 1, 2).astype(a.dtype)

        def degree(carry, row):
            """The Legendre functions of the next degree, of all orders, and what the charges have of them."""
            (last, before, total) = carry
            l, alpha, ratio, sectoral, a_l = row  # noqa: E741
            legendre = alpha[:, None] * grid["cosine"][None, :] * last - ratio[:, None] * before
            legendre = jnp.where((m == l)[:, None], sectoral[None, :], legendre)
            moment = jnp.sum(here * legendre[:, None, :], axis=-1, keepdims=True)
            return (legendre, last, total + a_l * moment * legendre[:, None, :]), None

        zero = jnp.zeros((self.L + 1, self.L + 1), a.dtype)
        rows = (m, grid["alpha"], grid["ratio"], grid["sectoral"], a)
        (_, _, total), _ = jax.lax.scan(degree, (zero, zero, jnp.zeros_like(here)), rows)
        total = total * twice[:, None, None]
        return jnp.where(even, total @ grid["even"], total @ grid["odd"])

    def evaluate(self, x: Float[Array, "t 3"], series: Float[Array, "m p2 k"]) -> Float[Array, "t p"]:
        (even, odd), longitudes = self._angles(x)
        t = x.shape[0]

        def half(part: Array, latitudes: Array, longitude: Array) -> Array:
            values = (part.reshape(-1, self.L + 1) @ latitudes).reshape(part.shape[0], -1, 2, t)
            return jnp.sum(values * longitude[:, None], axis=(0, 2))

        both = jnp.stack(longitudes, axis=1)  # (m, 2, t)
        return (half(series[0::2], even, both[0::2]) + half(series[1::2], odd, both[1::2])).T

    def _interleaved(self, even: Array, odd: Array) -> Array:
        odd = jnp.pad(odd, ((0, even.shape[0] - odd.shape[0]), (0, 0), (0, 0)))
        return jnp.stack([even, odd], axis=1).reshape(-1, *even.shape[1:])[: self.L + 1]
