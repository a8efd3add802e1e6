r"""The minimiser on the circle by a sliding Frank-Wolfe method, with its certificate.

The search begins with the best masses on a fine grid (a convex programme); neighbouring nodes that carry mass are
gathered to atoms. A round moves all atoms and masses together ($m_i = l_i^2/\sum_j l_j^2$, by BFGS, then Newton's
method for $p'(\theta_i) = 0$, $p(\theta_i) = \lambda$, $\sum_i m_i = 1$), merges atoms that met, drops those without
mass, then adds an atom where $p$ is least. It ends when the gap certifies the law. Near a density the energy has too
few digits to go on; then equispaced atoms are tried. All thresholds are in units of the problem's scale.

Reference of the method: Denoyelle, Duval, Peyré, Soubies, *The sliding Frank-Wolfe algorithm*, Inverse Problems 36
(2020).
"""

import warnings

import numpy as np
from scipy.optimize import minimize

from ...checks import number, whole
from ...errors import AttnflowWarning
from ...models import Perceptron
from ...spaces import Count, Number
from ._landscape import GRID, Landscape, landscape
from ._masses import best_masses
from .certificate import GAP, TOGETHER, Certificate, certificate

LIGHT = 1e-9  # an atom of less mass is dropped
DIGITS = 1e-15  # of the scale: a smaller change of the energy is rounding
PATIENCE = 2  # rounds without progress
NODES = 512  # of the grid that the search begins with, or twice as many as are indistinguishable from a density
UNRESOLVED = 1e-3  # of the weaker part of the energies: there is a warning
EMPTY = 1e-6  # a node of that grid with less mass is none


def minimizer(
    perceptron: Perceptron, beta: Number, *, atoms: Count | None = None, tol: Number = 1e-9, rounds: Count = 60
) -> Certificate:
    """The law of least energy $E + U$ on the circle, as atoms with a certificate.

    **Arguments:** `perceptron` with neurons in the plane; `beta`; `atoms`, after how many to give up (the minimiser may
    be a density), by default as many as are indistinguishable from one: 16 for $\\beta \\le 1$, some $\\sqrt{74\\beta}$
    for large $\\beta$; `tol`, the error of the energy at which the search ends, in units of its scale; `rounds`, at
    most so many.

    A law that is not certified has `limits`; if that is not because of the number of `atoms`, there is a warning, too.

    >>> law = minimizer(Perceptron([[3.0, 0.0]], activation="tanh"), beta=1.0)
    >>> law.verdict, np.degrees(law.angles).round(3).tolist()
    ('atomic', [90.0, 270.0])
    """
    here = landscape(perceptron, beta)
    most = here.enough if atoms is None else whole("atoms", atoms)
    tol, rounds = number("tol", tol, least=0), whole("rounds", rounds)
    theta, mass = _from_grid(here, most)
    laws = []
    if len(theta) <= most:
        theta, mass = _search(here, theta, mass, most, tol, rounds)
        laws.append(certificate(theta, mass, perceptron=perceptron, beta=beta, capped=len(theta) >= most))
    if not (laws and laws[0].relative_gap < tol * here.lesser):
        laws.append(certificate(*_equispaced(here, most), perceptron=perceptron, beta=beta, capped=True))
    best = min(laws, key=lambda one: one.gap)
    if (best.relative_gap >= max(tol, GAP) or best.unresolved > UNRESOLVED) and not best.capped:
        warnings.warn(f"the minimiser was not reached: {' '.join(best.limits)}", AttnflowWarning, stacklevel=2)
    return best


def _search(
    here: Landscape, theta: np.ndarray, mass: np.ndarray, most: int, tol: float, rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Slide, and add an atom where p is least, until the gap is small, atoms are spent, or neither the energy nor the
    gap falls any more. (A gap of $g$ costs an energy of order $g^2$, which is rounding before the gap is.)"""
    theta, mass = _slide(here, theta, mass)
    best, least, blind = (theta, mass), np.inf, 0
    for _ in range(rounds):
        place, floor = here.floor(theta, mass)
        missing = float(mass @ here.potential(theta, theta, mass) - floor)
        if missing < least:
            best, least, blind = (theta, mass), missing, 0
        else:
            blind += 1
        if least < tol * here.lesser or len(theta) >= most or blind > PATIENCE:
            break
        before = here.energy(theta, mass)
        theta, mass = _slide(here, *_with_atom(here, theta, mass, place, missing))
        if before - here.energy(theta, mass) >= DIGITS:
            blind = 0
    return best


def _from_grid(here: Landscape, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Atoms from the best masses on a grid: nodes with mass side by side are one atom, or several if they are many.

    If these are more than allowed: one atom, where U is least.
    """
    count = max(NODES, 2 * here.enough)
    theta = _least_external(here) + 2 * np.pi * np.arange(count) / count
    mass = _masses_at(here, theta)
    full = mass > EMPTY
    if full.all():
        return theta, mass
    start = int(np.argmin(full))  # a node without mass: no group runs over the end
    theta, mass, full = (np.roll(a, -start) for a in (theta, mass, full))
    theta = np.where(np.arange(count) < count - start, theta, theta + 2 * np.pi)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], full, [False]]).astype(int)))
    pieces = []
    for first, last in edges.reshape(-1, 2):
        several = int(np.ceil((last - first) * here.enough / count))
        pieces += np.array_split(np.arange(first, last), several)
    if len(pieces) > most:
        return np.array([_least_external(here)]), np.ones(1)
    masses = np.array([mass[piece].sum() for piece in pieces])
    angles = np.array([theta[piece] @ mass[piece] for piece in pieces]) / masses
    return angles % (2 * np.pi), masses / masses.sum()


def _masses_at(here: Landscape, theta: np.ndarray) -> np.ndarray:
    return best_masses(here.features(theta), np.asarray(here.external(theta)) / here.scale)


def _equispaced(here: Landscape, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Atoms at equal distances, with their best masses: what a density looks like."""
    theta = _least_external(here) + 2 * np.pi * np.arange(count) / count
    mass = _masses_at(here, theta)
    mass = np.where(mass > LIGHT / count, mass, 0.0)
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
        merged = _merged(here, theta[kept], mass[kept])
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
        length = min(1.0, TOGETHER * here.width / max(np.abs(slide).max(), 1e-300), 0.5 / loss if loss > 0 else 1.0)
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


def _merged(here: Landscape, theta: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Atoms closer than 0.02 widths of the kernel as one, at their mean."""
    order = np.argsort(theta)
    theta, mass = theta[order], mass[order] / mass.sum()
    while len(theta) > 1:
        gaps = np.diff(theta, append=theta[0] + 2 * np.pi)
        k = int(np.argmin(gaps))
        if gaps[k] > TOGETHER * here.width:
            break
        other = (k + 1) % len(theta)
        joint = mass[k] + mass[other]
        theta[k] = (theta[k] + gaps[k] * mass[other] / joint) % (2 * np.pi)
        mass[k] = joint
        theta, mass = np.delete(theta, other), np.delete(mass, other)
    return theta, mass
