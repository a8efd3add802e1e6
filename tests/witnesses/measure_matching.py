"""Transformers on the sphere by their definition: the field of arXiv:2411.04551, (1.2)-(1.3), in plain loops and NumPy.

What is integrated are the arrays of a file, by Runge and Kutta's method with a fixed number of steps in every piece.
Nothing is known here of boosts, gates or bands.
"""

import itertools
import json

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import linear_sum_assignment


def pieces(path):
    """The pieces of a JSON file as dictionaries of arrays; what is left out is zero."""
    record = json.loads(path.read_text())
    d = record["d"]
    shapes = {"V": (d, d), "B": (d, d), "W": (d, 1), "U": (1, d), "b": (1,)}
    given = [
        {k: np.zeros(shape) if one[k] is None else np.array(one[k]) for k, shape in shapes.items()}
        for one in record["pieces"]
    ]
    return [one | {"T": piece["T"]} for one, piece in zip(given, record["pieces"], strict=True)]


def field(piece, x, w):
    """P_x(V A_B[mu](x) + W (Ux + b)_+) for every token."""
    v = np.zeros_like(x)
    for i, query in enumerate(x):
        score = np.array([query @ piece["B"] @ key for key in x])
        share = w * np.exp(score - score.max())
        attention = (share[:, None] * x).sum(axis=0) / share.sum()
        force = piece["V"] @ attention + piece["W"] @ np.maximum(piece["U"] @ query + piece["b"], 0)
        v[i] = force - (query @ force) * query
    return v


def vectors(piece, x, w):
    """The same with array operations, where B is zero: for long schedules."""
    assert not piece["B"].any()
    force = piece["V"] @ (w @ x) + np.maximum(x @ piece["U"].T + piece["b"], 0) @ piece["W"].T
    return force - np.sum(x * force, axis=1, keepdims=True) * x


def flow(piece, x, w, t=None):
    """One piece by an adaptive solver."""
    t = piece["T"] if t is None else t
    found = solve_ivp(lambda _, y: field(piece, y.reshape(x.shape), w).ravel(), (0, t), x.ravel(), method="DOP853",
                      rtol=1e-11, atol=1e-13, max_step=t / 50)  # fmt: skip
    return found.y[:, -1].reshape(x.shape)


def runge_kutta(schedule, x, w, steps):
    """All pieces, so many steps in each, tokens brought back to the sphere after every step."""
    for piece in schedule:
        h = piece["T"] / steps
        for _ in range(steps):
            k1 = vectors(piece, x, w)
            k2 = vectors(piece, x + h / 2 * k1, w)
            k3 = vectors(piece, x + h / 2 * k2, w)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + vectors(piece, x + h * k3, w))
            x = x / np.linalg.norm(x, axis=1, keepdims=True)
    return x


def w2(x, y):
    """Of clouds of one size with equal weights, by an assignment."""
    cost = np.sum((x[:, None] - y[None]) ** 2, axis=2)
    return np.sqrt(cost[linear_sum_assignment(cost)].mean())


def best_clearance(gamma, x, y):
    """Over all orders of few atoms the largest smallest distance of one at rest from the plane of a band."""
    best = -1.0
    for order in itertools.permutations(range(len(x))):
        at, least = x.copy(), np.inf
        for k in order:
            others = [j for j in range(len(x)) if j != k]
            least = min(least, np.abs(at[others] @ gamma[k]).min())
            at[k] = y[k]
        best = max(best, least)
    return best


def partitions(w, v):
    """All ways to put atoms of masses w into groups of masses v."""
    for chosen in itertools.product(range(len(v)), repeat=len(w)):
        if np.abs(np.bincount(chosen, w, len(v)) - v).max() < 1e-9:
            yield chosen
