r"""Two tokens in random layers: the law of their inner product, by a parabolic equation and not by simulation.

$q = \langle x_1, x_2\rangle$ is a diffusion on $[-1, 1]$. Its generator is discretised on an even grid of
$y = \operatorname{artanh}q$ (see `_line`), second order, and its exponential is taken by Crank and Nicolson's scheme
after four half-steps of implicit Euler (Rannacher), which damp jumps and point masses. The ends $\pm1$ are at infinity,
so there is no boundary condition: the grid reaches as far as paths go, and what leaves it stays where it left.
Expectations go backward, the law goes forward by the transposed scheme.

Reference: docs/theory/homogenized.md, Two tokens.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import get_lapack_funcs

from ...checks import finite_array, number
from ...errors import InputError
from ...spaces import Count, Number, Numbers
from ._checked import cosines, dimension, duration, inverse_temperature, variance
from ._line import drift_and_spread

NODES = 3200  # intervals of the grid, or more: errors of about 1e-6; a test halves them
STEPS, PACE = 400, 12  # at least so many time steps, and so many per unit of the time on which two tokens meet
COARSEST = 0.25  # in artanh q
WITHIN = 101  # points of a cell that a mean is taken over
FARTHEST = 7.0  # standard deviations of the noise that the grid reaches beyond the drift: 1e-11 leaves it
SKEW = 0.05  # of a law that drift carries: what grid and steps may add to it
MOST = 10**8  # grid points times steps: some seconds


# Factors of a tridiagonal matrix, and solutions with them.
_factorised, _solved = get_lapack_funcs(("gttrf", "gttrs"), dtype=np.float64)


class TwoTokenLaw(NamedTuple):
    r"""The law of $q$: masses at the points `q`, an even grid in $y = \operatorname{artanh}q$.

    The grid reaches as far as paths go; its first and last point hold what went farther, about 1e-11.
    """

    y: np.ndarray
    q: np.ndarray
    mass: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.mass @ self.q)

    @property
    def sd(self) -> float:
        return float(np.sqrt(self.mass @ (self.q - self.mean) ** 2))

    def cdf(self, q: Numbers) -> np.ndarray:
        """The probability of a smaller or equal inner product; the mass of a grid point is spread over its cell."""
        q = cosines("q", q)
        h = self.y[2] - self.y[1]
        edges = np.append(self.y[1:-1] - h / 2, self.y[-2] + h / 2)
        with np.errstate(divide="ignore"):
            inside = np.interp(np.arctanh(q), edges, np.cumsum(self.mass[:-1]))
        return np.where(q >= 1, 1.0, inside)

    @property
    def density(self) -> np.ndarray:
        """With respect to q, at the inner points `q[1:-1]`."""
        h = self.y[2] - self.y[1]
        return self.mass[1:-1] * np.cosh(self.y[1:-1]) ** 2 / h


def two_token_law(
    q0: Number, T: Number, *, d: Count, beta: Number, sigma_V: Number | None = None, drift: Number = 0.0
) -> TwoTokenLaw:
    r"""The law of $q$ at the time `T` (in $L\eta^2/H$: layers, step, heads) from $q_0$ strictly between -1 and 1.

    - `sigma_V`: the standard deviation of an entry of V; `None` is $1/\sqrt d$.
    - `drift`: the $v$ of a mean $(\eta/H)vI$ of V (mixed regime), which adds $v(1 - q^2)$ to the drift of $q$.
    """
    q0 = float(_inside(number("q0", q0)))
    scheme = _Scheme(np.arctanh(q0), duration(T), d, beta, sigma_V, drift)
    start = np.zeros(len(scheme.y))
    start[np.argmin(np.abs(scheme.y - np.arctanh(q0)))] = 1
    mass = scheme.forward(start)
    return TwoTokenLaw(scheme.y, scheme.q, mass / mass.sum())  # rounding loses 1e-12, which is much where q is near 1


def two_token_expectation(
    phi: Callable[[np.ndarray], Any],
    q0: Numbers,
    T: Number,
    *,
    d: Count,
    beta: Number,
    sigma_V: Number | None = None,
    drift: Number = 0.0,
) -> np.ndarray:
    r"""$\mathbb E[\varphi(q_T)]$ from every $q_0$ in $[-1, 1]$; `phi` takes an array of numbers and may jump.

    Parameters as those of `two_token_law`.
    """
    q0 = cosines("q0", q0)
    with np.errstate(divide="ignore"):
        y0 = np.arctanh(q0)
    finite = y0[np.isfinite(y0)]
    scheme = _Scheme(finite if finite.size else np.zeros(1), duration(T), d, beta, sigma_V, drift)
    means, (minus, plus) = _cell_means(phi, scheme)
    inside = CubicSpline(scheme.y, scheme.backward(means))(np.where(np.isfinite(y0), y0, scheme.y[0]))
    return np.where(q0 <= -1, minus, np.where(q0 >= 1, plus, inside))


class _Scheme:
    """The grid, the generator on it, and its exponential.

    The first point of `y0` is a grid point; what leaves the grid is at an end, and stays there.
    """

    def __init__(self, y0: Any, T: Any, d: Count, beta: Number, sigma_V: Number | None, drift: Number):
        d, v = dimension(d), number("drift", drift)
        beta, scale = inverse_temperature(beta), variance(sigma_V, d)
        y0 = np.atleast_1d(y0)

        def coefficients(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            speed, spread = drift_and_spread(y, d=d, beta=beta)
            return scale * speed + v, scale * spread

        b, a = coefficients(np.linspace(-10, 10, 401))
        noise = FARTHEST * np.sqrt(T * a.max())
        low, high = y0.min() + T * min(b.min(), 0) - noise, y0.max() + T * max(b.max(), 0) + noise
        h = (high - low) / NODES
        if h > COARSEST:
            raise InputError(
                f"T = {T:g} is so late that tokens are equal or opposite; collapse_probability says how often."
            )
        # Carried far by the drift b, a law of the width sqrt(aT) is skewed by the grid, h^2 bT, and by the steps,
        # (bT)^3 / 2 steps^2: third cumulants, to be compared with the width.
        width, travel = np.sqrt(a * T), np.abs(b) * T
        h = min(h, (width * np.sqrt(SKEW * width / np.maximum(travel, width))).min())
        pace = PACE * T * (scale * d + abs(v))
        self.steps = int(np.ceil(max(STEPS, pace, np.sqrt((travel / width) ** 3 / (2 * SKEW)).max())))
        if self.steps * (high - low) / h > MOST:
            raise InputError(
                f"noise spreads two tokens {(travel / width).max():.0f} times less than drift carries them, and their "
                "law is nearly a point; for large d, collapse_flow with n=2 is the limit."
            )
        below, above = int(np.ceil((y0[0] - low) / h)), int(np.ceil((high - y0[0]) / h))
        self.y = y0[0] + h * np.arange(-below, above + 1)
        self.q = np.tanh(self.y)
        self.h, self.dt = h, T / self.steps
        b, a = coefficients(self.y)
        self.down, self.up = a / (2 * h * h) - b / (2 * h), a / (2 * h * h) + b / (2 * h)
        self.down[[0, -1]] = self.up[[0, -1]] = 0

    def _solver(self, dt: float) -> tuple[Any, ...]:
        *factors, info = _factorised(-dt * self.down[1:], 1 + dt * (self.down + self.up), -dt * self.up[:-1])
        if info:
            raise InputError("the two-token equation cannot be solved with these numbers; take a smaller T.")
        return tuple(factors)

    def backward(self, u: np.ndarray) -> np.ndarray:
        factors = self._solver(self.dt / 2)
        for _ in range(4):
            u = _solved(*factors, u)[0]
        for _ in range(self.steps - 2):
            moved = u.copy()
            moved[1:-1] += self.dt / 2 * (self.down * (np.roll(u, 1) - u) + self.up * (np.roll(u, -1) - u))[1:-1]
            u = _solved(*factors, moved)[0]
        return u

    def forward(self, p: np.ndarray) -> np.ndarray:
        factors = self._solver(self.dt / 2)
        for _ in range(self.steps - 2):
            p = _solved(*factors, p, trans="T")[0]
            flow = self.dt / 2 * p
            moved = p - (self.down + self.up) * flow
            moved[:-1] += (self.down * flow)[1:]
            moved[1:] += (self.up * flow)[:-1]
            p = moved
        for _ in range(4):
            p = _solved(*factors, p, trans="T")[0]
        return p


def _cell_means(phi: Callable[[np.ndarray], Any], scheme: _Scheme) -> tuple[np.ndarray, np.ndarray]:
    """Means over cells, which the order of the scheme needs at a jump; and the values at -1 and 1."""
    offsets = ((np.arange(WITHIN) + 0.5) / WITHIN - 0.5) * scheme.h
    try:
        raw = phi(np.tanh(scheme.y[:, None] + offsets[None])), phi(np.array([-1.0, 1.0]))
    except TypeError as error:
        raise InputError(f"phi must be a function of an array of numbers, written with NumPy ({error}).") from error
    # An indicator may say True and False.
    known = (value * 1.0 if isinstance(value, np.ndarray) and value.dtype.kind == "b" else value for value in raw)
    values, ends = (finite_array("phi(q)", value) for value in known)
    if values.shape != (len(scheme.y), WITHIN) or ends.shape != (2,):
        raise InputError("phi must give one number for every number of an array.")
    return values.mean(axis=1), ends


def _inside(q0: Any) -> float:
    if not -1 < q0 < 1:
        raise InputError(f"q0 = {q0:g} must lie strictly between -1 and 1; at the ends nothing moves.")
    return q0
