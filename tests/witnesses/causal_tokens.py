"""Causal tokens with ALiBi weights: closed forms by Bessel functions and quadrature, simulation by NumPy.

docs/theory/lost-in-the-middle.md. The derivative of the last token in the initial positions of all others, which the
response estimator needs, is written out and taken back through the steps of Runge and Kutta.
"""

from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.optimize import minimize_scalar
from scipy.special import iv

HEADS = (  # weight, beta, slope: the authors' double well
    (1.0, 0.2, 3.0),
    (-27.519314453632965, 0.2, 0.25),
    (-1.5515192155322617, 0.5, 0.25),
    (3.9262326774050965e-06, 3.0, 2.0),
)
EDGES = (0, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 127)
STEP = 0.1


# Closed forms.


def psi(c, y):
    """The series, term by term."""
    term = total = np.asarray(c + 0.0 * y, float)
    for k in range(1, 120):
        term = term * c * y / (k * (k + 1))
        total = total + term
    return total


def E(s, slope):
    return np.expm1(slope * s) if slope else s


def two_time(t, s, a, slope, end=1.0):
    """g_a(t, end; s)."""
    w = (slope * np.exp(slope * s) if slope else 1.0) / E(end, slope)
    return w * psi(a * t, np.log(E(end, slope) / E(s, slope)))


def equal_time(t, s, a, slope):
    """h_a(t; 1, s), with r = e^(-v^2) times s in the integral."""

    def integrand(v):
        r = s * np.exp(-(v**2))
        return two_time(t, r, a, slope) * two_time(t, r, a, slope, end=s) * 2 * v * r

    return two_time(t, s, a, slope) + quad(integrand, 0, 8, epsabs=1e-12, limit=200)[0]


def weights(n, slope):
    lag = np.arange(n)[:, None] - np.arange(n)[None, :]
    w = np.where(lag > 0, np.exp(-slope * lag / n), 0.0)
    return w / np.maximum(w.sum(axis=1, keepdims=True), 1e-300)


def matrix_form(n, a, slope, t=1.0):
    """N times the last row of exp(atw), without the last entry."""
    row, total = np.zeros(n), np.zeros(n)
    row[-1] = 1.0
    w = weights(n, slope)
    for k in range(1, 60):
        total += row
        row = a * t / k * (row @ w)
    return n * total[:-1]


def equal_time_matrix(n, a, slope, t=1.0):
    grown = expm(a * t * weights(n, slope))
    return n * (grown @ grown[-1])[:-1]


def rate(beta, d=2, softmax=False):
    """a_1 = (d - 1) kappa_1, by quadrature of Funk and Hecke's integral."""
    angle = np.linspace(0, np.pi, 4001)
    measure = np.sin(angle) ** (d - 2) * np.exp(beta * np.cos(angle))
    every = np.trapezoid(np.sin(angle) ** (d - 2), angle)
    kappa_0, kappa_1 = np.trapezoid(measure, angle) / every, np.trapezoid(measure * np.cos(angle), angle) / every
    return (d - 1) * kappa_1 / (beta * kappa_0 if softmax else 1.0)


def profile(s, t, beta, slope, classes=8, modes=20):
    n = np.arange(1, modes + 1)
    omega = np.exp(-((np.pi * n / classes) ** 2) / 2)
    return sum(o * two_time(t, s, k * k * iv(k, beta), slope) for k, o in zip(n, omega, strict=True))


def critical_time(beta, slope, classes=8, modes=20):
    n = np.arange(1, modes + 1)
    omega, a = np.exp(-((np.pi * n / classes) ** 2) / 2), n**2 * iv(n, beta)
    return -2 * np.expm1(-slope) * (omega @ a) / (omega @ a**2)


def minimum(function, low, high):
    result = minimize_scalar(function, bounds=(low, high), method="bounded", options={"xatol": 1e-11})
    return result.x, result.fun


def least(t, slope):
    """Where the profile at beta = 1 has its minimum, and the value there."""
    return minimum(lambda s: profile(s, t, 1.0, slope), 0.005, 0.99)


def double_well(s):
    return sum(weight * profile(s, 1.5, beta, slope) for weight, beta, slope in HEADS)


