"""Frozen distributions of `scipy.stats` as laws."""

from functools import cached_property
from typing import Any, final

import numpy as np
from scipy import stats

from ....errors import InputError
from ....spaces import Numbers
from ...schedules.checked import points
from .law import AbstractLaw, Box
from .line import Line, differentiated
from .tail import COMPACT, Tail, Tails, heavier_first, tail_of_values

DISTANCES = 2.0 ** np.arange(-2, 41)


@final
class ScipyLaw(AbstractLaw):
    """A continuous distribution on the line, such as `scipy.stats.gamma(3)`."""

    def __init__(self, frozen: stats.distributions.rv_frozen):
        if not hasattr(frozen, "logpdf") or not hasattr(frozen.dist, "pdf"):
            raise InputError(f"{_name(frozen)} has no density; give a continuous distribution.")
        self.frozen: Any = frozen
        if not np.isfinite(self._quantiles).all():
            raise InputError(f"{_name(frozen)} has no quantiles with these parameters; give valid ones.")

    @property
    def d(self) -> int:
        return 1

    @property
    def box(self) -> Box | None:
        low, high = map(float, self.frozen.support())
        return Box(np.array([low]), np.array([high])) if np.isfinite([low, high]).all() else None

    @property
    def tails(self) -> Tails | None:
        return self._tails

    @cached_property
    def _tails(self) -> Tails | None:
        ends = [self._tail(side, end) for side, end in zip((-1, 1), self.frozen.support(), strict=True)]
        return None if None in ends else heavier_first(*ends)  # type: ignore[arg-type]

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(self.frozen.rvs(size=(n, 1), random_state=rng), float)

    def log_density(self, x: Numbers) -> np.ndarray:
        """The log density at points `(n, 1)`."""
        return self.frozen.logpdf(points("x", x, 1)[:, 0])

    @property
    def line(self) -> Line:
        frozen, scale = self.frozen, float(np.ptp(self._quantiles))
        return Line(
            log_density=frozen.logpdf,
            cdf=frozen.cdf,
            sf=frozen.sf,
            quantile=frozen.ppf,
            upper_quantile=frozen.isf,
            score=lambda y: differentiated(frozen.logpdf, y, scale),
        )

    @cached_property
    def _quantiles(self) -> np.ndarray:
        return np.asarray(self.frozen.ppf([0.25, 0.5, 0.75]), float)

    def _tail(self, side: int, end: float) -> Tail | None:
        if np.isfinite(end):
            return COMPACT
        first, middle, last = self._quantiles
        with np.errstate(all="ignore"):
            return tail_of_values(DISTANCES, -self.frozen.logpdf(middle + side * (last - first) * DISTANCES))

    def __repr__(self) -> str:
        return f"ScipyLaw: {_name(self.frozen)}"


@final
class ScipyVectors(AbstractLaw):
    """A distribution of vectors, such as `scipy.stats.multivariate_normal(mean, cov)`."""

    def __init__(self, frozen: Any):
        self.frozen = frozen

    @property
    def d(self) -> int:
        return int(self.frozen.dim)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.reshape(self.frozen.rvs(size=n, random_state=rng), (n, self.d))

    def log_density(self, x: Numbers) -> np.ndarray:
        """The log density at points `(n, d)`."""
        return np.reshape(self.frozen.logpdf(points("x", x, self.d)), -1)

    def __repr__(self) -> str:
        return f"ScipyVectors: {type(self.frozen).__name__}"


def _name(frozen: stats.distributions.rv_frozen) -> str:
    return f"scipy.stats.{frozen.dist.name}"
