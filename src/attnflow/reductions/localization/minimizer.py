r"""The minimiser on the circle by a sliding Frank-Wolfe method, with its certificate.

A round adds an atom where $p$ is least, then moves all atoms and masses together ($m_i = l_i^2/\sum_j l_j^2$, by BFGS,
then Newton's method for $p'(\theta_i) = 0$, $p(\theta_i) = \lambda$, $\sum_i m_i = 1$), merges atoms that have met and
drops those without mass. It ends when the gap certifies the law. Near a density the energy has too few digits to go on;
then equispaced atoms are tried. Reference of the method: Denoyelle, Duval, Peyré, Soubies, *The sliding Frank-Wolfe
algorithm*, Inverse Problems 36 (2020).
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize, nnls

from ..._numbers import number, whole
from ...models import Perceptron
from ._landscape import GRID, Landscape, landscape
from .certificate import TOGETHER, Certificate, certificate

LIGHT = 1e-9  # an atom of less mass is dropped
DIGITS = 1e-14  # of the energy, below which a change of it is rounding


def minimizer(perceptron: Perceptron, beta: Any, *, atoms: Any = 16, gap: Any = 1e-9, rounds: Any = 60) -> Certificate:
    """The law of least energy $E + U$ on the circle, as atoms with a certificate.

    **Arguments:** `perceptron` with neurons in the plane; `beta`; `atoms`, after how many to give up (the minimiser may
    be a density); `gap`, the error of the energy at which the search ends; `rounds`, at most so many.

    >>> found = minimizer(Perceptron([[3.0, 0.0]], activation="tanh"), beta=1.0)
    >>> found.verdict, np.degrees(found.angles).round(3).tolist()
    ('atomic', [90.0, 270.0])
    """
    here = landscape(perceptron, beta)
    most, goal, rounds = whole("atoms", atoms), number("gap", gap, least=0), whole("rounds", rounds)
    theta = np.array([_least_external(here)])
    mass = np.ones(1)
    for _ in range(rounds):
        place, floor = here.floor(theta, mass)
        missing = float(mass @ here.potential(theta, theta, mass) - floor)
        if missing < goal or len(theta) >= most:
            break
        before = here.energy(theta, mass)
        theta, mass = _slide(here, *_with_atom(here, theta, mass, place, missing))
        if before - here.energy(theta, mass) < DIGITS * abs(before):
            break  # nothing is left that the energy could see
    found = certificate(theta, mass, perceptron=perceptron, beta=beta, capped=len(theta) >= most)
    if found.gap < goal:
        return found
    spread = certificate(*_equispaced(here, most), perceptron=perceptron, beta=beta, capped=True)
    return spread if spread.gap < found.gap else found


def _equispaced(here: Landscape, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Atoms at equal distances, with the masses that make p equal on all of them: what a density looks like."""
    theta = _least_external(here) + 2 * np.pi * np.arange(count) / count
    kernel, external = here.kernel(theta[:, None] - theta), here.external(theta)
    rows = np.vstack([kernel - kernel.mean(axis=0), np.ones(count)])  # without the level, which is free
    mass = nnls(rows, np.append(external.mean() - external, 1.0))[0]
    return theta, mass / mass.sum()


def _least_external(here: Landscape) -> float:
    return float(GRID[np.argmin(here.external(GRID))])


def _with_atom(
    here: Landscape, theta: np.ndarray, mass: np.ndarray, place: float, missing: float
) -> tuple[np.ndarray, np.ndarray]:
    """One more atom, with the mass that lowers the energy most when all others shrink alike."""
    theta, change = np.append(theta, place), np.append(-mass, 1.0)
    curvature = change @ here.kernel(theta[:, None] - theta) @ change
    share = min(0.5, missing / curvature) if curvature > 0 else 0.5
    return theta, np.append((1 - share) * mass, share)


def _slide(here: Landscape, theta: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best positions and masses near these, atoms that met merged and atoms without mass dropped."""
    while True:
        theta, mass = _by_newton(here, *_by_bfgs(here, theta, mass))
        kept = mass > LIGHT
        merged = _merged(theta[kept], mass[kept])
        if len(merged[0]) == len(theta):
            return merged
        theta, mass = merged


def _by_bfgs(here: Landscape, theta: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    count = len(theta)

    def value(y: np.ndarray) -> tuple[float, np.ndarray]:
        angles, root = y[:count], y[count:]
        total = root @ root
        m = root**2 / total
        p, slope = (here.potential(angles, angles, m, k) for k in (0, 1))
        return here.energy(angles, m), np.concatenate([m * slope, 2 * root / total * (p - m @ p)])

    start = np.concatenate([theta, np.sqrt(mass)])
    y = minimize(value, start, jac=True, method="BFGS", options={"gtol": 1e-11, "maxiter": 400}).x
    return y[:count] % (2 * np.pi), y[count:] ** 2 / (y[count:] @ y[count:])


def _by_newton(here: Landscape, theta: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The conditions of first order to the last digits; a step moves no atom far and at most halves a mass."""
    level = float(mass @ here.potential(theta, theta, mass))
    residual = _residual(here, theta, mass, level)
    for _ in range(30):
        step = np.linalg.lstsq(_jacobian(here, theta, mass), -residual, rcond=1e-14)[0]
        slide, change = step[: len(theta)], step[len(theta) : -1]
        loss = np.max(-change / mass)
        length = min(1.0, TOGETHER / max(np.abs(slide).max(), 1e-300), 0.5 / loss if loss > 0 else 1.0)
        moved = theta + length * slide, mass + length * change, level + length * step[-1]
        then = _residual(here, *moved)
        if not np.abs(then).max() < np.abs(residual).max():
            break
        theta, mass, level, residual = *moved, then
    return theta % (2 * np.pi), mass / mass.sum()


def _residual(here: Landscape, theta: np.ndarray, mass: np.ndarray, level: float) -> np.ndarray:
    p, slope = (here.potential(theta, theta, mass, k) for k in (0, 1))
    return np.concatenate([slope, p - level, [mass.sum() - 1]])


def _jacobian(here: Landscape, theta: np.ndarray, mass: np.ndarray) -> np.ndarray:
    apart = theta[:, None] - theta
    k0, k1, k2 = (here.kernel(apart, order) for order in range(3))
    slope, bend = (here.potential(theta, theta, mass, order) for order in (1, 2))
    zero, one = np.zeros((len(theta), 1)), np.ones((len(theta), 1))
    return np.block(
        [
            [np.diag(bend) - k2 * mass, k1, zero],
            [np.diag(slope) - k1 * mass, k0, -one],
            [zero.T, one.T, np.zeros((1, 1))],
        ]
    )


def _merged(theta: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Atoms closer than 0.02 as one, at their mean."""
    order = np.argsort(theta)
    theta, mass = theta[order], mass[order] / mass.sum()
    while len(theta) > 1:
        gaps = np.diff(theta, append=theta[0] + 2 * np.pi)
        k = int(np.argmin(gaps))
        if gaps[k] > TOGETHER:
            break
        other = (k + 1) % len(theta)
        joint = mass[k] + mass[other]
        theta[k] = (theta[k] + gaps[k] * mass[other] / joint) % (2 * np.pi)
        mass[k] = joint
        theta, mass = np.delete(theta, other), np.delete(mass, other)
    return theta, mass
