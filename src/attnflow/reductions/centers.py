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

from ..checks import finite_array, number, whole
from ..errors import InputError
from ..spaces import Count, Number, Numbers

LONG = 17  # roads, in cars, beyond which Rényi's constant is right to the last digit


def cap_measure(delta: Number, d: Count = 2) -> float:
    r"""The part of $S^{d-1}$ within the geodesic distance $\delta \in [0, \pi]$ of a point.

    $\delta/\pi$ on the circle, $(1-\cos\delta)/2$ on $S^2$; in general half an incomplete beta function of
    $\sin^2\delta$.
    """
    delta, d = _radius(delta), whole("d", d, least=2, most=10**15)
    if d == 2:  # the square of a small sine underflows where this does not
        return delta / math.pi
    half = 0.5 * float(betainc((d - 1) / 2, 0.5, math.sin(delta) ** 2))
    return half if delta <= math.pi / 2 else 1 - half


def expected_strong_centers(n: Count, delta: Number, d: Count = 2) -> float:
    r"""$(1-(1-p)^n)/p$: how many of `n` independent uniform tokens are strong centers, on average."""
    n, p = whole("n", n, most=10**300), cap_measure(delta, d)
    if p == 1:
        return 1.0
    return -math.expm1(n * math.log1p(-p)) / p if p > 0 else float(n)


def parking_count(delta: Number) -> float:
    r"""How many centers tokens on the circle have on average, when no more of them can become one.

    With $L = 2\pi/\delta$ it is $1 + M(L - 1)$: the first center leaves a road of length $L - 1$, on which cars of
    length 1 park, $M(x)$ of them on average, and Rényi's equation is

    $$ M(x) = 0 \ \text{ for } x \le 1, \qquad M(x) = 1 + \frac2{x-1}\int_0^{x-1} M(y)\,dy \ \text{ for } x > 1 . $$

    So it is 1 for $\delta = \pi$ and 2 for $2\pi/3 \le \delta < \pi$. For a small $\delta$ it is $CL$ with the parking
    constant $C = \int_0^\infty \exp\big(-2\int_0^t (1-e^{-s})\,ds/s\big)\,dt$, up to an error that falls faster than
    exponentially in $L$; the equation is solved up to $L = 17$, where that is below rounding.
    """
    delta = _radius(delta)
    if delta == 0:
        raise InputError("delta = 0: any number of tokens are centers; give a positive distance.")
    length = 2 * math.pi / delta
    if length == math.inf:
        raise InputError(f"delta = {delta:g} is so small that the number of centers overflows; give a larger distance.")
    return 1 + _parked(length - 1) if length < LONG else _parking_constant() * length


def _parked(x: float) -> float:
    """Rényi's mean number of cars on a road of length x."""
    return 0.0 if x <= 1 else float(_parked_between()[math.ceil(x) - 2](x))


@functools.cache
def _parked_between() -> list[np.polynomial.Chebyshev]:
    """That number from 1 to 2, from 2 to 3, ..., by polynomials: it is analytic between whole numbers."""
    pieces = [np.polynomial.Chebyshev([1.0], domain=[1, 2])]
    total = 0.0  # of all roads shorter than those of the last polynomial
    for k in range(2, LONG):
        primitive = pieces[-1].integ(lbnd=k - 1)

        def cars(x: np.ndarray, primitive: Any = primitive, total: float = total) -> np.ndarray:
            return 1 + 2 * (total + primitive(x - 1)) / (x - 1)

        pieces.append(np.polynomial.Chebyshev.interpolate(cars, 24, domain=[k, k + 1]))
        total += float(primitive(k))
    return pieces


def strong_center_speed(j: Numbers, *, beta: Number, delta: Number) -> np.ndarray:
    r"""$j\,e^{-\beta(1-\cos\delta)}$: no strong center with `j` tokens before it starts faster.

    For causal softmax attention with $Q = K = V = I$ with the token itself among the keys: each of the others has at
    most the weight $e^{-\beta(1-\cos\delta)}$ relative to its own. It scales as $e^{-\beta\delta^2/2}$, so that
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


def _radius(delta: Number) -> float:
    delta = number("delta", delta, least=0)
    if delta > math.pi:
        raise InputError(f"delta = {delta:g} is no distance on a sphere; take a number from 0 to pi.")
    return delta
