r"""The probability that two random heads look at the same token, to many digits.

For $n$ equiangular tokens with inner products $q$ the scores of one query are independent Gaussians of variance
$s^2 = \beta^2(1 - q)$, and those of two queries have the correlation $q$, token by token. With their softmax weights,

$$ P_0 = \mathbb E\sum_jA_j^2, \qquad P_1 = \mathbb E\sum_jA_jA'_j . $$

A softmax weight is the probability that a score wins once independent Gumbel variables are added to all. So $P_1$ is
the probability that $g_j + G_j$ and $g'_j + G'_j$ have the same winner, and with $F$ the joint distribution function of
the two,

$$ P_1 = n\iint \partial_a\partial_bF\; F^{n-1}\,da\,db, \qquad
   F(a, b) = \mathbb E_z\big[H(a - \sqrt q\,sz)\,H(b - \sqrt q\,sz)\big], $$

$H$ the distribution function of a Gumbel variable plus $N(0, s^2(1-q))$ and $z \sim N(0, 1)$. $P_0$ is the same with
correlation one, and is an integral over one variable. All integrands are analytic: trapezoidal sums converge
geometrically. At $\beta = \infty$ there are no Gumbel variables, and $F$ is bivariate normal.

Reference: docs/theory/homogenized.md, Collisions.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.special import ndtr

from ...checks import whole
from ._checked import cosines, inverse_temperature

REACH = 7.5  # standard deviations that Gaussian sums go: 1e-13 is beyond
LOW, HIGH = -4.0, 32.0  # where Gumbel variables live: beyond, 1e-14 and less
DIGITS = 28.0  # aliasing is e^-28 for one density; a power n - 1 of its distribution function is steeper
GUMBEL_STEP = np.pi**2 / DIGITS
GAUSSIAN_STEP = np.pi * np.sqrt(2 / DIGITS)
LOST = 1e-13  # what is cut off the integrals
TABLE = 0.05  # splines of degree five are then good to 1e-11
MOST = 10**6
LARGE = 3e7  # products; for fewer, threads of a linear-algebra library wait longer than they compute


class Collisions(NamedTuple):
    r"""$P_0$ (one query, two heads that choose independently) and $P_1$ (two queries), arrays of the shape of `q`."""

    P0: np.ndarray
    P1: np.ndarray


def collisions(q: Any, *, n: Any, beta: Any) -> Collisions:
    r"""$P_0$ and $P_1$ for $n$ equiangular tokens with inner products `q` in $[0, 1]$; `beta` may be infinite.

    Both are $1/n$ at $\beta = 0$. Relative errors are below 1e-9 for $n \le 1000$, and below 1e-6 up to $n = 10^6$.
    """
    q, n, beta = cosines("q", q, least=0), whole("n", n, least=2, most=MOST), inverse_temperature(beta, infinite=True)
    found = np.array([_both(value, n, beta) for value in q.ravel()]).reshape(-1, 2)
    return Collisions(found[:, 0].reshape(q.shape), found[:, 1].reshape(q.shape))


def _both(q: float, n: int, beta: float) -> tuple[float, float]:
    if np.isinf(beta):
        return 1.0, 1.0 if q == 1 else _two_queries(1.0, q, n, gumbel=False)
    s = beta * np.sqrt(1 - q)
    return (1 / n, 1 / n) if s == 0 else (_one_query(s, n), _two_queries(s, q, n, gumbel=True))


def _one_query(s: float, n: int) -> float:
    r"""$P_0 = n\int\mathbb E[e^{2(g-a)}e^{-e^{g-a}}](\mathbb E e^{-e^{g-a}})^{n-1}da$, by $1/Z^2 = \int ue^{-uZ}du$."""
    a = _even(*_window(s, n, gumbel=True), _step(s) / _steeper(n))
    g, weight = _gaussian_sum(s)
    tilt = np.minimum(s * g[None, :] - a[:, None], 50.0)  # e^-e^50 = 0
    never = np.exp(-np.exp(tilt))
    pairs, one = np.einsum("cag,g->ca", np.stack([np.exp(2 * tilt) * never, never]), weight)
    return float(n * (a[1] - a[0]) * np.sum(pairs * one ** (n - 1)))


def _two_queries(s: float, q: float, n: int, *, gumbel: bool) -> float:
    own, shared = s * np.sqrt(1 - q), s * np.sqrt(q)
    width = _step(own) if gumbel else own * GAUSSIAN_STEP
    a = _even(*_window(s, n, gumbel=gumbel), width / _steeper(n))
    z = _even(-REACH, REACH, min(GAUSSIAN_STEP, width / (2 * shared)) if shared else GAUSSIAN_STEP)
    weight = _normal(z)
    x = a[:, None] - shared * z[None, :]
    H, density = _noisy_normal(x, own) if gumbel else (ndtr(x / own), _phi(x / own) / own)
    F, f = _mean_products(H, weight), _mean_products(density, weight)
    return float(n * (a[1] - a[0]) ** 2 * np.sum(f * F ** (n - 1)))


def _mean_products(H: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The mean over columns of products of all pairs of rows."""
    if len(H) ** 2 * len(weight) > LARGE:
        return (H * weight) @ H.T
    return np.einsum("ak,bk->ab", H * weight, H)


