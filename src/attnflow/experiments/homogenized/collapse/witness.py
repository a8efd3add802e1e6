"""Independent computations of collapse, by random draws in place of the library's sums."""

from typing import Any

TOKENS, TIME = 32, 4.0
PORTION = 50  # stacks at once, so that they fit into the cache


def sampled_collisions(rng: Any, n: int, beta: float, q: float, draws: int) -> Any:
    """Sums of products of softmax weights, for one query and for two, `(2, draws)`: the means are P₀ and P₁."""
    import numpy as np
    from scipy.special import softmax

    portions, size = [], max(1, 2_000_000 // n)
    for rows in [size] * (draws // size) + [draws % size]:  # in portions that fit into memory
        g = rng.standard_normal((2, rows, n))
        scores = beta * np.sqrt(1 - q) * np.stack([g[0], q * g[0] + np.sqrt(1 - q**2) * g[1]])
        A = softmax(scores, axis=-1)
        portions.append(np.stack([(A**2).sum(-1).mean(0), (A[0] * A[1]).sum(-1)]))
    return np.concatenate(portions, axis=1)


def sampled_delay(rng: Any, n: int, beta: float, draws: int, rate: Any, nodes: int = 20) -> tuple[float, float]:
    """The change of the time from 0 to 0.9, to first order, if the rate is sampled; and its standard error.

    Gauss's rule in log(q + 1/n) for the integral of (r − R)/r² with the rate r and random ones R, new at each node.
    """
    import numpy as np

    z, w = np.polynomial.legendre.leggauss(nodes)
    low, high = np.log(1 / n), np.log(0.9 + 1 / n)
    shifted = np.exp(low + (high - low) / 2 * (z + 1))
    total, variance = 0.0, 0.0
    for x, weight in zip(shifted, w * (high - low) / 2, strict=True):
        q = x - 1 / n
        one, two = sampled_collisions(rng, n, beta, q, draws)
        drawn, r = (1 - q) * (q + two - q * one), float(rate(q))
        total += weight * x * (r - drawn.mean()) / r**2
        variance += (weight * x / r**2) ** 2 * drawn.var() / draws
    return float(total), float(np.sqrt(variance))


def finite_dimension(d: int, replicas: int, steps: int, seed: int) -> tuple[float, float]:
    """The mean over pairs of 32 tokens, initially orthogonal, at time 4 and β = 0; and its standard error.

    At β = 0 all tokens read their mean m, so one Gaussian vector moves them all. Its variance in a layer of length h is
    that of c = |m|² in the middle of the layer, (e^{ch} − 1)/d: exact to second order in h where d is large.
    """
    import numpy as np

    rng, h, means = np.random.default_rng([seed, d]), TIME / steps, []
    for first in range(0, replicas, PORTION):
        x = np.tile(np.eye(TOKENS, d), (min(PORTION, replicas - first), 1, 1))
        for _ in range(steps):
            c = np.sum(x.mean(axis=1) ** 2, axis=1)
            c = c + h / 2 * c * (1 - c)
            x += (np.sqrt(np.expm1(c * h) / d)[:, None] * rng.standard_normal((len(x), d)))[:, None]
            x /= np.sqrt(np.einsum("rid,rid->ri", x, x))[..., None]
        means.append((np.sum(x.sum(axis=1) ** 2, axis=1) - TOKENS) / (TOKENS * (TOKENS - 1)))
    q = np.concatenate(means)
    return float(q.mean()), float(q.std(ddof=1) / np.sqrt(replicas))
