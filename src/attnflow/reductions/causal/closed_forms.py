r"""Correlations of a causal flow in the limit of many tokens.

Tokens on the circle start independent and uniform, and token $j$ moves by
$\dot\theta_j = \sum_{k<j} w_{jk}W'(\theta_j - \theta_k)$ with $W(u) = e^{\beta\cos u}$ and the ALiBi weights
$w_{jk} \propto e^{-\lambda(j-k)/N}$ that sum to one. With $s = (k + \frac12)/N$ the position of a source and $s'$ that
of a target, Fourier modes decouple, and each mode has one number, its rate $a$:

$$ N\,E\cos n(\theta_j(t) - \theta_k(0)) \to g(t, s'; s) = w(s', s)\,\psi_{at}(Y), \qquad
   w(s', s) = \frac{\lambda e^{\lambda s}}{e^{\lambda s'} - 1}, \quad
   Y = \log\frac{e^{\lambda s'} - 1}{e^{\lambda s} - 1}, $$

$$ \psi_c(y) = \sum_{k\ge0}\frac{c^{k+1}y^k}{k!\,(k+1)!} = \sqrt{c/y}\;I_1(2\sqrt{cy}) . $$

Derivations: docs/theory/lost-in-the-middle.md. Reference: arXiv:2605.09213.
"""

from typing import Any

import numpy as np
from scipy.special import exprel, i0e, i1e

from ...spaces import Numbers
from .._scalar import gauss_legendre
from ._checked import not_negative, one_shape, sources

# Below this, Bessel functions of order two are taken from their series: the recurrence would cancel.
SERIES = 1.0
# The integrand of the equal-time correlation is a Gaussian in √y times slow factors: this many widths are kept.
WIDTHS = 8.0


def psi(c: Numbers, y: Numbers) -> np.ndarray:
    r"""$\psi_c(y) = \sqrt{c/y}\,I_1(2\sqrt{cy})$ for $c, y \ge 0$, to 13 digits; $\psi_c(0) = c$. Broadcasts."""
    c, y = _two(c, y)
    scaled, exponent = scaled_psi(c, y)
    with np.errstate(over="ignore"):
        return np.asarray(scaled * np.exp(exponent))


def psi_derivative(c: Numbers, y: Numbers) -> np.ndarray:
    r"""$\psi_c'(y) = \frac cy I_2(2\sqrt{cy})$; $\psi_c'(0) = c^2/2$."""
    c, y = _two(c, y)
    scaled, exponent = scaled_psi_derivative(c, y)
    with np.errstate(over="ignore"):
        return np.asarray(scaled * np.exp(exponent))


def _two(c: Numbers, y: Numbers) -> tuple[np.ndarray, np.ndarray]:
    c, y = not_negative("c", c), not_negative("y", y)
    one_shape(c=c, y=y)
    return c, y


def scaled_psi(c: Any, y: Any) -> tuple[Any, Any]:
    r"""$e^{-x}\psi_c(y)$ and $x = 2\sqrt{cy}$, so that sums of several overflow together or not at all."""
    share, x = psi_shares(c, y)[::2]
    return c * share, x


def scaled_psi_derivative(c: Any, y: Any) -> tuple[Any, Any]:
    r"""$e^{-x}\psi_c'(y)$ and $x$."""
    _, share, x = psi_shares(c, y)
    return c * share, x


def psi_shares(c: Any, y: Any) -> tuple[Any, Any, Any]:
    r"""$e^{-x}\psi_c/c$, $e^{-x}\psi_c'/c$ and $x = 2\sqrt{cy}$, where $c$ and $c^2$ may be too large or too small.

    $\psi_c' = \frac cy I_2(x)$, with $I_2 = I_0 - 2I_1/x$ where $x$ is not small, and $I_2/y = 4cI_2/x^2$ by the series
    of $I_2$ where it is.
    """
    x = 2 * np.sqrt(c) * np.sqrt(y)
    tiny = x < 1e-150  # where x² would underflow
    first = np.where(tiny, 1.0, 2 * i1e(x) / np.where(tiny, 1.0, x))
    small = x <= SERIES
    z = np.where(small, x, 0.0) ** 2 / 4
    series = np.zeros_like(z)
    for k in range(12, 0, -1):  # 1/2 sum z^k 2/(k! (k+2)!), inside out
        series = z / (k * (k + 2)) * (1 + series)
    large = np.where(small, 1.0, x)
    bessel = (i0e(large) - 2 * i1e(large) / large) / np.where(small, 1.0, y)
    return (
        first,
        np.where(small, np.where(small, c, 0.0) * (1 + series) / 2 * np.exp(-np.where(small, x, 0)), bessel),
        x,
    )