def _window(s: float, n: int, *, gumbel: bool) -> tuple[float, float]:
    """Where the winner of n noisy scores is found, up to a negligible probability."""
    a = np.linspace(-REACH * s + LOW * gumbel, REACH * s + HIGH * gumbel, 257)
    if gumbel:
        g, weight = _gaussian_sum(s)
        above = np.einsum("ag,g->a", -np.expm1(-np.exp(np.minimum(s * g[None, :] - a[:, None], 50.0))), weight)
    else:
        above = ndtr(-a)
    with np.errstate(divide="ignore"):
        likely = ((n - 1) * np.log1p(-np.minimum(above, 1)) > np.log(LOST)) & (n * above > LOST)
    first, last = np.flatnonzero(likely)[[0, -1]]
    return float(a[max(first - 1, 0)]), float(a[min(last + 1, len(a) - 1)])


def _steeper(n: int) -> float:
    """How much finer a grid must be for the maximum of n variables than for one."""
    return 1.5 * np.sqrt(2 * np.log(n))


def _gaussian_sum(s: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of a standard Gaussian, for functions of a Gumbel variable plus s times it."""
    g = _even(-REACH, REACH, min(GAUSSIAN_STEP, GUMBEL_STEP / s))
    return g, _normal(g)


def _noisy_normal(x: np.ndarray, sd: float) -> tuple[np.ndarray, np.ndarray]:
    """Distribution function and density of a Gumbel variable plus a Gaussian one: by splines through a fine table."""
    at = _even(x.min(), x.max(), TABLE * max(1.0, sd))
    if sd > 1:  # a sum over the narrower of the two
        y = _even(LOW, HIGH, GUMBEL_STEP)
        weight = np.exp(-y - np.exp(-y))
        away = (at[:, None] - y[None, :]) / sd
        table = np.stack([ndtr(away), _phi(away) / sd], axis=-1)
    else:
        g, weight = _gaussian_sum(max(sd, 1e-9))
        rate = np.exp(np.minimum(sd * g[None, :] - at[:, None], 50.0))
        table = np.stack([np.exp(-rate), rate * np.exp(-rate)], axis=-1)
    values = make_interp_spline(at, np.einsum("akc,k->ac", table, weight / weight.sum()), k=5)(x)
    return values[..., 0], values[..., 1]


def _step(sd: float) -> float:
    r"""$2\pi/\omega$ with $e^{-\pi\omega/2 - sd^2\omega^2/2} = e^{-28}$: so small is the Fourier transform there."""
    return 2 * np.pi * (np.pi / 2 + np.sqrt(np.pi**2 / 4 + 2 * DIGITS * sd**2)) / (2 * DIGITS)


def _even(low: float, high: float, step: float) -> np.ndarray:
    return np.linspace(low, high, int(np.ceil((high - low) / step)) + 1)


def _phi(x: np.ndarray) -> np.ndarray:
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def _normal(z: np.ndarray) -> np.ndarray:
    weight = _phi(z)
    return weight / weight.sum()
