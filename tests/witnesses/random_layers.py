"""Two tokens in stacks of random layers, drawn as they are written: docs/theory/random-layers.md, One layer.

docs/theory/homogenized.md, Where two tokens end, and Collapse in high dimension.
"""

import numpy as np
from scipy.special import ndtr

LATE = {2: 16.0, 3: 24.0, 4: 32.0, 6: 48.0}  # dimension: when pairs are looked at


def stacks(rng, d, T, replicas, layers, beta=2.0):
    """Inner products at time T of pairs that were orthogonal, one head, entries of V of variance 1/d."""
    x = np.zeros((replicas, 2, d))
    x[:, 0, 0] = x[:, 1, 1] = 1.0
    eta = np.sqrt(T / layers)
    for _ in range(layers):
        B, V = rng.standard_normal((2, replicas, d, d))
        scores = beta * (x @ B @ np.swapaxes(x, 1, 2))
        A = np.exp(scores - scores.max(axis=-1, keepdims=True))
        A /= A.sum(axis=-1, keepdims=True)
        x = x + eta / np.sqrt(d) * (A @ x @ np.swapaxes(V, 1, 2))
        x /= np.linalg.norm(x, axis=-1, keepdims=True)
    return (x[:, 0] * x[:, 1]).sum(axis=-1)


def shares(q):
    """Within 0.05 of the two ends."""
    return np.mean(1 - q < 0.05), np.mean(1 + q < 0.05)


def collisions(rng, n, beta, q, draws):
    """Sums of products of softmax weights, for one query and for two with inner product q, `(2, draws)`."""
    g = rng.standard_normal((2, draws, n))
    scores = np.stack([g[0], q * g[0] + np.sqrt(1 - q**2) * g[1]])
    if np.isinf(beta):
        same = scores[0].argmax(axis=-1) == scores[1].argmax(axis=-1)
        return np.stack([np.ones(draws), same])
    A = np.exp(beta * np.sqrt(1 - q) * (scores - scores.max(axis=-1, keepdims=True)))
    A /= A.sum(axis=-1, keepdims=True)
    return np.stack([(A**2).sum(axis=-1).mean(axis=0), (A[0] * A[1]).sum(axis=-1)])


def collapse_time(rng, n, beta, draws, nodes=24):
    """From orthogonal tokens to q = 0.9 by dq/dt = (1 - q)(q + P1 - q P0), both P drawn; and the standard error.

    Gauss's rule in log(q + 1/n) for the integral of 1 over the rate.
    """
    z, w = np.polynomial.legendre.leggauss(nodes)
    low, high = np.log(1 / n), np.log(0.9 + 1 / n)
    total, variance = 0.0, 0.0
    for x, weight in zip(np.exp(low + (high - low) / 2 * (z + 1)), w * (high - low) / 2, strict=True):
        q = x - 1 / n
        one, two = collisions(rng, n, beta, q, draws)
        drawn = (1 - q) * (q + two - q * one)
        rate, error = drawn.mean(), drawn.std() / np.sqrt(draws)
        total += weight * x / rate * (1 - (error / rate) ** 2)
        variance += (weight * x * error / rate**2) ** 2
    return total, np.sqrt(variance)


def argmax_time(n, nodes=24, points=1601):
    """The same at beta = infinity, where P0 = 1 and P1 is the probability that two queries look at one token.

    P1 = n E Phi_2(x, y)^(n - 1) for a pair of standard Gaussians of correlation q, by the trapezoidal rule.
    """
    u = np.linspace(-8, 8, points)
    h, density = u[1] - u[0], np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi)
    z, w = np.polynomial.legendre.leggauss(nodes)
    low, high, total = np.log(1 / n), np.log(0.9 + 1 / n), 0.0
    for x, weight in zip(np.exp(low + (high - low) / 2 * (z + 1)), w * (high - low) / 2, strict=True):
        q = x - 1 / n
        y = (u[None, :] - q * u[:, None]) / np.sqrt(1 - q**2)  # y from x and the normal variable u
        below = density[:, None] * ndtr(y)
        both = h * (np.cumsum(below, axis=0) - below / 2)
        joint = density[:, None] * np.exp(-(y**2) / 2) / np.sqrt(2 * np.pi * (1 - q**2))
        total += weight * x / ((1 - q) * n * h * h * (joint * both ** (n - 1)).sum())
    return total


def table():
    rng = np.random.default_rng(0)
    for n in (16, 32, 128):
        actual = [collapse_time(rng, n, beta, 40_000) for beta in (1.0, 2.0, 3.0, 4.0, 8.0, np.inf)]
        print(
            f"n = {n}: times to 0.9 at beta = 1, 2, 3, 4, 8, inf", *(f"{t:.4f}±{e:.4f}" for t, e in actual), flush=True
        )
    print("argmax", [round(argmax_time(n), 4) for n in (16, 32, 128)])
    for d, T in LATE.items():
        print(f"d = {d}, T = {T:g}: shares", *shares(stacks(rng, d, T, 1500, 1200)), flush=True)


if __name__ == "__main__":
    table()
