r"""Few neurons $\sum_j w_j(\langle a_j, x\rangle + b_j)_+$ that are close to a field, by orthogonal least squares.

Of all candidates the one is taken that makes the residual smallest together with those taken before: its part f that is
orthogonal to them has the largest $|\langle f, R\rangle|/|f|$. The score $|\langle f, R\rangle|/|f|$ of the whole
candidate leads to two to four times the divergence.
"""

from typing import NamedTuple

import numpy as np

INDEPENDENT = 1e-3  # least part of a candidate that is orthogonal to those taken
SPREADS = (0.3, 0.1)  # of candidates around those taken, round by round
AROUND = 400  # candidates of such a round


class Neurons(NamedTuple):
    r"""Weights `W (m, d)`, directions `A (m, d)`, biases `b (m,)`."""

    W: np.ndarray
    A: np.ndarray
    b: np.ndarray


class _Chosen(NamedTuple):
    left: float  # of the mean square of the field
    A: np.ndarray
    b: np.ndarray
    gram: np.ndarray
    moments: np.ndarray


def fit(
    x: np.ndarray, u: np.ndarray, m: int, rng: np.random.Generator, *, candidates: int, refine: int, ridge: float
) -> Neurons:
    """At most m neurons, the largest weight first.

    Candidates are a constant, both halves of every coordinate axis, and neurons in random directions whose kink passes
    through a point of x. The affine part belongs to the first two: with strongly biased neurons in its place their
    weights would cancel and the splitting would fail. In every round of `refine` more candidates lie near the chosen.
    """
    A, b = _axes(x.shape[1]), np.concatenate([[1.0], np.zeros(2 * x.shape[1])])
    best = _selected(x, u, m, *_joined((A, b), _random(x, candidates, rng)))
    for spread in SPREADS[:refine]:
        near = _near(x, best, spread, rng)
        again = _selected(x, u, m, *_joined((A, b), (best.A, best.b), near))
        best = min(best, again, key=lambda chosen: chosen.left)
    W = np.linalg.solve(best.gram + ridge * np.eye(len(best.b)), best.moments)
    order = np.argsort(-np.linalg.norm(W, axis=1))
    return Neurons(W[order], best.A[order], best.b[order])


def _selected(x: np.ndarray, u: np.ndarray, m: int, A: np.ndarray, b: np.ndarray) -> _Chosen:
    """Forward selection on the Gram matrix: what was taken is eliminated from it, as in Cholesky's method."""
    features = np.maximum(x @ A.T + b, 0)
    gram, moments = features.T @ features / len(x), features.T @ u / len(x)
    rest, open_moments, sizes = gram.copy(), moments.copy(), np.diag(gram)
    left, taken = float((u**2).sum() / len(x)), []
    for _ in range(min(m, len(b))):
        squares = np.diag(rest)
        eligible = squares > INDEPENDENT**2 * sizes
        gains = np.where(eligible, (open_moments**2).sum(axis=1) / np.where(eligible, squares, 1.0), 0.0)
        j = int(gains.argmax())
        if gains[j] <= 0:
            break
        taken.append(j)
        left -= float(gains[j])
        column, part = rest[:, j] / np.sqrt(squares[j]), open_moments[j] / np.sqrt(squares[j])
        rest, open_moments = rest - np.outer(column, column), open_moments - np.outer(column, part)
    return _Chosen(left, A[taken], b[taken], gram[np.ix_(taken, taken)], moments[taken])


def _axes(d: int) -> np.ndarray:
    return np.concatenate([np.zeros((1, d)), np.eye(d), -np.eye(d)])


def _random(x: np.ndarray, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    a = _unit(rng.standard_normal((k, x.shape[1])))
    return a, -np.einsum("kd,kd->k", a, x[rng.integers(len(x), size=k)])


def _near(x: np.ndarray, best: _Chosen, spread: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    bent = np.flatnonzero(best.A.any(axis=1))
    if not len(bent):
        return best.A[:0], best.b[:0]
    k = np.resize(bent, max(AROUND, len(bent)))
    a = _unit(best.A[k] + spread * rng.standard_normal((len(k), x.shape[1])))
    return a, best.b[k] + spread * x.std() * rng.standard_normal(len(k))


def _unit(a: np.ndarray) -> np.ndarray:
    return a / np.linalg.norm(a, axis=1, keepdims=True)


def _joined(*parts: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    directions, biases = zip(*parts, strict=True)
    return np.concatenate(directions), np.concatenate(biases)
