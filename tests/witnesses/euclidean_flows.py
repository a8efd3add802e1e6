"""Rescaled tokens in Euclidean space: docs/theory/euclidean.md, Reference runs.

With z = e^(-tV) x the flow is dz_i/dt = V sum_j P_ij (z_j - z_i), P the softmax of <x_i, B x_j>: nothing grows.
"""

import numpy as np
from scipy.linalg import expm
from scipy.special import logsumexp

NINE = np.array(
    [(1, 0.2), (0.3, 1.1), (-0.9, 0.8), (-1.2, -0.3), (-0.2, -1), (0.8, -0.9), (0.1, 0.05), (0.4, 0.3), (-0.5, 0.1)]
)
EIGHT = np.column_stack([NINE[:8], [0.3, -0.5, 0.2, 0.9, -0.8, 0.4, 1, -0.6]])
PLANE = np.array([[0.64709742, 0.81911926], [0.61210449, 0.63263484]])


def attention(x, B):
    scores = x @ B @ x.T
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def rescaled(z, V, B, t1, h=0.02):
    """z at t1, by classical steps; e^(tV) is taken anew at each."""
    half, V = expm(h / 2 * V), np.asarray(V, float)
    grown = np.eye(len(V))

    def speed(z, grown):
        return (attention(z @ grown.T, B) @ z - z) @ V.T

    for _ in range(round(t1 / h)):
        middle = half @ grown
        last = half @ middle
        a = speed(z, grown)
        b = speed(z + h / 2 * a, middle)
        c = speed(z + h / 2 * b, middle)
        z, grown = z + h / 6 * (a + 2 * b + 2 * c + speed(z + h * c, last)), last
    return z


def on_the_line(x, t1):
    """Tokens at t1, V = B = 1."""
    z = np.asarray(x, float)[:, None]
    return np.exp(t1) * rescaled(z, np.eye(1), np.eye(1), t1)[:, 0]


def doubt(x):
    """-log(1 - P) of the last token for itself."""
    scores = x[-1] * x
    return logsumexp(scores) - logsumexp(scores[:-1])


def plane_levels(t1=12.0):
    """u = phi_1^*(z) of the nine tokens with the paper's matrix in the plane."""
    values, vectors = np.linalg.eig(PLANE)
    lead = values.argmax()
    phi = vectors[:, lead] * np.sign(vectors[np.abs(vectors[:, lead]).argmax(), lead])
    left = np.linalg.inv(np.column_stack([phi, vectors[:, 1 - lead]]))[0]
    return rescaled(NINE, PLANE, np.eye(2), t1) @ left


def towards_the_origin(t1=500.0, h=0.02):
    """t1 times the eigenvalues of the covariance of the nine tokens, V = -I, nothing rescaled."""
    x = NINE.copy()
    for _ in range(round(t1 / h)):
        a = -attention(x, np.eye(2)) @ x
        b = -attention(x + h / 2 * a, np.eye(2)) @ (x + h / 2 * a)
        c = -attention(x + h / 2 * b, np.eye(2)) @ (x + h / 2 * b)
        x = x + h / 6 * (a + 2 * b + 2 * c - attention(x + h * c, np.eye(2)) @ (x + h * c))
    return t1 * np.linalg.eigvalsh(np.cov(x.T, bias=True))


def rank_of_draw(seed, t1=14.0):
    """Of P at t1 for 20 sorted uniform tokens; rows that are no unit vectors up to 1e-6."""
    x = on_the_line(np.sort(np.random.default_rng(seed).uniform(-1, 1, 20)), t1)
    P = attention(x[:, None], np.eye(1))
    return int((np.linalg.svd(P, compute_uv=False) > 1e-6).sum()), int((P.max(axis=1) < 1 - 1e-6).sum())


def euler_distance(seed, h=0.1, t1=5.0):
    """How far the authors' residual layers, rescaled by (1 + h)^-k, are from the flow: 20 tokens of [-5, 5]^2."""
    x = np.random.default_rng(seed).uniform(-5, 5, (20, 2))
    z = rescaled(x, np.eye(2), np.eye(2), t1, 0.005)
    for _ in range(round(t1 / h)):
        x = (x + h * attention(x, np.eye(2)) @ x) / 1.0
    return np.abs(x / (1 + h) ** round(t1 / h) - z).max()


def table():
    eye = np.eye(2)
    print("V = B = I\n", rescaled(NINE, eye, eye, 14.0).round(6))
    print("B skew\n", rescaled(NINE, eye, np.array([[2, 0.5], [0.5, 1]]), 14.0).round(6))
    print("levels", plane_levels().round(5))
    print("mix\n", rescaled(EIGHT, np.diag([1, 1, -0.5]), np.eye(3), 14.0)[:, :2].round(5))
    x = on_the_line([-1, -0.4, 0.3, 1.2], 6.0)
    print("gap", x[3] - x[2], "doubts", [doubt(on_the_line([-1, -0.4, 0.3, 1.2], t)).round(4) for t in (1, 2, 3, 4)])
    print("pair, triple", on_the_line([-0.5, 0.5], 3.0)[-1] ** 2, on_the_line([-0.5, 0, 0.5], 3.0)[-1] ** 2)
    print("ranks and exceptional rows", [rank_of_draw(seed) for seed in range(8)])
    print("Euler", max(euler_distance(seed) for seed in range(20)))
    print("origin", towards_the_origin())


if __name__ == "__main__":
    table()
