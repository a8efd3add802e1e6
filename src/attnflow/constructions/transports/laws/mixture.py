r"""Mixtures of Gaussians, $\rho = \sum_k \pi_k N(m_k, C_k)$, and the standard normal law."""

from collections.abc import Sequence
from functools import cached_property
from typing import final

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from ....checks import whole
from ....errors import InputError
from ....spaces import Count, Numbers
from ...schedules.checked import doubles, points
from .law import AbstractLaw
from .line import Line, line_by_bisection
from .tail import Tails, equal_tails

GAUSSIAN = equal_tails("exponential", 2.0)


@final
class GaussianMixture(AbstractLaw):
    r"""$\rho(x) = \sum_k \pi_k N(x; m_k, C_k)$.

    `means (k, d)`, or `(k,)` on the line; `sds`, one standard deviation for all or one for each, or `covs (k, d, d)`;
    `weights (k,)`, which sum to one, equal by default.
    """

    def __init__(
        self, means: Numbers, sds: Numbers | None = None, weights: Numbers | None = None, *, covs: Numbers | None = None
    ):
        m = doubles("means", means)
        m = m[:, None] if m.ndim == 1 else m
        if m.ndim != 2 or 0 in m.shape:
            raise InputError(f"means have shape {m.shape}; give one mean for each Gaussian, (k, d).")
        self.means = m
        self.covs = _covariances(m, sds, covs)
        self.weights = _masses(weights, len(m))
        self._factors = np.linalg.cholesky(self.covs)
        self._log_dets = np.log(np.diagonal(self._factors, axis1=1, axis2=2)).sum(axis=1)

    @property
    def d(self) -> int:
        return self.means.shape[1]

    @property
    def tails(self) -> Tails:
        return GAUSSIAN

    @property
    def mixture(self) -> "GaussianMixture":
        return self

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        k = rng.choice(len(self.weights), n, p=self.weights)
        return self.means[k] + np.einsum("nij,nj->ni", self._factors[k], rng.standard_normal((n, self.d)))

    def log_density(self, x: Numbers) -> np.ndarray:
        """The log density at points `(n, d)`."""
        return np.asarray(logsumexp(self.log_parts(points("x", x, self.d)), axis=1))

    def score(self, x: Numbers) -> np.ndarray:
        r"""$\nabla\log\rho$ at points `(n, d)`."""
        x = points("x", x, self.d)
        pull = np.stack([self._pulled(x, k) for k in range(len(self.weights))], axis=1)
        return -np.einsum("nk,nkd->nd", self.shares(x), pull)

    def shares(self, x: np.ndarray) -> np.ndarray:
        """The probability that a point belongs to each Gaussian, `(n, k)`."""
        parts = self.log_parts(x)
        return np.exp(parts - logsumexp(parts, axis=1, keepdims=True))

    def log_parts(self, x: np.ndarray) -> np.ndarray:
        r"""$\log \pi_k N(x; m_k, C_k)$, `(n, k)`."""
        with np.errstate(divide="ignore"):  # a weight may be 0
            constants = np.log(self.weights) - self._log_dets - self.d / 2 * np.log(2 * np.pi)
        squares = [
            ((inverse @ (x - m).T) ** 2).sum(axis=0) for inverse, m in zip(self._inverses, self.means, strict=True)
        ]
        return constants - np.stack(squares, axis=1) / 2

    def marginal(self, coordinates: Sequence[int]) -> "GaussianMixture":
        """The law of some of the coordinates."""
        chosen = np.array(coordinates, int)
        return GaussianMixture(
            self.means[:, chosen], weights=self.weights, covs=self.covs[:, chosen[:, None], chosen[None]]
        )

    @property
    def line(self) -> Line | None:
        return self._line if self.d == 1 else None

    @cached_property
    def _line(self) -> Line:
        m, s = self.means[:, 0], np.sqrt(self.covs[:, 0, 0])
        return line_by_bisection(
            log_density=lambda y: self.log_density(y[:, None]),
            cdf=lambda y: ndtr((y[:, None] - m) / s) @ self.weights,
            sf=lambda y: ndtr((m - y[:, None]) / s) @ self.weights,
            score=lambda y: self.score(y[:, None])[:, 0],
            low=float((m - 10 * s).min()),
            high=float((m + 10 * s).max()),
        )

    @cached_property
    def _inverses(self) -> np.ndarray:
        return np.linalg.inv(self._factors)

    def _pulled(self, x: np.ndarray, k: int) -> np.ndarray:
        inverse = self._inverses[k]
        return (x - self.means[k]) @ (inverse.T @ inverse)

    def __repr__(self) -> str:
        return f"GaussianMixture: {len(self.weights)} Gaussians in R^{self.d}"