def density(s: Any, at: Any, slope: Any) -> Any:
    r"""The weight $w(s', s) = \lambda e^{\lambda s}/(e^{\lambda s'} - 1)$ per unit of $s$; $1/s'$ without slope."""
    return np.exp(-slope * (at - s)) / (at * exprel(-slope * at))


def depth(s: Any, at: Any, slope: Any) -> Any:
    r"""$Y = \log\frac{e^{\lambda s'} - 1}{e^{\lambda s} - 1} \ge 0$; $\log(s'/s)$ without slope."""
    behind = slope * (at - s) + (np.log(at) - np.log(s)) + np.log(exprel(-slope * at) / exprel(-slope * s))
    return np.maximum(behind, 0.0)  # where s and s' differ by rounding


def two_time(t: Numbers, s: Numbers, *, a: Numbers, context_slope: Numbers, target: Numbers = 1.0) -> np.ndarray:
    r"""$g(t, s'; s)$: the correlation of the token at $s'$, at depth $t$, with the initial one at $s$.

    `a` is the rate of a mode (`rates`); `context_slope` is $\lambda \ge 0$, the ALiBi slope per token times the number
    of tokens; $0 < s \le s' = $ `target` $\le 1$. All arguments are broadcast together. The integral over $s$ from 0
    to $s'$ is $e^{at} - 1$ (`two_time_total`).
    """
    t, s, a, slope, at = _arguments(t, s, a, context_slope, target)
    scaled, exponent = scaled_psi(a * t, depth(s, at, slope))
    with np.errstate(over="ignore"):
        return np.asarray(density(s, at, slope) * scaled * np.exp(exponent))


def _arguments(t: Numbers, s: Numbers, a: Numbers, context_slope: Numbers, target: Numbers) -> tuple[np.ndarray, ...]:
    """`t, s, a, slope, target` as arrays whose shapes fit together."""
    t, a, slope = not_negative("t", t), not_negative("a", a), not_negative("context_slope", context_slope)
    s, target = sources(s, target)
    one_shape(t=t, s=s, a=a, context_slope=slope)
    return t, s, a, slope, target


def two_time_total(t: Numbers, *, a: Numbers) -> np.ndarray:
    r"""$\int_0^{s'} g(t, s'; s)\,ds = e^{at} - 1$, for every slope and every target."""
    t, a = not_negative("t", t), not_negative("a", a)
    one_shape(t=t, a=a)
    with np.errstate(over="ignore"):
        return np.asarray(np.expm1(t * a))


def equal_time(t: Numbers, s: Numbers, *, a: Numbers, context_slope: Numbers, target: Numbers = 1.0) -> np.ndarray:
    r"""$h(t; s', s) = g(t, s'; s) + \int_0^s g(t, s'; r)\,g(t, s; r)\,dr$: both tokens at depth $t$.

    In $y = Y(s, r)$ the measure $w(s, r)\,dr$ is $e^{-y}dy$, which takes the singularity at $r = 0$ to infinity, and
    with $y = v^2$ the integrand is about $e^{-(v - v_0)^2}$, $\sqrt{at} \le v_0 \le 2\sqrt{at}$: Gauss–Legendre, to 12
    digits.
    """
    t, s, a, slope, at = (v[..., None] for v in np.broadcast_arrays(*_arguments(t, s, a, context_slope, target)))
    c, behind = a * t, depth(s, at, slope)
    nodes, weights = gauss_legendre()
    # The peak is at 2√c for targets near by, and moves towards √c for those far away.
    low = np.maximum(0.0, np.sqrt(c) - WIDTHS)
    half = (2 * np.sqrt(c) + WIDTHS - low) / 2
    v = low + half * (nodes + 1)
    y = v**2
    own, first = scaled_psi(c, y)
    other, second = scaled_psi(c, y + behind)
    # w(s', r) at e^{λr} = 1 + (e^{λs} - 1)e^{-y}, without overflow at large λ and without 0/0 at λ = 0
    passed = s * exprel(-slope * s) * np.exp(-y)
    earlier = (np.exp(-slope * at) + slope * np.exp(-slope * (at - s)) * passed) / (at * exprel(-slope * at))
    with np.errstate(over="ignore"):
        integrand = own * other * earlier * 2 * v * np.exp(first + second - y)
        direct, exponent = scaled_psi(c, behind)
        first_part = (density(s, at, slope) * direct * np.exp(exponent))[..., 0]
        return np.asarray(first_part + np.sum(half * weights * integrand, axis=-1))
