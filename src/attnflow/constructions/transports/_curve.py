r"""The curve of laws of $x_t = (1 - t)z + ty$, z of the base and y of the target, and its velocity.

The velocity at x is $E[y - z\,|\,x_t = x]$. Coordinates that are a condition stay: there $x_t = y$, and it is 0.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .laws import AbstractLaw, GaussianMixture, Samples

NEIGHBOURS = 3000  # samples that a velocity is averaged over
ENTRIES = 2**22  # of the largest array of pairs


class Drawn(NamedTuple):
    """Points of a law of the curve, and their velocities, or numbers whose mean given the point is the velocity."""

    x: np.ndarray
    u: np.ndarray


class Curve(NamedTuple):
    """`draw(t, n, rng)`; `exact` if velocities are not only right on average; `how` they are computed."""

    draw: Callable[[float, int, np.random.Generator], Drawn]
    exact: bool
    how: str


def curve_between(base: AbstractLaw, target: AbstractLaw, condition: tuple[int, ...] = ()) -> Curve:
    """The curve, with velocities as exact as the laws allow."""
    start, goal = base.mixture, target.mixture
    moving = np.setdiff1d(np.arange(target.d), condition)
    if start is not None and goal is not None:
        return _closed_form(start, goal, moving)
    if start is not None and len(start.weights) == 1 and not condition:
        return _averaged(start, target)
    return _pairs(base, target, moving)


def _closed_form(start: GaussianMixture, goal: GaussianMixture, moving: np.ndarray) -> Curve:
    """Of a pair of Gaussians, position and velocity are jointly Gaussian; a point belongs to each pair with a share."""
    means, covs = _embedded(start, goal.d, moving)
    free = np.isin(np.arange(goal.d), moving).astype(float)
    weights = np.outer(start.weights, goal.weights).ravel()

    def draw(t: float, n: int, rng: np.random.Generator) -> Drawn:
        D, E = np.where(free > 0, t, 1.0), np.where(free > 0, 1 - t, 0.0)
        centres = (E * means)[:, None] + (D * goal.means)[None]
        spread = (E[:, None] * covs * E)[:, None] + (D[:, None] * goal.covs * D)[None]
        ahead = free * (goal.means[None] - means[:, None])
        with_x = free[:, None] * ((goal.covs * D)[None] - (covs * E)[:, None])
        parts = [a.reshape(-1, *a.shape[2:]) for a in (centres, spread, ahead, with_x)]
        law = GaussianMixture(parts[0], weights=weights, covs=parts[1])
        x = law.draw(n, rng)
        return Drawn(x, _conditional_means(law, x, parts[2], parts[3]))

    return Curve(draw, True, "a closed form of Gaussian mixtures")


def _conditional_means(law: GaussianMixture, x: np.ndarray, ahead: np.ndarray, with_x: np.ndarray) -> np.ndarray:
    shares = law.shares(x)
    u = np.zeros_like(x)
    for k, (mean, cov) in enumerate(zip(law.means, law.covs, strict=True)):
        gain = np.linalg.solve(cov, with_x[k].T)
        u += shares[:, k, None] * (ahead[k] + (x - mean) @ gain)
    return u


def _embedded(start: GaussianMixture, d: int, moving: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances of the base among all coordinates, zero where they are a condition."""
    means, covs = np.zeros((len(start.weights), d)), np.zeros((len(start.weights), d, d))
    means[:, moving] = start.means
    covs[:, moving[:, None], moving[None]] = start.covs
    return means, covs


def _averaged(start: GaussianMixture, target: AbstractLaw) -> Curve:
    """From a Gaussian: x and y tell z, so the velocity is a mean over many y with the density of z as weight."""
    mean, inverse = start.means[0], np.linalg.inv(np.linalg.cholesky(start.covs[0]))

    def velocity(t: float, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        u = np.empty_like(x)
        step = max(ENTRIES // len(y), 1)
        whitened = t * y @ inverse.T
        for first in range(0, len(x), step):
            rows = slice(first, first + step)
            z = (x[rows] - (1 - t) * mean) @ inverse.T
            logs = (z @ whitened.T - ((whitened**2).sum(axis=1) + (z**2).sum(axis=1)[:, None]) / 2) / (1 - t) ** 2
            shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
            u[rows] = (shares @ y - x[rows]) / (1 - t)
        return u

    def draw(t: float, n: int, rng: np.random.Generator) -> Drawn:
        y = target.x if isinstance(target, Samples) else target.draw(max(NEIGHBOURS, n), rng)
        y = y[rng.permutation(len(y))[:NEIGHBOURS]] if len(y) > NEIGHBOURS else y
        x = (1 - t) * start.draw(n, rng) + t * y[rng.integers(len(y), size=n)]
        return Drawn(x, velocity(t, x, y))

    return Curve(draw, True, f"a mean over {NEIGHBOURS} samples at most")


def _pairs(base: AbstractLaw, target: AbstractLaw, moving: np.ndarray) -> Curve:
    """Any two laws: single differences y - z, whose mean the fit takes."""

    def draw(t: float, n: int, rng: np.random.Generator) -> Drawn:
        y, z = target.draw(n, rng), base.draw(n, rng)
        x, u = y.copy(), np.zeros_like(y)
        x[:, moving] = (1 - t) * z + t * y[:, moving]
        u[:, moving] = y[:, moving] - z
        return Drawn(x, u)

    return Curve(draw, False, "differences of pairs of samples")
