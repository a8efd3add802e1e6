"""Causal attention by NumPy: which ends a simple leading eigenvalue leaves, centers, and clusters at beta = 64.

docs/theory/causal-clustering.md.
"""

import numpy as np

TIMES = (5.0, 10.0, 25.0, 75.0, 150.0)


def two_ends(rng, draws, values=(1.0, 0.3, -0.5), n=32, h=0.25, t=150.0, batch=100):
    """For each draw, whether tokens are at both ends of the leading axis at the time t; beta = 1, Q = K = I."""
    V, past, actual = np.array(values), np.tril(np.ones((n, n))), []

    def velocity(x):
        p = past * np.exp(x @ np.swapaxes(x, -1, -2))
        force = (p @ x) / p.sum(axis=-1, keepdims=True) * V
        return force - (force * x).sum(axis=-1, keepdims=True) * x

    for first in range(0, draws, batch):
        x = rng.standard_normal((min(batch, draws - first), n, 3))
        x /= np.linalg.norm(x, axis=-1, keepdims=True)
        for _ in range(round(t / h)):
            a = velocity(x)
            b = velocity(x + h / 2 * a)
            c = velocity(x + h / 2 * b)
            x = x + h / 6 * (a + 2 * b + 2 * c + velocity(x + h * c))
            x /= np.linalg.norm(x, axis=-1, keepdims=True)
        actual.append((x[..., 0].min(axis=1) < 0) & (x[..., 0].max(axis=1) > 0))
    return np.concatenate(actual)


def clusters(rng, draws, n=200, beta=64.0, gap=0.05, batch=4):
    """Numbers of clusters on the circle at `TIMES`, `(draws, 5)`: gaps between neighbours above 0.05."""
    past, actual = np.tril(np.ones((n, n))), []

    def velocity(theta):
        c, s = np.cos(theta), np.sin(theta)
        cos = c[:, :, None] * c[:, None, :] + s[:, :, None] * s[:, None, :]
        sin = c[:, :, None] * s[:, None, :] - s[:, :, None] * c[:, None, :]
        p = past * np.exp(beta * (cos - 1))
        return (p * sin).sum(axis=-1) / p.sum(axis=-1)

    for first in range(0, draws, batch):
        theta, t, counted = rng.uniform(0, 2 * np.pi, (min(batch, draws - first), n)), 0.0, []
        for end in TIMES:
            while t < end - 1e-9:
                h = 0.1 if t < 5 else 0.25 if t < 25 else 1.0
                a = velocity(theta)
                b = velocity(theta + h / 2 * a)
                c = velocity(theta + h / 2 * b)
                theta, t = theta + h / 6 * (a + 2 * b + 2 * c + velocity(theta + h * c)), t + h
            turn = np.sort(theta % (2 * np.pi), axis=1)
            gaps = np.diff(np.concatenate([turn, turn[:, :1] + 2 * np.pi], axis=1), axis=1)
            counted.append(np.maximum((gaps > gap).sum(axis=1), 1))
        actual.append(np.stack(counted, axis=1))
    return np.concatenate(actual)


def strong_centers(rng, n, d, delta, draws):
    """How many tokens are farther than delta from all earlier ones, for each draw."""
    actual = []
    for _ in range(draws):
        x = rng.standard_normal((n, d))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        near = np.tril(x @ x.T > np.cos(delta), -1).any(axis=1)
        actual.append(n - near.sum())
    return np.array(actual)


def table():
    rng = np.random.default_rng(0)
    both = two_ends(rng, 4000)
    print(f"two clusters: {both.mean():.4f}±{np.sqrt(both.var() / len(both)):.4f}", flush=True)
    counted = clusters(rng, 96)
    print("clusters", counted.mean(axis=0), counted.std(axis=0, ddof=1) / np.sqrt(len(counted)))


if __name__ == "__main__":
    table()
