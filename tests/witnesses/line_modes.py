"""Modes of a Gaussian kernel density of Gaussian data on the line, counted on a grid: docs/theory/modes.md, Numbers on
the line.
"""

import numpy as np
from scipy.signal import fftconvolve


def belt_end(n, beta):
    """t_+ = sqrt(2 log n - log beta)."""
    return np.sqrt(2 * np.log(n) - np.log(beta))


def modes(x, beta, per_width=20):
    """Where the density of `x` with the kernel exp(-beta u^2 / 2) has its maxima, on a grid of per_width to its width.

    Each point is shared between its two grid neighbours, which spoils the density by 1/8 of a step squared only.
    """
    h = 1 / np.sqrt(beta) / per_width
    reach = 9 * per_width
    first = np.floor(x.min() / h) - reach
    place = x / h - first
    k = np.floor(place).astype(int)
    size = int(np.ceil(x.max() / h - first)) + reach + 2
    mass = np.bincount(k, 1 - (place - k), size) + np.bincount(k + 1, place - k, size)
    kernel = np.exp(-((np.arange(-reach, reach + 1) / per_width) ** 2) / 2)
    density = np.convolve(mass, kernel, "same") if size < 4000 else fftconvolve(mass, kernel, "same")
    floor = 1e-9 * density.max() if size >= 4000 else 0.0  # rounding of the transform is no mode
    top = (density[1:-1] > density[:-2]) & (density[1:-1] >= density[2:]) & (density[1:-1] > floor)
    return (first + 1 + np.flatnonzero(top)) * h


def counts(rng, n, beta, draws):
    """All modes, and those up to the end of the belt, `(2, draws)`."""
    end, actual = belt_end(n, beta), []
    for _ in range(draws):
        at = modes(rng.standard_normal(n), beta)
        actual.append((len(at), np.sum(np.abs(at) <= end)))
    return np.array(actual).T


TABLE = {
    (100, 10.0): 20_000,
    (1000, 10.0): 8000,
    (1000, 30.0): 3200,
    (1000, 100.0): 8000,
    (10_000, 100.0): 1000,
    (10_000, 300.0): 800,
    (10_000, 1000.0): 400,
    (100_000, 1000.0): 200,
}


def table():
    for (n, beta), draws in TABLE.items():
        actual = counts(np.random.default_rng(0), n, beta, draws)
        value, error = actual.mean(axis=1), actual.std(axis=1, ddof=1) / np.sqrt(draws)
        print(
            f"n = {n}, beta = {beta:g}:", *(f"{v:.4f}±{e:.4f}" for v, e in zip(value, error, strict=True)), flush=True
        )


if __name__ == "__main__":
    table()