# Simulation on the circle.


def slopes(theta, w, beta, softmax):
    """Velocities `(R, N)`, and how each depends on each earlier token, `(R, N, N)`."""
    c, s = np.cos(theta), np.sin(theta)
    cos = c[:, :, None] * c[:, None, :] + s[:, :, None] * s[:, None, :]
    sin = c[:, :, None] * s[:, None, :] - s[:, :, None] * c[:, None, :]  # of theta_k - theta_j
    p = w * np.exp(beta * (cos - 1)) * (1.0 if softmax else beta * np.exp(beta))
    if softmax:
        p /= np.maximum(p.sum(axis=-1, keepdims=True), 1e-300)
    v = (p * sin).sum(axis=-1)
    return v, p * (cos - beta * sin * (sin - v[..., None] if softmax else sin))


def backwards(a, G):
    """The transposed derivative of the velocities: a token moves with others, and against itself."""
    return (a[:, None, :] @ G)[:, 0] - a * G.sum(axis=-1)


def response(theta, w, beta, t, modes, softmax=False):
    """N cos n(theta_last(t) - theta_k(0)) times the derivative, `(R, modes, N - 1)`."""
    first, stages, h = theta, [], STEP
    for _ in range(round(t / h)):
        k1, G1 = slopes(theta, w, beta, softmax)
        k2, G2 = slopes(theta + h / 2 * k1, w, beta, softmax)
        k3, G3 = slopes(theta + h / 2 * k2, w, beta, softmax)
        k4, G4 = slopes(theta + h * k3, w, beta, softmax)
        theta = theta + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        stages.append((G1, G2, G3, G4))
    a = np.zeros_like(theta)
    a[:, -1] = 1.0
    for G1, G2, G3, G4 in reversed(stages):
        m4 = backwards(h / 6 * a, G4)
        m3 = backwards(h / 3 * a + h * m4, G3)
        m2 = backwards(h / 3 * a + h / 2 * m3, G2)
        a = a + backwards(h / 6 * a + h / 2 * m2, G1) + m2 + m3 + m4
    n = np.arange(1, modes + 1)[:, None]
    apart = (theta[:, -1:] - first[:, :-1])[:, None, :]
    return theta.shape[1] * a[:, None, :-1] * np.cos(n * apart)


