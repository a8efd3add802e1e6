"""Transport on the line and on a grid, by SciPy's quadrature: the constants of best knots, errors of maps with K
knots, and of cell averages. Run as a script it prints the table of docs/theory/relu-transport.md.
"""

import numpy as np
from scipy import integrate, stats

LINE = {
    "mix2": ([0.5, 0.5], [-2.0, 2.0], [0.5, 0.5]),
    "mix3": ([0.3, 0.4, 0.3], [-3.0, 0.0, 3.0], [0.5, 0.6, 0.5]),
}
NORMAL = stats.norm()


def density(name, y):
    return sum(w * stats.norm.pdf(y, m, s) for w, m, s in zip(*LINE[name], strict=True))


def back(name, y):
    """Where the monotone map from N(0, 1) comes from: by the smaller of the two tails."""
    left = sum(w * stats.norm.cdf(y, m, s) for w, m, s in zip(*LINE[name], strict=True))
    right = sum(w * stats.norm.sf(y, m, s) for w, m, s in zip(*LINE[name], strict=True))
    return np.where(left < right, NORMAL.ppf(np.minimum(left, 0.5)), NORMAL.isf(np.minimum(right, 0.5)))


def knot_density(name, y):
    """(rho g_y^2)^(1/3), g the log of the slope of the map, by central differences."""
    h = 1e-4

    def g(y):
        return NORMAL.logpdf(back(name, y)) - np.log(density(name, y))

    return np.cbrt(density(name, y) * ((g(y + h) - g(y - h)) / (2 * h)) ** 2)


def ends(name):
    """The images of -5 and 5, by a grid of where they come from."""
    y = np.linspace(-8, 8, 1_600_001)
    return np.interp([-5.0, 5.0], back(name, y), y)


def constant(name, n=100_001):
    y = np.linspace(*ends(name), n)
    return integrate.simpson(knot_density(name, y), x=y) ** 3 / 24


def divergence(name, K, n=100_001):
    """KL(target | law of the map with K knots), interval by interval."""
    y = np.linspace(*ends(name), n)
    upto = integrate.cumulative_trapezoid(knot_density(name, y), y, initial=0)
    knots = np.interp(np.linspace(0, upto[-1], K), upto, y)
    x, total = back(name, knots), 0.0
    for a, b, low, high in zip(knots[:-1], knots[1:], x[:-1], x[1:], strict=True):
        slope = (b - a) / (high - low)

        def integrand(y, a=a, low=low, slope=slope):
            p = density(name, y)
            return p * (np.log(p) - NORMAL.logpdf(low + (y - a) / slope) + np.log(slope))

        total += integrate.quad(integrand, a, b, limit=100)[0]
    return total


def plane(name):
    """Means and the standard deviation of round Gaussians of equal weights."""
    if name == "mix3":
        angles = np.deg2rad([90, 210, 330])
        return 2 * np.stack([np.cos(angles), np.sin(angles)], 1), 0.6
    h = np.linspace(0, np.pi, 10)
    upper = np.stack([np.cos(h) - 0.5, np.sin(h) - 0.25], 1)
    return 1.5 * np.concatenate([upper, -upper]), 0.225


def grid(name, n, inner=12):
    """Total variation and KL of the density from its averages on n x n cells of the square from -4 to 4, by
    midpoints.
    """
    means, sd = plane(name)
    side = -4 + 8 * (np.arange(n * inner) + 0.5) / (n * inner)
    bumps = [np.exp(-((side - m) ** 2) / (2 * sd**2)) for m in means.T.reshape(-1)]
    k = len(means)
    p = sum(np.outer(bumps[i], bumps[k + i]) for i in range(k))
    p /= p.sum()
    cells = p.reshape(n, inner, n, inner).sum(axis=(1, 3))
    cells = np.maximum(cells, 1e-6 * cells.max())
    q = np.kron(cells / cells.sum(), np.ones((inner, inner))) / inner**2
    return abs(p - q).sum() / 2, (p * np.log(np.where(p > 0, p, 1) / q)).sum()


if __name__ == "__main__":
    for name in LINE:
        print(name, "C", constant(name), [(K, divergence(name, K)) for K in (8, 16, 32, 64, 128, 256)])
    for name in ("mix3", "moons"):
        print(name, [(n, *grid(name, n)) for n in (8, 16, 32, 64)])
