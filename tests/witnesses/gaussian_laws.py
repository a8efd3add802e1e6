"""Means and covariances of Gaussian laws by SciPy: docs/theory/gaussian.md, The base case and Figures of the paper."""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import sqrtm
from scipy.special import ndtri
from scipy.stats import kurtosis

Q, K = np.array([[0.6, 0.2], [-0.1, 0.5]]), np.array([[0.5, -0.3], [0.2, 0.4]])
V, A = np.array([[0.4, -0.5], [0.3, 0.2]]), K.T @ Q
A2, V2 = np.array([[-0.3, 0.2], [0.1, 0.25]]), np.array([[0.2, 0.1], [-0.3, 0.3]])
ALPHA, SIGMA = np.array([0.3, -0.2]), np.array([[1, 0.3], [0.3, 0.7]])
OTHER = np.array([0.32, -0.18]), np.array([[1.05, 0.28], [0.28, 0.72]])
EYE = np.eye(2)


def softmax(a, S, V=V, A=A):
    return V @ (a + S @ A @ a), V @ S @ A


def two_heads(a, S):
    one, other = softmax(a, S), softmax(a, S, V2, A2)
    return one[0] + other[0], one[1] + other[1]


def l2(a, S):
    P = np.linalg.inv(EYE + 2 * S @ K.T @ K)
    return V @ P @ (a + 2 * S @ K.T @ Q @ a), 2 * V @ P @ S @ K.T @ Q


def linear(a, S):
    M = S + np.outer(a, a)
    return V @ M @ A @ a, V @ M @ A


