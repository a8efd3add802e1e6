r"""Atoms walk home one by one, each in a band of its own: one piece per atom.

For an atom x and its target y at the angle $\theta$, $\gamma$ is a unit vector orthogonal to both, $\omega$ lies on
their great circle at the angle $\frac12(\theta + \pi)$ from x beyond y, and $A =
2\operatorname{artanh}\sin\frac\theta2$: in the time 1 the flow $A P_x\omega$ takes x to y. The band is narrower than
the distance of all other atoms from the great circle, so that these rest, exactly. In $\mathbb R^3$ the plane of x and
y leaves no choice; beyond, $\gamma$ is the best of some draws.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError
from ...spaces import Key, Number, draws
from ._checked import positive
from ._measure import Side, angles, measures, unit
from .hat_band import hat_band
from .order import best_order, clearances
from .piece import TransformerPiece

SHARE = 0.8  # of the clearance, that a band takes on either side
FAR = np.pi - 1e-3  # atoms farther than that from their target make a halt on the way
NORMALS = 48  # draws of gamma in d > 3
LEAST = 1e-9  # a clearance below is no clearance in float64
SAME = 1e-13  # atoms as close as that to their targets stay
PORTION = 4_000_000  # numbers held at a time


class Blocked(InputError):
    """Other atoms stand in the way."""


class Matched(NamedTuple):
    """The pieces, the order in which atoms moved, and the smallest clearance of a band."""

    pieces: list[TransformerPiece]
    order: np.ndarray
    clearance: float


def match_atoms(
    clouds: Sequence[Any], targets: Sequence[Any], *, key: Key | None = None, share: Number = SHARE
) -> Matched:
    """Bands that take atom k of every cloud to point k of its target, all others at rest.

    **Arguments:** `clouds` and `targets`, lists of arrays `(n, d)` of equal sizes, no two atoms at one place; `key`,
    for directions in d > 3 and for halts of atoms that go to the antipode; `share`, how much of the free way
    to the next atom a band takes.

    One piece per atom, in the order that makes the narrowest band as wide as possible; one more for each halt.
    """
    x, y = Side.of(measures("clouds", clouds)), Side.of(measures("targets", targets))
    if x.x.shape != y.x.shape or (x.starts != y.starts).any():
        raise InputError("clouds and targets have different sizes; give one target (n, d) for each cloud (n, d).")
    return bands(x.x, y.x, draws(key), share=positive("share", share))


def bands(x: np.ndarray, y: np.ndarray, rng: np.random.Generator, share: float = SHARE) -> Matched:
    """The same for atoms side by side, `x (M, d)` to `y (M, d)`."""
    x = x.copy()
    pieces, least = [], np.inf
    angle = angles(x, y)
    for k in np.flatnonzero(angle > FAR):
        halt, gamma, clear = _halt(int(k), x, y, rng)
        _check_free(int(k), clear)
        pieces.append(walk(x[k], halt, gamma, share * clear))
        x[k], least = halt, min(least, clear)
    moving = np.flatnonzero(angles(x, y) > SAME)
    gamma = np.zeros_like(x)
    gamma[moving] = _normals(moving, x, y, rng)
    order = _order(gamma, x, y, moving)
    clear = clearances(gamma, x, y, order)
    for k in order[np.isin(order, moving)]:
        _check_free(int(k), float(clear[k]))
        pieces.append(walk(x[k], y[k], gamma[k], share * min(float(clear[k]), 1.0)))
        least = min(least, float(clear[k]))
    return Matched(pieces, order, least)


def _check_free(k: int, clear: float) -> None:
    if not clear > LEAST:
        raise Blocked(
            f"atom {k} cannot move without another one: atoms are within {clear:.1g} of its great circle; move them "
            "apart before, or take another key."
        )


def _order(gamma: np.ndarray, x: np.ndarray, y: np.ndarray, moving: np.ndarray) -> np.ndarray:
    """Atoms that rest come first: they stand where they stand, for all others."""
    resting = np.setdiff1d(np.arange(len(x)), moving)
    if not len(moving):
        return resting
    chosen, _ = best_order(gamma[moving], x[moving], y[moving])
    return np.concatenate([resting, moving[chosen]])


def walk(x: np.ndarray, y: np.ndarray, gamma: np.ndarray, eps: float) -> TransformerPiece:
    angle = float(angles(x, y))
    across = y - (x @ y) * x
    across /= np.linalg.norm(across)
    phi = (angle + np.pi) / 2
    omega = np.cos(phi) * x + np.sin(phi) * across
    omega -= (omega @ gamma) * gamma
    return hat_band(gamma, omega / np.linalg.norm(omega), eps, 2 * np.arctanh(np.sin(angle / 2)))


def _normals(which: np.ndarray, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """For every atom a unit vector orthogonal to it and its target, far from all others before and after."""
    if x.shape[1] == 3:
        return orthogonal_draws(x[which], y[which], 1, rng)[:, 0]
    others = np.concatenate([x, y])
    portion = max(1, PORTION // (NORMALS * len(others)))
    found = []
    for some in np.split(which, range(portion, len(which), portion)):
        gamma = orthogonal_draws(x[some], y[some], NORMALS, rng)
        away = np.abs(gamma.reshape(-1, x.shape[1]) @ others.T).reshape(*gamma.shape[:2], len(others))
        away[np.arange(len(some)), :, some] = np.inf
        away[np.arange(len(some)), :, some + len(x)] = np.inf
        best = away.min(axis=2).argmax(axis=1)
        found.append(gamma[np.arange(len(some)), best])
    return np.concatenate(found)


def orthogonal_draws(x: np.ndarray, y: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Unit vectors `(k, count, d)` orthogonal to both points of their row; twice, for the last digits."""
    normals = rng.normal(size=(len(x), count, x.shape[1]))
    across = unit(y - np.sum(x * y, axis=1, keepdims=True) * x)
    across = unit(across - np.sum(x * across, axis=1, keepdims=True) * x)
    for _ in range(2):
        for one in (x, across):
            normals = normals - np.einsum("kjd,kd->kj", normals, one)[:, :, None] * one[:, None, :]
        normals = unit(normals)
    return normals


def _halt(k: int, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """A point to stop at on the way to the antipode, with the band that leads there past all others."""
    halts = rng.normal(size=(256, x.shape[1]))
    halts = unit(halts - np.outer(halts @ x[k], x[k]) + 0.3 * rng.normal(size=(256, 1)) * x[k])
    here = np.tile(x[k], (len(halts), 1))
    gamma = orthogonal_draws(here, halts, 1, rng)[:, 0]
    others = np.delete(np.concatenate([x, y]), [k, k + len(x)], axis=0)
    away = np.abs(gamma @ others.T).min(axis=1, initial=np.inf)
    best = int(np.argmax(np.minimum(away, np.linalg.norm(halts[:, None] - others, axis=2).min(axis=1, initial=np.inf))))
    return halts[best], gamma[best], float(min(away[best], 1.0))
