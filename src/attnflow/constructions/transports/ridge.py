r"""Any dimension, few switches: samples are brought to the normal law one direction at a time; the inverse generates.

Along a unit vector a, $x \mapsto x + (T(s) - s)a$, $s = \langle a, x\rangle$, lowers $KL(\cdot|N(0, I))$ by exactly
as much as T lowers that of the marginal. Of several directions the one is taken that lowers it most with K knots.
"""

import numpy as np

from ...checks import whole
from ...errors import InputError
from ...spaces import Count, Key, draws
from ..schedules import MonotonePL, Schedule
from ._knots_of_samples import SampleKnots, best_knots
from .laws import AbstractLaw, Law, Samples, as_law

DIRECTIONS = 24
POINTS = 60_000  # drawn anew for every step
FEW = 8000  # to compare directions
PATIENCE = 3  # steps that do not help, of given samples, before the construction ends


def ridge_gaussianize(target: Law, K: Count = 8, iters: Count = 8, *, key: Key | None = None) -> Schedule:
    r"""A schedule from $N(0, I)$ to the law of samples `(n, d)`: `iters` monotone maps with `K` knots each, at most.

    It has at most `iters` (K + 2) - 1 switches. From a law that can be drawn from, every step takes new samples; of
    given ones two fifths are held back, and the construction ends where steps do not help there.

    The idea is that of Gaussianization (Chen, Gopinath, NeurIPS 2000; Laparra, Camps-Valls, Malo, 2011); knots are
    placed by dynamic programming, see docs/theory/relu-transport.md. It realises the claim of arXiv:2412.19366.
    """
    law, K, iters = as_law("target", target), whole("K", K, least=2), whole("iters", iters)
    rng = draws(key)
    held_back = None
    if isinstance(law, Samples):
        shares = law.shares(rng)
        law, held_back = shares.fit, np.concatenate([shares.choose.x, shares.judge.x])
    steps = gaussianized(law, K, iters, rng, held_back)
    if steps is None:
        raise InputError("no step brings these samples nearer to the normal law: as far as they tell, they are normal.")
    return steps.inverted


def gaussianized(
    law: AbstractLaw, K: int, iters: int, rng: np.random.Generator, held_back: np.ndarray | None
) -> Schedule | None:
    """The schedule to the normal law; `None` if no step helps the samples that are held back, where there are some."""
    schedule, failed = None, 0
    for _ in range(iters):
        drawn = law.x if isinstance(law, Samples) else law.draw(POINTS, rng)
        piece = _step(drawn if schedule is None else schedule.forward(drawn), K, rng)
        if held_back is not None:
            moved, log_det = piece.carry(held_back)
            if float((log_det + ((held_back**2).sum(axis=1) - (moved**2).sum(axis=1)) / 2).mean()) <= 0:
                failed += 1
                if failed == PATIENCE:
                    break
                continue
            held_back = moved
        schedule = Schedule([piece]) if schedule is None else schedule.then(piece)
    return schedule


def _step(x: np.ndarray, K: int, rng: np.random.Generator) -> MonotonePL:
    few = x[:FEW]
    directions = _directions(x.shape[1], rng)
    gains = [best_knots(few @ a, K).gain for a in directions]
    a = directions[int(np.argmax(gains))]
    return _piece(a, best_knots(x @ a, K))


def _piece(a: np.ndarray, knots: SampleKnots) -> MonotonePL:
    return MonotonePL(a, knots.x, knots.y, left_slope=knots.left_slope, right_slope=knots.right_slope)


def _directions(d: int, rng: np.random.Generator) -> np.ndarray:
    """In the plane equally spaced ones, turned by a random angle; else coordinate axes and random ones."""
    if d == 1:
        return np.ones((1, 1))
    if d == 2:
        angles = (np.arange(DIRECTIONS) + rng.uniform()) * np.pi / DIRECTIONS
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    drawn = rng.standard_normal((DIRECTIONS, d))
    return np.concatenate([np.eye(d), drawn / np.linalg.norm(drawn, axis=1, keepdims=True)])