def sinkhorn(a, S, steps=None):
    """After 2m + 1 half-steps; many of them are the limit."""
    L = np.linalg.cholesky(S)
    G, c = np.zeros((2, 2)), A @ a
    for _ in range(200 if steps is None else (steps - 1) // 2):
        R = L @ np.linalg.inv(EYE + L.T @ G @ L) @ L.T
        T = L @ np.linalg.inv(EYE + L.T @ A.T @ R @ A @ L) @ L.T
        G = A @ T @ A.T
        c = G @ R @ c
    R = L @ np.linalg.inv(EYE + L.T @ G @ L) @ L.T
    return V @ (a + R @ c), V @ R @ A


MAPS = {
    "softmax": softmax,
    "two heads": two_heads,
    "L2": l2,
    "linear": linear,
    "Sinkhorn-3": lambda a, S: sinkhorn(a, S, 3),
    "Sinkhorn-5": lambda a, S: sinkhorn(a, S, 5),
    "Sinkhorn": sinkhorn,
}


def flow(velocity, a, S, t):
    """Mean and covariance at t."""

    def rhs(t, y):
        a, S = y[:2], y[2:].reshape(2, 2)
        c, G = velocity(a, S)
        return np.concatenate([c, (G @ S + S @ G.T).ravel()])

    y = solve_ivp(rhs, (0, t), np.concatenate([a, S.ravel()]), "DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    return y[:2], y[2:].reshape(2, 2)


def w2(a, S, b, T):
    root = np.real(sqrtm(S))
    return np.sqrt(np.sum((a - b) ** 2) + np.trace(S + T - 2 * np.real(sqrtm(root @ T @ root))))


# Figures of the paper: dSigma/dt = V Sigma A Sigma + (its transpose).


def until(seed, accept):
    draw = np.random.RandomState(seed)
    while True:
        Q, K = draw.randn(2, 2), draw.randn(2, 2)
        if accept(*np.linalg.eigvalsh(K.T @ Q + Q.T @ K)):
            return K.T @ Q / np.sqrt(2)


def both():
    """V and A of F5."""
    draw = np.random.RandomState(35)
    draw.randn(8, 7)
    return draw.randn(2, 2), until(36, lambda least, largest: least * largest < 0)


def cone(x, y):
    """The covariance of trace one with these coordinates."""
    return np.array([[1 + x, y], [y, 1 - x]]) / 2


def blow_up_time(V, A, S, most=60.0):
    """When the covariance is infinite; infinity, if it converges instead.

    With the clock dtau = tr(Sigma) dt the shape U = Sigma/tr(Sigma) and log tr(Sigma) stay finite, and t is the
    integral of 1/tr(Sigma). Steps go on until what is left of it, 1/tr over the rate, is below rounding.
    """
    shape = S.shape

    def rhs(tau, y):
        U = y[:-2].reshape(shape)
        half = V @ U @ A @ U
        F = half + half.T
        rate = np.trace(F)
        return np.concatenate([(F - rate * U).ravel(), [rate, np.exp(-y[-2])]])

    def large(tau, y):
        return y[-2] - most

    def small(tau, y):
        return y[-2] + most

    large.terminal = small.terminal = True
    r = np.trace(S)
    start = np.concatenate([(S / r).ravel(), [np.log(r), 0.0]])
    done = solve_ivp(rhs, (0, 1e5), start, "LSODA", events=(large, small), rtol=1e-11, atol=1e-13)
    return done.y[-1, -1] if len(done.t_events[0]) else np.inf


def fates():
    """F5 on the 7 x 7 grid: (x, y, t*) of those that blow up, and how many starts there are."""
    grid, actual, total = np.linspace(-0.9, 0.9, 7), [], 0
    for x in grid:
        for y in grid:
            if np.hypot(x, y) < 1 - 1e-9:
                total += 1
                t = blow_up_time(*both(), cone(x, y))
                if np.isfinite(t):
                    actual.append((x, y, t))
    return sorted(actual, key=lambda row: row[-1]), total


def rank_histogram(d):
    """F6, V = I: limits P (P^T Sigma_0^-1 P)^-1 P^T with 0, 1, 2, 3 eigenvalues above 0.1, and their ranks."""
    draw = np.random.RandomState(40)
    Qs = {k: [draw.randn(k // 2, k) for _ in range(100)] for k in (3, 4, 5)}[d]
    factors = np.random.RandomState(41).randn(100, d, d)
    counts, ranks = [0] * 4, set()
    for q, M in zip(Qs, factors, strict=True):
        kernel = np.linalg.svd(q)[2][len(q) :].T
        limit = kernel @ np.linalg.inv(kernel.T @ np.linalg.inv(M @ M.T) @ kernel) @ kernel.T
        values = np.linalg.eigvalsh(limit)
        counts[int((values > 0.1).sum())] += 1
        ranks.add(int((values > 1e-8 * values.max()).sum()))
    return counts, ranks


# Tokens on the line.


def line_tokens(n=2048):
    return ndtri((np.arange(n) + 0.5) / n)


def moved(x, t, weight, h=0.05):
    """Tokens at t; `weight(score)` of all keys, divided by their number."""

    def velocity(x):
        return weight(np.outer(x, x)) @ x / len(x)

    for _ in range(round(t / h)):
        a = velocity(x)
        b = velocity(x + h / 2 * a)
        c = velocity(x + h / 2 * b)
        x = x + h / 6 * (a + 2 * b + 2 * c + velocity(x + h * c))
    return x


def sigmoid_tokens(a, mean, t, n=2048):
    """Mean, variance and excess kurtosis of midpoint tokens under sigmoid attention with scores a x y."""
    z = line_tokens(n)
    x = moved(mean + z / z.std(), t, lambda s: 1 / (1 + np.exp(-a * s)))
    return x.mean(), x.var(), kurtosis(x)


def table():
    for name, velocity in MAPS.items():
        a, S = flow(velocity, ALPHA, SIGMA, 1.0)
        print(name, a.round(6), S[0, 0].round(6), S[0, 1].round(6), S[1, 1].round(6))
    print("at the start", *(velocity(ALPHA, SIGMA) for velocity in (softmax, l2, sinkhorn)))
    one, other = flow(softmax, ALPHA, SIGMA, 1.0), flow(softmax, *OTHER, 1.0)
    print("W2", w2(ALPHA, SIGMA, *OTHER), w2(*one, *other))
    A4 = until(33, lambda least, largest: least > 0)
    S0 = np.array([[0.5, 0.1], [0.1, 0.5]])
    print("F4", blow_up_time(EYE, A4, S0), 1 / np.linalg.eigvals(S0 @ (A4 + A4.T)).max())
    print("fates", *fates())
    for d in (3, 4, 5):
        print("F6", d, *rank_histogram(d))
    for row in ((1.0, 0.0, 1.0), (1.0, 0.0, 2.0), (2.0, 0.0, 2.0), (-2.0, 0.5, 1.0)):
        print("sigmoid", row, sigmoid_tokens(*row), flush=True)


if __name__ == "__main__":
    table()
