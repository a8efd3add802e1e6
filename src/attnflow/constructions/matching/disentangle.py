r"""Measures that share atoms become measures that do not: attention moves equal points of different measures apart.

*Generic*: two pieces $V = \alpha\alpha^\top$ with random $\alpha$ and durations, or one piece of softmax attention at a
finite $\beta$; of some draws that with the largest distance of atoms. *Isolate, cluster, reverse* (Lemma 3.3): see
`isolate`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.spatial import KDTree

from ...errors import InputError, shown
from ...spaces import Key, Number, draws
from ._checked import positive
from ._destinations import antipodal
from ._measure import Side, measures
from .attention import softmax_attention
from .boost import boost, boosted, rank_one_attention
from .piece import TransformerPiece
from .schedule import TransformerSchedule

Way = Literal["generic", "softmax", "isolate"]
DRAWS = {"generic": 60, "softmax": 12}
DURATIONS = (0.5, 3.0)
RESTING = 1e-3  # a barycentre as small as that moves too slowly
STEPS = 24  # of the scalar equation, to compare draws


class Disentangled(NamedTuple):
    """The pieces, the clouds after them, and the smallest distance of two of their atoms."""

    pieces: list[TransformerPiece]
    clouds: list[np.ndarray]
    separation: float


def disentangle(
    clouds: Sequence[Any], method: Way = "generic", *, beta: Number = 1.0, key: Key | None = None
) -> Disentangled:
    """Attention that leaves no two atoms of different measures at one place.

    **Arguments:** `clouds`, arrays `(n, d)` or pairs of them and weights; `method`: `"generic"`, two pieces of rank
    one; `"softmax"`, one piece with $V = I$, $B = \\beta I$; `"isolate"`, Lemma 3.3, which makes a point of every
    measure.
    """
    if not isinstance(method, str) or method not in get_args(Way):
        raise InputError(f"method = {shown(method)}; choose one of {', '.join(get_args(Way))}.")
    side, rng = Side.of(measures("clouds", clouds)), draws(key)
    if method == "isolate":
        from .isolate import isolating

        pieces = isolating(side)
    else:
        pieces = separating(side, rng, method, positive("beta", beta))
    moved = TransformerSchedule(pieces).moved(side)
    return Disentangled(pieces, [one.x for one in moved.split()], separation(moved.x))


def separation(x: np.ndarray) -> float:
    """The smallest distance of two of the points `(M, d)`."""
    return float(KDTree(x).query(x, k=2)[0][:, 1].min()) if len(x) > 1 else np.inf


def separating(
    side: Side, rng: np.random.Generator, method: Literal["generic", "softmax"] = "generic", beta: float = 1.0
) -> list[TransformerPiece]:
    """The pieces of the best draw; after a boost where attention does not part what it should.

    That is where a barycentre is zero, which rests, and where measures are reflections of each other in the origin,
    which they stay: antipodal atoms would stand in each other's way.
    """
    draw: Callable[..., Any] = {"generic": _generic, "softmax": _softmax}[method]
    means = np.add.reduceat(side.w[:, None] * side.x, side.starts)
    if np.linalg.norm(means, axis=1).min() >= RESTING:
        pieces = _best(draw, side, rng, beta, DRAWS[method])
        if not antipodal(side.x) or not antipodal(TransformerSchedule(pieces).moved(side).x):
            return pieces
    e = rng.normal(size=side.x.shape[1])
    first = boost(e / np.linalg.norm(e), 1.0, role="separate")
    return [first, *_best(draw, TransformerSchedule([first]).moved(side), rng, beta, DRAWS[method])]


def _best(
    draw: Callable[..., Any], side: Side, rng: np.random.Generator, beta: float, count: int
) -> list[TransformerPiece]:
    return max((draw(side, rng, beta) for _ in range(count)), key=lambda one: one[1])[0]


def _generic(side: Side, rng: np.random.Generator, beta: float) -> tuple[list[TransformerPiece], float]:
    pieces, x = [], side.x
    for _ in range(2):
        alpha = rng.normal(size=x.shape[1])
        alpha /= np.linalg.norm(alpha)
        T = float(rng.uniform(*DURATIONS))
        pieces.append(rank_one_attention(alpha, T))
        x = boosted(x, alpha, rank_one_estimates(side._replace(x=x), alpha, T)[side.owner])
    return pieces, separation(x)


def rank_one_estimates(side: Side, alpha: np.ndarray, T: float) -> np.ndarray:
    """The scalar equation of all measures at once, by Runge and Kutta's method: to six digits, to compare draws."""
    a, owner, h = np.arctanh(np.clip(side.x @ alpha, -1 + 1e-15, 1 - 1e-15)), side.owner, T / STEPS

    def slope(tau: np.ndarray) -> np.ndarray:
        return np.bincount(owner, np.tanh(tau[owner] + a) * side.w)

    tau = np.zeros(len(side.starts))
    for _ in range(STEPS):
        k1 = slope(tau)
        k2 = slope(tau + h / 2 * k1)
        k3 = slope(tau + h / 2 * k2)
        tau = tau + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(tau + h * k3))
    return tau


def _softmax(side: Side, rng: np.random.Generator, beta: float) -> tuple[list[TransformerPiece], float]:
    piece = softmax_attention(side.x.shape[1], beta, float(rng.uniform(0.3, 2.0)))
    return [piece], separation(TransformerSchedule([piece]).moved(side).x)