def simulated(rng, n, beta, replicas, modes=1, slope=1.0, t=1.0, softmax=False, batch=16):
    """The response of every replica, averaged by `reduce` later: `(replicas, modes, n - 1)`."""
    w, actual = weights(n, slope), []
    for _ in range(replicas // batch):
        actual.append(response(rng.uniform(0, 2 * np.pi, (batch, n)), w, beta, t, modes, softmax))
    return np.concatenate(actual)


def on_the_sphere(rng, n, beta, replicas, softmax, slope=1.0, t=1.0, batch=64):
    """N <x_last(t), y> for y = x_k(0), less that of x_last(0), which has mean zero: mean over sources 1 to n - 2."""
    w, actual = weights(n, slope), []

    def velocity(x):
        p = w * np.exp(beta * (x @ np.swapaxes(x, -1, -2)))
        p = p / np.maximum(p.sum(axis=-1, keepdims=True), 1e-300) if softmax else beta * p
        force = p @ x
        return force - (force * x).sum(axis=-1, keepdims=True) * x

    for _ in range(replicas // batch):
        first = rng.standard_normal((batch, n, 3))
        first /= np.linalg.norm(first, axis=-1, keepdims=True)
        x = first
        for _ in range(round(t / STEP)):
            a = velocity(x)
            b = velocity(x + STEP / 2 * a)
            c = velocity(x + STEP / 2 * b)
            x = x + STEP / 6 * (a + 2 * b + 2 * c + velocity(x + STEP * c))
            x /= np.linalg.norm(x, axis=-1, keepdims=True)
        moved = (x[:, -1] - first[:, -1])[:, None]
        actual.append(n * (moved * first[:, 1 : n - 1]).sum(axis=-1).mean(axis=1))
    return np.concatenate(actual)


def mean(values):
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def bins(values):
    """Means over the sources of each bin."""
    return np.stack([values[..., a:b].mean(axis=-1) for a, b in pairwise(EDGES)], axis=-1)


def table():
    a = iv(1, 1.0)
    sources = (0.1, 0.5, 0.9)
    print("two times", [round(two_time(1, s, a, 1.0), 4) for s in sources])
    print("in all", quad(lambda v: two_time(1, np.exp(-v * v), a, 1.0) * 2 * v * np.exp(-v * v), 0, 8)[0])
    print("equal times", [round(equal_time(1, s, a, 1.0), 4) for s in sources])
    for n in (500, 1000, 2000):
        at = (np.arange(n - 1) + 0.5) / n
        print(f"matrix forms, N = {n}", np.interp(sources, at, matrix_form(n, a, 1.0)).round(4),
              np.interp(sources, at, equal_time_matrix(n, a, 1.0)).round(4))  # fmt: skip
    print("critical times", [round(critical_time(b, 1.0), 6) for b in (0.5, 1, 2, 3)])
    print("minima", [least(t, 1.0) for t in (0.5, 1, 1.5, 2)])
    print("by slope", [round(least(1, x)[0], 4) for x in (0.5, 1, 2, 4, 8)])
    print("last", profile(1.0, 1, 1.0, 1.0))
    low, high = minimum(double_well, 0.05, 0.25), minimum(double_well, 0.6, 0.95)
    print("double well", low, minimum(lambda s: -double_well(s), 0.25, 0.6), high)
    for name, options in (
        ("d = 3", (1.0, 3)),
        ("d = 3, softmax", (1.0, 3, True)),
        ("d = 2, softmax", (2.0, 2, True)),
    ):
        r = rate(*options)
        print(f"{name}: rate {r:.4f}, matrix form {matrix_form(32, r, 1.0)[1:].mean():.4f}", flush=True)
    rng = np.random.default_rng(0)
    both = simulated(rng, 16, 1.0, 40_000, modes=2)
    print("N = 16, modes 1, 2:", *mean(both.mean(axis=-1)), "spread", np.sqrt(both[:, 0].var(axis=0).mean()),
          16 / 2**0.5 / np.sqrt(both[:, 0].var(axis=0).mean()), flush=True)  # fmt: skip
    for n, replicas in ((16, 100_000), (32, 60_000), (64, 30_000), (256, 6000)):
        value, error = mean(simulated(rng, n, 1.0, replicas).mean(axis=(1, 2)))
        print(f"bias, N = {n}: {value - matrix_form(n, a, 1.0).mean():.5f}±{error:.5f}", flush=True)
    r = rate(2.0, 2, True)
    for n, replicas in ((16, 60_000), (32, 40_000), (64, 20_000)):
        value, error = mean(simulated(rng, n, 2.0, replicas, softmax=True)[:, 0, 1:].mean(axis=-1))
        less = value - matrix_form(n, r, 1.0)[1:].mean()
        print(f"circle, softmax, N = {n}: {value:.4f}±{error:.4f}, less the matrix form {less:.4f}", flush=True)
    for softmax in (False, True):
        r = rate(1.0, 3, softmax)
        for n, replicas in ((32, 100_000), (64, 60_000)):
            value, error = mean(on_the_sphere(rng, n, 1.0, replicas, softmax))
            less = value - matrix_form(n, r, 1.0)[1:].mean()
            print(
                f"sphere, softmax = {softmax}, N = {n}: {value:.4f}±{error:.4f}, less the matrix form {less:.4f}",
                flush=True,
            )
    n = np.arange(1, 7)
    omega = np.exp(-((np.pi * n / 8) ** 2) / 2)
    actual = bins(np.einsum("rms,m->rs", simulated(rng, 128, 1.0, 12_000, modes=6), omega))
    value, error = mean(actual)
    at = (np.arange(127) + 0.5) / 128
    matrix = sum(o * matrix_form(128, k * k * iv(k, 1.0), 1.0) for k, o in zip(n, omega, strict=True))
    print("profile", value.round(4), error.round(4))
    print("closed form", bins(profile(at, 1.0, 1.0, 1.0, modes=6)).round(4))
    print("matrix form", bins(matrix).round(4))


if __name__ == "__main__":
    table()
