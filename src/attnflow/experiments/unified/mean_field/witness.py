r"""Independent solutions of the continuity equation, in NumPy and SciPy, without code of the solver.

- `by_fourier`: on the circle with softmax, $B = V = I$. With $Z = \int e^{\beta\cos(\theta - \phi)}d\mu(\phi)$ the
  velocity is $Z'/\beta Z$, so everything is a product or a derivative of periodic functions: a Fourier method, with
  round-off errors only while the law is smooth.
- `by_characteristics`: tokens, each with its mass, that obey $\dot x = \Gamma_\mu(x)$.
- `quantiles`: where a density on the circle has the levels $(i - \frac12)/n$.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ive

TURN = 2 * np.pi
NODES = 512


def by_fourier(density: Callable[[np.ndarray], np.ndarray], beta: float, t1: float) -> np.ndarray:
    r"""The coefficients $\frac1{2\pi}\int\rho\,e^{-ik\theta}d\theta$ at `t1`, for $k$ as `wave_numbers`."""
    k = wave_numbers()
    kernel = TURN * ive(np.abs(k), beta)

    def rate(t: float, rho: np.ndarray) -> np.ndarray:
        read = kernel * np.fft.fft(rho)
        z, slope = np.real(np.fft.ifft(read)), np.real(np.fft.ifft(1j * k * read))
        return -np.real(np.fft.ifft(1j * k * np.fft.fft(rho * slope / (beta * z))))

    start = density(TURN * np.arange(NODES) / NODES)
    solution = solve_ivp(rate, (0.0, t1), start, "DOP853", [t1], rtol=1e-11, atol=1e-13)
    return np.fft.fft(solution.y[:, -1]) / NODES


def wave_numbers() -> np.ndarray:
    return np.fft.fftfreq(NODES, 1 / NODES)


def cell_averages(coefficients: np.ndarray, cells: int) -> np.ndarray:
    """The averages of a Fourier series over equal cells that begin at the angle 0."""
    k, width = wave_numbers(), TURN / cells
    centres = width * (np.arange(cells) + 0.5)
    damped = coefficients * np.sinc(k * width / TURN)
    return np.real(np.exp(1j * centres[:, None] * k[None, :]) @ damped)


def by_characteristics(
    field: Callable[[np.ndarray, np.ndarray], np.ndarray], x0: np.ndarray, w: np.ndarray, t1: float
) -> np.ndarray:
    """Where tokens at `x0` with masses `w` are at `t1`; `field(x, w)` is their velocity."""
    solution = solve_ivp(lambda t, x: field(x, w), (0.0, t1), x0, "DOP853", [t1], rtol=1e-11, atol=1e-12)
    return solution.y[:, -1]


def softmax_on_the_circle(beta: float) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def field(angle: np.ndarray, w: np.ndarray) -> np.ndarray:
        apart = angle[None, :] - angle[:, None]
        weight = w[None, :] * np.exp(beta * (np.cos(apart) - 1))
        return np.sum(weight * np.sin(apart), axis=1) / np.sum(weight, axis=1)

    return field


def sigmoid_on_the_line(a: float) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def field(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        return (1 / (1 + np.exp(-a * x[:, None] * x[None, :]))) @ (w * x)

    return field


def quantiles(level: Callable[[np.ndarray], np.ndarray], n: int) -> np.ndarray:
    """Angles at which an increasing function `level`, from 0 at 0 to 1 at 2 pi, is (i - 1/2)/n; by bisection."""
    wanted = (np.arange(n) + 0.5) / n
    low, high = np.zeros(n), np.full(n, TURN)
    for _ in range(60):
        middle = (low + high) / 2
        below = level(middle) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def moments(x: np.ndarray, w: np.ndarray) -> Any:
    """Mean, variance and excess kurtosis."""
    mean = np.sum(w * x)
    variance = np.sum(w * (x - mean) ** 2)
    return mean, variance, np.sum(w * (x - mean) ** 4) / variance**2 - 3
