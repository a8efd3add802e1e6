r"""How many Rényi centers tokens have before they move, and how slowly a strong one starts.

Tokens come in order. One is a *center* if it is farther than $\delta$ from all earlier centers, and a *strong* center
if it is farther than $\delta$ from all earlier tokens. For independent uniform tokens on $S^{d-1}$, with $p$ the
measure of a cap of radius $\delta$, token $j$ is strong with probability $(1-p)^j$, so that

$$ \mathbb E\,\#\text{strong} = \frac{1 - (1-p)^n}{p} ; $$

centers on the circle are cars of length $\delta$ that park on a road of length $2\pi$.

Reference: arXiv:2411.04990 (the centers); docs/theory/causal-clustering.md, section Centers (the counts).
"""

import functools
import math
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import betainc, exp1

from .._linear_algebra import finite_array
from .._numbers import number, whole
from ..errors import InputError


def cap_measure(delta: Any, d: Any = 2) -> float:
    r"""The part of $S^{d-1}$ within the geodesic distance $\delta \in [0, \pi]$ of a point.

    $\delta/\pi$ on the circle, $(1-\cos\delta)/2$ on $S^2$; in general half an incomplete beta function of
    $\sin^2\delta$.
    """
    delta, d = _radius(delta), whole("d", d, least=2)
    half = 0.5 * float(betainc((d - 1) / 2, 0.5, math.sin(delta) ** 2))
    return half if delta <= math.pi / 2 else 1 - half


def expected_strong_centers(n: Any, delta: Any, d: Any = 2) -> float:
    r"""$(1-(1-p)^n)/p$: how many of `n` independent uniform tokens are strong centers, on average."""
    n, p = whole("n", n), cap_measure(delta, d)
    if p == 1:
        return 1.0
    return -math.expm1(n * math.log1p(-p)) / p if p > 0 else float(n)


def parking_count(delta: Any) -> float:
    r"""How many centers tokens on the circle have on average, when no more of them can become one.

    $C \cdot 2\pi/\delta$ with Rényi's parking constant
    $C = \int_0^\infty \exp\big(-2\int_0^t (1-e^{-s})\,ds/s\big)\,dt$. For a circle of at least a few $\delta$ the
    error is far below $10^{-4}$: it falls faster than exponentially in $2\pi/\delta$.
    """
    delta = _radius(delta)
    if delta == 0:
        raise InputError("delta = 0: any number of tokens are centers; give a positive distance.")
    return _parking_constant() * 2 * math.pi / delta


def strong_center_speed(j: Any, *, beta: Any, delta: Any) -> np.ndarray:
    r"""$j\,e^{-\beta(1-\cos\delta)}$: no strong center with `j` tokens before it starts faster.

    For causal softmax attention with $Q = K = V = I$ that sees itself: each of the others has at most the weight
    $e^{-\beta(1-\cos\delta)}$ relative to its own. It scales as $e^{-\beta\delta^2/2}$, so that
    $\delta = c\,\beta^{-1/2}$ makes a bound of $j\,e^{-c^2/2}$.
    """
    j, beta, delta = finite_array("j", j), number("beta", beta, least=0), _radius(delta)
    if j.size and j.min() < 0:
        raise InputError(f"j = {j.min():g} tokens before a token; give a number that is not negative.")
    return np.asarray(j * math.exp(-2 * beta * math.sin(delta / 2) ** 2))


@functools.cache
def _parking_constant() -> float:
    def density(t: float) -> float:
        """With ∫ (1 - e^-s) ds/s = E₁(t) + log t + γ."""
        return math.exp(-2 * (float(exp1(t)) + math.log(t) + float(np.euler_gamma))) if t > 0 else 1.0

    return sum(float(quad(density, *ends, epsabs=1e-12, epsrel=1e-12)[0]) for ends in ((0, 1), (1, math.inf)))


def _radius(delta: Any) -> float:
    delta = number("delta", delta, least=0)
    if delta > math.pi:
        raise InputError(f"delta = {delta:g} is no distance on a sphere; take a number from 0 to pi.")
    return delta
