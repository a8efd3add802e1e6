"""Hardmax layers with matrices beyond the theorem: docs/theory/hardmax.md, Beyond the theorem."""

import numpy as np

TURN = np.sqrt(0.5)
MATRICES = {  # A = B^T, so that token i scores token j by <A x_i, x_j>
    "minus": [[-1, 0], [0, -1]],
    "quarter-turn": [[0, -1], [1, 0]],
    "saddle": [[1, 0], [0, -1]],
    "rank-one": [[1, 0], [0, 0]],
    "shear": [[1, 1], [0, 1]],
    "eighth-turn": [[TURN, -TURN], [TURN, TURN]],
}
ALPHA = 0.5


def run(A, layers=2000):
    """Tokens `(layers + 1, 12, 2)`: each steps towards the mean of the tokens that it scores highest."""
    x = np.random.default_rng(1).standard_normal((12, 2))
    A, xs = np.array(A, float), [x]
    for _ in range(layers):
        scores = (x @ A.T) @ x.T
        best = scores >= scores.max(axis=1, keepdims=True) - 1e-13
        read = (best[..., None] * x[None]).sum(axis=1) / best.sum(axis=1, keepdims=True)
        x = x + ALPHA / (1 + ALPHA) * (read - x)
        xs.append(x)
    return np.array(xs)


def places(x):
    """Of each token, the first one within 1e-6 of it."""
    return (np.linalg.norm(x[:, None] - x[None], axis=-1) < 1e-6).argmax(axis=1)


def leaders(xs):
    """For each final position, the first layer from which a token stays there; other tokens arrive later."""
    stay = np.linalg.norm(xs - xs[-1], axis=-1) < 1e-9
    since = np.array([len(column) - np.argmin(column[::-1]) if not column.all() else 0 for column in stay.T])
    group = places(xs[-1])
    return sorted(int(since[group == k].min()) for k in np.unique(group))


def table():
    for name, A in MATRICES.items():
        xs = run(A)
        longest = np.linalg.norm(xs, axis=-1).max(axis=1)
        form = np.einsum("tni,ij,tnj->tn", xs, np.array(A, float).T, xs)
        falls = round(float(-np.diff(form, axis=0).min()), 4)
        print(name, "leaders from", leaders(xs), "longest", longest[[0, 5, 10, 2000]].round(4), "falls by", falls)


if __name__ == "__main__":
    table()
