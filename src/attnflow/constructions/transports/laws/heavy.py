r"""Laws with tails heavier than Gaussian ones: Student's, Cauchy's, Laplace's."""

from typing import final

import numpy as np
from scipy import stats
from scipy.special import gammaln

from ....checks import number, whole
from ....errors import InputError
from ....spaces import Count, Number, Numbers
from ...schedules.checked import points
from .law import AbstractLaw
from .line import Line
from .tail import Tails, equal_tails


@final
class Student(AbstractLaw):
    r"""Student's law, $\rho(x) \propto (1 + |x - m|^2/(\nu s^2))^{-(\nu + d)/2}$, with `location` m and `scale` s.

    Moments of orders below $\nu$ are finite.
    """

    def __init__(self, nu: Number, d: Count = 1, *, location: Numbers = 0.0, scale: Number = 1.0):
        self.nu, self._d = _positive("nu", nu), whole("d", d)
        self.location, self.scale = _location(location, self._d), _positive("scale", scale)

    @property
    def d(self) -> int:
        return self._d

    @property
    def tails(self) -> Tails:
        return equal_tails("power", self.nu)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        stretch = np.sqrt(self.nu / rng.chisquare(self.nu, n))
        return self.location + self.scale * stretch[:, None] * rng.standard_normal((n, self.d))

    def log_density(self, x: Numbers) -> np.ndarray:
        """The log density at points `(n, d)`."""
        z, nu, d = self._reduced(x), self.nu, self.d
        constant = gammaln((nu + d) / 2) - gammaln(nu / 2) - d / 2 * np.log(nu * np.pi) - d * np.log(self.scale)
        return constant - (nu + d) / 2 * np.log1p((z**2).sum(axis=1) / nu)

    def score(self, x: Numbers) -> np.ndarray:
        r"""$\nabla\log\rho$ at points `(n, d)`."""
        z = self._reduced(x)
        return -(self.nu + self.d) / self.scale * z / (self.nu + (z**2).sum(axis=1, keepdims=True))

    @property
    def line(self) -> Line | None:
        if self.d > 1:
            return None
        return scipy_line(stats.t(self.nu, float(self.location[0]), self.scale), self)

    def _reduced(self, x: Numbers) -> np.ndarray:
        return (points("x", x, self.d) - self.location) / self.scale

    def __repr__(self) -> str:
        return f"Student(nu={self.nu:g}, d={self.d})"


def Cauchy(*, location: Number = 0.0, scale: Number = 1.0) -> Student:
    r"""Cauchy's law on the line, $\rho(x) = 1/(\pi s(1 + (x - m)^2/s^2))$: Student's with $\nu = 1$, without a mean."""
    return Student(1.0, location=location, scale=scale)


@final
class Laplace(AbstractLaw):
    r"""Laplace's law on the line, $\rho(x) = e^{-|x - m|/s}/(2s)$."""

    def __init__(self, *, location: Number = 0.0, scale: Number = 1.0):
        self.location, self.scale = _location(location, 1), _positive("scale", scale)

    @property
    def d(self) -> int:
        return 1

    @property
    def tails(self) -> Tails:
        return equal_tails("exponential", 1.0)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.location + rng.laplace(scale=self.scale, size=(n, 1))

    def log_density(self, x: Numbers) -> np.ndarray:
        """The log density at points `(n, 1)`."""
        return -abs(points("x", x, 1) - self.location)[:, 0] / self.scale - np.log(2 * self.scale)

    def score(self, x: Numbers) -> np.ndarray:
        """The derivative of the log density at points `(n, 1)`."""
        return -np.sign(points("x", x, 1) - self.location) / self.scale

    @property
    def line(self) -> Line:
        return scipy_line(stats.laplace(float(self.location[0]), self.scale), self)

    def __repr__(self) -> str:
        return f"Laplace(location={self.location[0]:g}, scale={self.scale:g})"


def scipy_line(frozen: stats.distributions.rv_frozen, law: "Student | Laplace") -> Line:
    """The distribution functions of SciPy, with the density and the score of the law."""
    return Line(
        log_density=lambda y: law.log_density(y[:, None]),
        cdf=frozen.cdf,
        sf=frozen.sf,
        quantile=frozen.ppf,
        upper_quantile=frozen.isf,
        score=lambda y: law.score(y[:, None])[:, 0],
    )


def _positive(name: str, value: Number) -> float:
    if (checked := number(name, value)) <= 0:
        raise InputError(f"{name} = {checked:g} must be positive.")
    return checked


def _location(value: Numbers, d: int) -> np.ndarray:
    return points("location", np.broadcast_to(np.asarray(value), (1, d)), d)[0]
