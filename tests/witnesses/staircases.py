"""Merge times of clusters that wait for long: docs/theory/metastability.md, How the reference times were computed.

Tokens move along the length of their path, clusters closer than 1e-3/sqrt(beta) are replaced by their mean, and the
time is the integral of 1/|v| beside. The solver is SciPy's LSODA.
"""

import numpy as np
from scipy.integrate import quad, solve_ivp


def fraction(x):
    return x - np.floor(x)


def on_circle(angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def tokens(name):
    i = np.arange(1, 33)
    if name == "W32":
        return on_circle(2 * np.pi * fraction(i**2 * np.sqrt(2)))
    if name == "figure":
        return on_circle(np.array([0, 0.5, 2, 4, 7]) / 2 * np.log(2000) / np.sqrt(2000))
    if name == "animation":
        return on_circle(np.array([0.06219714, 0.21432297, 1.81912262, 2.91107101, -3.09524835]))
    if name == "S2":
        i = i[:24]
        z, longitude = 1 - 2 * fraction(i**2 * np.sqrt(2)), 2 * np.pi * fraction(i**2 * np.sqrt(3))
        return np.column_stack([np.sqrt(1 - z**2)[:, None] * on_circle(longitude), z])
    if name == "caps":
        x = [np.eye(3)[q - 1] + a * np.eye(3)[q % 3] for q in (1, 2, 3) for a in (0.09, 0.01 * q)]
        return np.array(x) / np.linalg.norm(x, axis=1)[:, None]
    raise KeyError(name)


def log_velocity(x, w, beta, kind):
    """Directions of all velocities together, of length one, and the logarithm of their length.

    Differences of tokens are taken before they are weighed, and the largest force is divided out: at beta = 4000 it is
    far below the smallest number.
    """
    apart = x[None, :, :] - x[:, None, :]
    half = (apart**2).sum(axis=-1) / 2
    scores = -beta * half
    logs = scores + np.log(w)[None, :]
    if kind == "SA":
        logs = logs - np.log(np.exp(logs).sum(axis=1))[:, None]
    np.fill_diagonal(logs, -np.inf)
    largest = logs.max()
    tangent = apart + half[..., None] * x[:, None, :]  # x_j - <x_i, x_j> x_i
    v = (np.exp(logs - largest)[..., None] * tangent).sum(axis=1)
    length = np.linalg.norm(v)
    return v / length, largest + np.log(length)


def merges(x, beta, kind="SA", weights=None):
    """`(log t, clusters left, energy after)` of all merges."""
    n, d = x.shape
    w = np.full(n, 1 / n) if weights is None else np.asarray(weights, float)
    near, log_t, actual = 1e-3 / np.sqrt(beta), -np.inf, []
    while len(x) > 1:
        rows, columns = np.triu_indices(len(x), 1)

        def closest(s, state, size=x.size, rows=rows, columns=columns):
            y = state[:size].reshape(-1, d)
            return np.linalg.norm(y[rows] - y[columns], axis=1).min() - near

        closest.terminal, closest.direction = True, -1
        unit = log_velocity(x, w, beta, kind)[1]  # times are multiples of the present one, which may have any size

        def path(s, state, w=w, unit=unit, size=x.size):
            direction, speed = log_velocity(state[:size].reshape(-1, d), w, beta, kind)
            return np.append(direction.ravel(), np.exp(unit - speed))

        if closest(0.0, x.ravel()) > 0:
            start = np.append(x.ravel(), 0.0)
            done = solve_ivp(path, (0, 100), start, "LSODA", events=closest, rtol=1e-11, atol=1e-13)
            assert done.status == 1, done.message
            x = done.y[:-1, -1].reshape(-1, d)
            x = x / np.linalg.norm(x, axis=1)[:, None]
            log_t = np.logaddexp(log_t, np.log(done.y[-1, -1]) - unit)
        gaps = np.linalg.norm(x[rows] - x[columns], axis=1)
        a, b = rows[gaps.argmin()], columns[gaps.argmin()]
        mean = w[a] * x[a] + w[b] * x[b]
        keep = np.arange(len(x)) != b
        x[a], w[a] = mean / np.linalg.norm(mean), w[a] + w[b]
        x, w = x[keep], w[keep]
        actual.append((log_t, len(x), energy(x, w, beta)))
    return actual


def energy(x, w, beta):
    half = ((x[:, None] - x[None]) ** 2).sum(axis=-1) / 2
    return float(w @ np.exp(-beta * half) @ w)


def two_cluster_time(beta, p=0.3, u0=2.0):
    """SA: du/dt = -sin u [p / (p + q e^k) + q / (q + p e^k)], k = beta (1 - cos u), until 1e-3/sqrt(beta)."""
    q = 1 - p

    def inverse_rate(log_u):
        u = np.exp(log_u)
        grown = np.exp(2 * beta * np.sin(u / 2) ** 2)
        return u / (np.sin(u) * (q / (q + p * grown) + p / (p + q * grown)))

    ends = np.log(1e-3 / np.sqrt(beta)), np.log(u0)
    return quad(inverse_rate, *ends, epsrel=1e-12, epsabs=0, limit=1000, points=np.linspace(*ends, 60)[1:-1])[0]


CASES = (
    ("W32", "SA", 4.0),
    ("W32", "SA", 9.0),
    ("W32", "SA", 16.0),
    ("W32", "SA", 30.0),
    ("W32", "shifted USA", 9.0),
    ("W32", "shifted USA", 30.0),
    ("figure", "SA", 500.0),
    ("figure", "SA", 2000.0),
    ("figure", "SA", 4000.0),
    ("figure", "shifted USA", 2000.0),
    ("animation", "SA", 4.0),
    ("S2", "SA", 9.0),
    ("S2", "SA", 30.0),
    ("caps", "SA", 30.0),
)


def table():
    for beta in (9.0, 30.0):
        print(f"two clusters, beta = {beta:g}: {two_cluster_time(beta):.9g}")
    for name, kind, beta in CASES:
        last = merges(tokens(name), beta, kind)[-7:]
        lines = (f"10^{t / np.log(10):.7f} = {np.exp(t):.8g} -> {left} ({e:.9f})" for t, left, e in last)
        print(f"{name}, {kind}, beta = {beta:g}:", *lines, sep="\n  ", flush=True)


if __name__ == "__main__":
    table()