@final
class StandardNormal(AbstractLaw):
    r"""$N(0, I)$ on $\mathbb R^d$."""

    def __init__(self, d: Count = 1):
        self._d = whole("d", d)

    @property
    def d(self) -> int:
        return self._d

    @property
    def tails(self) -> Tails:
        return GAUSSIAN

    @property
    def mixture(self) -> GaussianMixture:
        return self._mixture

    @cached_property
    def _mixture(self) -> GaussianMixture:
        return GaussianMixture(np.zeros((1, self.d)), 1.0)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.standard_normal((n, self.d))

    def log_density(self, x: Numbers) -> np.ndarray:
        """The log density at points `(n, d)`."""
        x = points("x", x, self.d)
        return -np.einsum("nd,nd->n", x, x) / 2 - self.d / 2 * np.log(2 * np.pi)

    def score(self, x: Numbers) -> np.ndarray:
        """$-x$ at points `(n, d)`."""
        return -points("x", x, self.d)

    @property
    def line(self) -> Line | None:
        if self.d > 1:
            return None
        return Line(
            log_density=lambda x: -(x**2) / 2 - np.log(2 * np.pi) / 2,
            cdf=ndtr,
            sf=lambda x: ndtr(-x),
            quantile=ndtri,
            upper_quantile=lambda p: -ndtri(p),
            score=lambda x: -x,
        )

    def __repr__(self) -> str:
        return f"StandardNormal({self.d})"


def _covariances(means: np.ndarray, sds: Numbers | None, covs: Numbers | None) -> np.ndarray:
    k, d = means.shape
    if (sds is None) == (covs is None):
        raise InputError("give the standard deviations sds, or the covariances covs: one of the two.")
    if sds is not None:
        s = doubles("sds", sds)
        if s.shape not in ((), (k,)):
            raise InputError(f"sds have shape {s.shape} and there are {k} means; give one number, or one for each.")
        if (s <= 0).any():
            raise InputError(f"sds hold {s.min():g}; give positive numbers.")
        return np.broadcast_to(s, (k,))[:, None, None] ** 2 * np.eye(d)
    C = doubles("covs", covs)
    if C.shape != (k, d, d):
        raise InputError(f"covs have shape {C.shape}; give one matrix for each mean, ({k}, {d}, {d}).")
    symmetric = abs(C - np.swapaxes(C, 1, 2)).max() <= 1e-10 * abs(C).max()
    if not symmetric or (np.linalg.eigvalsh(C).min(axis=1) <= 0).any():
        raise InputError("covs hold a matrix that is no covariance; give symmetric and positive ones.")
    return (C + np.swapaxes(C, 1, 2)) / 2


def _masses(weights: Numbers | None, k: int) -> np.ndarray:
    if weights is None:
        return np.full(k, 1 / k)
    w = doubles("weights", weights)
    if w.shape != (k,) or (w < 0).any() or abs(w.sum() - 1) > 1e-6:
        raise InputError(f"weights must be {k} numbers, not negative, with the sum 1; they are {w.tolist()}.")
    return w / w.sum()
