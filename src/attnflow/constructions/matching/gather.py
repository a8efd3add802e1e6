r"""All atoms of all measures into one small cap, by two boosts; and out of one that is too small, by one.

Towards $-w_0$, where $w_0$ is a direction outside of all supports, by $\tau_1 = \operatorname{artanh}\cos\frac\pi8 +
\max\operatorname{artanh}\langle x, w_0\rangle$: all atoms are then within $\frac\pi8$ of $-w_0$. Then towards $\alpha =
(1, \dots, 1)/\sqrt d$ by $\tau_2 = \operatorname{artanh}\cos r - \min\operatorname{artanh}\langle x, \alpha\rangle$:
they are within $r$ of $\alpha$, in the positive orthant if $r < \arcsin(1/\sqrt d)$ (Lemma 3.2).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...spaces import Key, draws
from ._measure import Side, measures
from .boost import boost, boosted
from .piece import TransformerPiece

FIRST = np.pi / 8
SECOND = 0.3
DRAWS = 4000
PORTION = 1000  # atoms that are looked at at a time
TIGHT, WIDE = 0.1, 1.0  # the angle of a cap that is small, and of the one that it becomes
LEAST = 1e-3  # the angle of a missing direction from the next atom


def gather_orthant(clouds: Sequence[Any], *, key: Key | None = None) -> list[TransformerPiece]:
    """The two boosts that bring all atoms of all clouds into the positive orthant.

    `clouds` are arrays `(n, d)`, or pairs of them and weights; `key` is for the search for a missing direction.
    """
    return gathering(Side.of(measures("clouds", clouds)).x, draws(key))


def gathering(x: np.ndarray, rng: np.random.Generator) -> list[TransformerPiece]:
    d = x.shape[1]
    w0, angle = missing_direction(x, rng)
    if angle < LEAST:
        raise InputError(
            f"no direction is missing from the supports: every one has an atom within {angle:.2g}; take fewer atoms, "
            "or measures that leave out a part of the sphere."
        )
    tau = float(np.arctanh(np.cos(FIRST)) + np.arctanh(np.max(x @ w0)))
    alpha = np.full(d, d**-0.5)
    radius = min(SECOND, 0.9 * np.arcsin(d**-0.5))
    inner = boosted(x, -w0, tau) @ alpha
    # With atoms at -alpha another first direction is no remedy; nothing is there, up to chance.
    second = float(np.arctanh(np.cos(radius)) - np.arctanh(np.min(np.clip(inner, -1 + 1e-15, 1 - 1e-15))))
    return [boost(-w0, tau), boost(alpha, second)]


def spreading(x: np.ndarray) -> list[TransformerPiece]:
    """A boost away from the middle of atoms `(M, d)` that are all in one small cap, so that they fill a large one."""
    mean = x.mean(axis=0)
    if np.linalg.norm(mean) < np.cos(TIGHT):
        return []
    centre = mean / np.linalg.norm(mean)
    half = np.max(np.linalg.norm(x - centre, axis=1)) / 2  # sin(angle/2)
    if not 1e-12 < half < np.sin(TIGHT / 2):
        return []
    return [boost(-centre, float(np.log(np.tan(WIDE / 2) / np.tan(np.arcsin(half)))), role="separate")]


def missing_direction(x: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """A direction far from all atoms `(M, d)`, the best of some draws, and its angle from the next atom."""
    d = x.shape[1]
    mean = x.mean(axis=0)
    length = np.linalg.norm(mean)
    draws = rng.normal(size=(DRAWS, d))
    draws = np.concatenate([np.eye(d), -np.eye(d), draws / np.linalg.norm(draws, axis=1, keepdims=True)])
    if length > 1e-6:
        draws = np.concatenate([-mean[None] / length, draws])
    nearest = np.full(len(draws), -1.0)
    for some in np.array_split(x, -(-len(x) // PORTION)):
        np.maximum(nearest, np.max(draws @ some.T, axis=1), out=nearest)
    best = int(np.argmin(nearest))
    return draws[best], float(np.arccos(np.clip(nearest[best], -1, 1)))
