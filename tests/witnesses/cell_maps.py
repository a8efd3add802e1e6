"""Maps of a box approximated cell by cell: docs/theory/diffeomorphism.md, Measured.

Shears are sums of steps, evaluated by np.interp, in any dimension; determinants are taken by hand or from differences.
As a script it prints the tables of that page.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

ETA = 1e-9


def swirl(x, amplitude=2.5):
    away = x[:, :2] - 0.5
    z = away[:, 0] + 1j * away[:, 1]
    z = z * np.exp(1j * amplitude * np.maximum(1 - 2 * abs(z), 0) ** 2)
    return np.column_stack([0.5 + z.real, 0.5 + z.imag, x[:, 2:]])


def bent(x):
    x1, x2 = x.T
    y1 = x1 + 0.12 * np.sin(2 * np.pi * x1) * np.cos(np.pi * x2) ** 2
    return swirl(np.column_stack([y1, x2 + 0.1 * np.sin(2 * np.pi * x2) * np.sin(np.pi * x1)]), 2.0)


def bent_in_space(x):
    x1, x2, x3 = np.pi * x.T
    y1 = x[:, 0] + 0.1 * np.sin(2 * x1) * np.cos(x2) * np.sin(x3)
    y2 = x[:, 1] + 0.1 * np.sin(2 * x2) * np.sin(x3)
    y3 = x[:, 2] + 0.1 * np.sin(2 * x3) * np.sin(x1)
    return swirl(np.column_stack([y1, y2, y3]), 2.0)


def determinants(phi, x, step=1e-6):
    columns = [(phi(x + step * e) - phi(x - step * e)) / (2 * step) for e in np.eye(x.shape[1])]
    return np.linalg.det(np.stack(columns, axis=-1))


def centres(n, d):
    return np.stack([(np.arange(n**d) // n**j % n + 0.5) / n for j in range(d)], axis=1)


def inside(n, d, q):
    """q^d points of every cell, (n^d, q^d, d)."""
    part = np.stack(np.meshgrid(*[(np.arange(q) + 0.5) / q - 0.5] * d), axis=-1).reshape(-1, d)
    return centres(n, d)[:, None] + part / n


def steps(reads, moves, levels, width, n, eta):
    """A shear: the knots and values of its profile, and the axes."""
    k = np.flatnonzero(np.diff(levels))
    edges = (k + 1) * width
    knots = np.stack([edges - eta / (2 * n), edges + eta / (2 * n)], axis=1).ravel()
    values = np.stack([levels[k], levels[k + 1]], axis=1).ravel() / n
    return reads, moves, knots, values, levels[0] / n


def unfold(n, d, eta):
    rows, shears = np.arange(n), []
    for j in range(1, d):
        shears += [steps(j, 0, rows * n**j, 1 / n, n, eta), steps(0, j, -rows, n**j / n, n, eta)]
    return shears


def permute(tau, n, d, eta):
    k = np.arange(len(tau))
    levels = ((0, d - 1, k), (d - 1, 0, tau - k), (0, d - 1, -np.argsort(tau)))
    return [steps(*one, 1 / n, n, eta) for one in levels]


def reverse(shears):
    return [(reads, moves, knots, -values, -first) for reads, moves, knots, values, first in shears[::-1]]


def moved(x, shears):
    x = x.copy()
    for reads, moves, knots, values, first in shears:
        x[:, moves] += np.interp(x[:, reads], knots, values) if len(knots) else first
    return x


def count(shears):
    return sum(len(knots) + (first != 0) for _, _, knots, _, first in shears)


def nearest(images, n, d):
    return linear_sum_assignment(((images[:, None] - centres(n, d)) ** 2).sum(axis=-1))[1]


def permutation(tau, n, d, eta=ETA):
    """The shears of a permutation of cells."""
    return unfold(n, d, eta) + permute(tau, n, d, eta) + reverse(unfold(n, d, eta))


def kept(psi, n, d):
    """Where cells go under a map that keeps volumes."""
    x = inside(n, d, 6 if d == 2 else 4)
    return nearest(psi(x.reshape(-1, d)).reshape(x.shape).mean(axis=1), n, d)


class Polar:
    """Unfold, stretch, permute, fold."""

    def __init__(self, phi, n, d):
        x = inside(n, d, 6 if d == 2 else 4)
        J = determinants(phi, x.reshape(-1, d)).reshape(n**d, -1).mean(axis=1)
        rows = (J * n**d / J.sum()).reshape(-1, n)
        whole = self.rounded(rows.sum(axis=1), n**d)
        self.slopes = (rows * (whole / rows.sum(axis=1))[:, None]).ravel()
        self.before = np.arange(n**d + 1) / n
        self.after = np.concatenate([[0], np.cumsum(self.slopes)]) / n
        self.first = unfold(n, d, ETA)
        square = inside(n, d, 4 if d == 2 else 3)[:1] + np.arange(n**d)[:, None, None] / n * np.eye(d)[0]
        strip = square.reshape(-1, d)
        strip[:, 0] = np.interp(strip[:, 0], self.after, self.before)
        images = phi(moved(strip, reverse(self.first))).reshape(n**d, -1, d).mean(axis=1)
        self.tau = nearest(images, n, d)
        self.then = permute(self.tau, n, d, ETA) + reverse(self.first)
        self.pieces = count(self.first + self.then) + n**d + 2

    @staticmethod
    def rounded(shares, total):
        whole = np.floor(shares)
        assert whole.min() >= 1
        whole[np.argsort(whole - shares, kind="stable")[: int(total - whole.sum())]] += 1
        return whole

    def __call__(self, x):
        x = moved(x, self.first)
        x[:, 0] = np.interp(x[:, 0], self.before, self.after)
        return moved(x, self.then)

    def expansion_at_image(self, y):
        """The determinant of the map where y comes from."""
        x = moved(y, reverse(self.then))
        cell = np.searchsorted(self.after, x[:, 0]) - 1
        return self.slopes[np.clip(cell, 0, len(self.slopes) - 1)]


def errors(phi, n, d, points=100_000, seed=1):
    """RMS, TV, KL and pieces of the construction."""
    flow, x = Polar(phi, n, d), np.random.default_rng(seed).random((points, d))
    y = phi(x)
    q = determinants(phi, x) / flow.expansion_at_image(y)
    rms = np.sqrt(((flow(x) - y) ** 2).sum(axis=1).mean())
    return rms, abs(q - 1).mean() / 2, (q - 1 - np.log(q)).mean(), flow.pieces


def swirl_error(n, d=2, points=100_000, seed=1):
    """RMS and pieces of a permutation for the swirl."""
    x = np.random.default_rng(seed).random((points, d))
    shears = permutation(kept(swirl, n, d), n, d)
    return np.sqrt(((moved(x, shears) - swirl(x)) ** 2).sum(axis=1).mean()), count(shears)


if __name__ == "__main__":
    for n in (4, 8, 16, 32):
        print("swirl", n, *swirl_error(n))
    for n in (4, 8, 16, 32):
        print("bent", n, *errors(bent, n, 2))
    for n in (4, 8, 12):
        print("bent in space", n, *errors(bent_in_space, n, 3))
