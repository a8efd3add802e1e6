r"""Collapse in high dimension: how fast $n$ tokens become alike in a stack of random layers.

With $\sigma_V^2 = 1/d$ and $d \to \infty$ noise averages out, and equiangular tokens follow

$$ \dot q = (1 - q)\,\big[q + P_1(q) - q\,P_0(q)\big] $$

with the probabilities of `collisions`. At $\beta = 0$ both are $1/n$, $q(t) = 1 - (1 - 1/n + e^t/n)^{-1}$ from
orthogonal tokens, and $q = 0.9$ is reached at $\log(9n + 1)$. Low temperature slows collapse down.

Reference: docs/theory/homogenized.md, Collapse in high dimension.
"""

import functools
from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import BarycentricInterpolator
from scipy.special import expit

from ...checks import finite_array, number, whole
from ...errors import InputError
from ...spaces import Count, Number, Numbers
from ._checked import cosines, inverse_temperature
from .collisions import MOST, collisions

NEAREST = 0.1  # at beta = infinity nodes in sqrt(1 - q) stop there, and the value at 0 is known


def collapse_rate(q: Numbers, *, n: Count, beta: Number) -> np.ndarray:
    r"""$\dot q$ at inner products `q` in $[0, 1]$; `beta` may be infinite."""
    q = cosines("q", q, least=0)
    return np.asarray((1 - q) * _growth(q, *collisions(q, n=n, beta=beta)))


def collapse_flow(ts: Numbers, *, n: Count, beta: Number, q0: Number = 0.0) -> np.ndarray:
    r"""$q$ at the times `ts`, increasing, from $q_0 \in [0, 1]$ at the first of them.

    Time is $L\eta^2/H$ (times $d\sigma_V^2$): a stack of $L$ layers with the step $\eta$ and $H$ heads.
    """
    ts, q0 = finite_array("ts", ts), float(cosines("q0", number("q0", q0), least=0))
    if ts.ndim != 1 or not ts.size or (np.diff(ts) <= 0).any():
        raise InputError("ts must be a list of increasing times.")
    growth = _interpolated(n := whole("n", n, least=2, most=MOST), inverse_temperature(beta, infinite=True))
    if ts.size == 1 or q0 == 1:
        return np.full(ts.size, q0)
    # In y = log(q + 1/n) - log(1 - q) decay to one is a constant speed: steps become longer and longer.
    start = np.log((q0 + 1 / n) / (1 - q0))
    solved = solve_ivp(
        lambda t, y: _speed(*_cosine(y, n), growth, n), (ts[0], ts[-1]), [start], "DOP853", ts, rtol=1e-11, atol=1e-13
    )
    return np.clip(_cosine(solved.y[0], n)[0], q0, 1)


def collapse_time(level: Number = 0.9, *, n: Count, beta: Number, q0: Number = 0.0) -> float:
    r"""When inner products reach `level`, from $q_0$: $\int dq/\dot q$, by quadrature."""
    level, q0 = (float(cosines(name, number(name, v), least=0)) for name, v in (("level", level), ("q0", q0)))
    if not q0 <= level < 1:
        raise InputError(f"level = {level:g} is not reached from q0 = {q0:g}; take q0 <= level < 1.")
    growth = _interpolated(n := whole("n", n, least=2, most=MOST), inverse_temperature(beta, infinite=True))
    nodes, weights = np.polynomial.legendre.leggauss(96)
    # In y = log(q + 1/n) - log(1 - q) growth from zero and decay to one are both even.
    low, high = (np.log((q + 1 / n) / (1 - q)) for q in (q0, level))
    y = low + (high - low) / 2 * (nodes + 1)
    return float((high - low) / 2 * np.sum(weights / _speed(*_cosine(y, n), growth, n)))


def _cosine(y: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """$q$, and $1 - q$ without cancellation."""
    rest = (1 + 1 / n) * expit(-y)
    return 1 - rest, rest


def _speed(q: np.ndarray, rest: np.ndarray, growth: Callable[[np.ndarray], np.ndarray], n: int) -> np.ndarray:
    r"""$\dot y$ at $q$, where `rest` is $1 - q$."""
    return growth(rest) * (1 + 1 / n) / (q + 1 / n)


def _growth(q: np.ndarray, P0: np.ndarray, P1: np.ndarray) -> np.ndarray:
    r"""$\dot q/(1 - q)$."""
    return np.asarray(q + P1 - q * P0)


@functools.lru_cache(maxsize=256)
def _interpolated(n: int, beta: float) -> Callable[[np.ndarray], np.ndarray]:
    r"""$\dot q/(1 - q)$ as a function of $1 - q$.

    $P_0$ and $\log nP_1$ are interpolated in $\sqrt{1 - q}$, where both are analytic, also at the end.
    """
    least, degree = (NEAREST, 28) if np.isinf(beta) else (0.0, int(12 + min(2 * beta, 11 * np.sqrt(beta))))
    nodes = least + (1 - least) / 2 * (1 + np.cos(np.pi * np.arange(degree + 1) / degree))  # both ends are nodes
    P0, P1 = collisions(np.clip(1 - nodes**2, 0, 1), n=n, beta=beta)
    if np.isinf(beta):
        nodes, P0, P1 = np.append(nodes, 0.0), np.append(P0, 1.0), np.append(P1, 1.0)
    fit0, fit1 = BarycentricInterpolator(nodes, P0), BarycentricInterpolator(nodes, np.log(n * P1))

    def growth(rest: np.ndarray) -> np.ndarray:
        x = np.sqrt(np.clip(rest, 0, 1))
        return _growth(1 - rest, fit0(x), np.exp(fit1(x)) / n)

    return growth
