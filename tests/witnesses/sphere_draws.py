"""Uniform tokens on the sphere under softmax attention, draw by draw: pairs that have met, clusters, modes at first.

docs/theory/sphere.md, The probability map and Clusters on the circle; docs/theory/modes.md, The circle and Modes and
clusters.
"""

import numpy as np

DELTA = 1e-3
BATCH = 64  # draws at once: they stay in a cache


def uniform(rng, draws, n, d):
    """Independent tokens, `(draws, n, min(n, d))`: only inner products matter, so that n coordinates are enough."""
    x = rng.standard_normal((draws, n, d))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    if d <= n:
        return x
    return np.linalg.cholesky(x @ np.swapaxes(x, -1, -2))


def velocity(x, beta):
    scores = beta * (x @ np.swapaxes(x, -1, -2))
    weights = np.exp(scores - beta)
    force = (weights @ x) / weights.sum(axis=-1, keepdims=True)
    return force - np.sum(force * x, axis=-1, keepdims=True) * x


def normalised(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def step(x, beta, h, scheme):
    a = velocity(x, beta)
    if scheme == "euler":
        return normalised(x + h * a)
    b = velocity(x + h / 2 * a, beta)
    c = velocity(x + h / 2 * b, beta)
    return normalised(x + h / 6 * (a + 2 * b + 2 * c + velocity(x + h * c, beta)))


def follow(x, beta, times, read, scheme="rk4", h=0.1):
    """`read(x)` at each of the times, in steps of h."""
    actual, k = [], 0
    for t in times:
        while k < round(t / h):
            x, k = step(x, beta, h, scheme), k + 1
        actual.append(read(x))
    return np.array(actual)


def fraction_met(x):
    """Of all pairs of two tokens, how many have inner products of at least 1 - delta; for each draw."""
    n = x.shape[1]
    met = (x @ np.swapaxes(x, -1, -2) >= 1 - DELTA).sum(axis=(-1, -2)) - n
    return met / (n * (n - 1))


def clusters_on_circle(x):
    """Components of tokens linked by inner products of at least 1 - delta: gaps between neighbours that are wider."""
    angle = np.sort(np.arctan2(x[..., 1], x[..., 0]), axis=-1)
    gaps = np.diff(np.concatenate([angle, angle[:, :1] + 2 * np.pi], axis=-1), axis=-1)
    return np.maximum((np.cos(gaps) < 1 - DELTA).sum(axis=-1), 1)


def draws(read, n, d, beta, times, count, seed=0, scheme="rk4"):
    """`(times, draws)` of what `read` says."""
    rng, actual = np.random.default_rng(seed), []
    for first in range(0, count, BATCH):
        x = uniform(rng, min(BATCH, count - first), n, d)
        actual.append(follow(x, beta, times, read, scheme))
    return np.concatenate(actual, axis=1)


def mean(values):
    """Over the last axis, and its standard error."""
    return values.mean(axis=-1), values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])


def modes_on_circle(rng, n, beta, draws, cells=4096):
    """Local maxima of the sum of exp(beta cos(angle - token)) on a fine grid, for each draw."""
    grid, actual = np.linspace(0, 2 * np.pi, cells, endpoint=False), []
    kernel = np.fft.rfft(np.exp(beta * (np.cos(grid) - 1)))
    waves = np.arange(cells // 2 + 1)
    waves = waves[np.abs(kernel) > 1e-17 * np.abs(kernel[0])]
    for _ in range(draws):
        angle = rng.uniform(0, 2 * np.pi, n)
        spectrum = np.zeros(cells // 2 + 1, complex)
        spectrum[waves] = kernel[waves] * np.exp(-1j * np.outer(waves, angle)).sum(axis=1)
        density = np.fft.irfft(spectrum, cells)
        actual.append(np.sum((density > np.roll(density, 1)) & (density >= np.roll(density, -1))))
    return np.array(actual)


MAP = {  # d, beta: draws, times
    (2, 4.0): (2048, (5, 10, 18, 30)),
    (2, 9.0): (1536, (5, 10, 18, 30)),
    (8, 4.0): (512, (5, 10, 18, 30)),
    (8, 9.0): (512, (5, 10, 18, 30)),
    (32, 4.0): (512, (5, 7, 8, 10, 18)),
    (128, 4.0): (512, (5, 6, 7, 8, 10, 18)),
    (128, 6.0): (512, (14, 16)),
    (512, 4.0): (512, (5, 7, 8, 10, 18)),
    (512, 6.0): (512, (14, 16)),
}


def table():
    for (d, beta), (count, times) in MAP.items():
        value, error = mean(draws(fraction_met, 32, d, beta, times, count))
        print(
            f"met, d = {d}, beta = {beta:g}:",
            *(f"t={t}: {v:.4f}±{e:.4f}" for t, v, e in zip(times, value, error, strict=True)),
            flush=True,
        )
    for scheme in ("euler", "rk4"):
        value, error = mean(draws(fraction_met, 32, 2, 4.0, (5, 30), 2048, scheme=scheme))
        print(f"{scheme}, d = 2, beta = 4, t = 5, 30:", value.round(4), error.round(4), flush=True)
    for beta in (4.0, 9.0, 16.0, 30.0):
        count = 1024
        actual = draws(clusters_on_circle, 32, 2, beta, (18, 30, 100), count)
        value, error = mean(actual)
        print(f"clusters, beta = {beta:g}, t = 18, 30, 100:", value.round(4), error.round(4))
        print(
            "   counts of 1 to 9 clusters:",
            [np.bincount(row, minlength=10)[1:10].tolist() for row in actual],
            flush=True,
        )
    for n, beta in ((32, 4.0), (32, 9.0), (32, 16.0), (32, 30.0), (32, 100.0), (256, 100.0)):
        value, error = mean(modes_on_circle(np.random.default_rng(1), n, beta, 4000))
        print(f"modes, n = {n}, beta = {beta:g}: {value:.4f}±{error:.4f}", flush=True)


if __name__ == "__main__":
    table()
