"""The numbers of a construction: float64, or fractions for a certificate. The steps are written once for both.

Constants are ratios of integers (`3 * D / 2`, not `1.5 * D`), so that fractions stay fractions.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

Number = float | int | Fraction


@dataclass(frozen=True)
class Arithmetic:
    """`bits`: how many binary digits a position keeps below the largest one; `exact`: whether sums never round."""

    name: str
    exact: bool
    bits: int

    @property
    def remedy(self) -> str:
        """What to do with tokens that are too close."""
        return "separate them" if self.exact else "separate them, or use exact=True"

    def array(self, values: Any) -> np.ndarray:
        """`values` as an array of these numbers."""
        if not self.exact:
            return np.asarray(values, float)
        given = np.asarray(values, object)
        return np.array([fraction(v) for v in given.ravel()], object).reshape(given.shape)

    def zeros(self, *shape: int) -> np.ndarray:
        return self.array(np.zeros(shape))

    def direction(self, rng: np.random.Generator, d: int) -> np.ndarray:
        """A generic direction: Gaussian, or of random integers."""
        return self.array(rng.integers(1, 50, d) * rng.choice([-1, 1], d) if self.exact else rng.standard_normal(d))

    def circle(self, count: int) -> np.ndarray:
        r"""Points $(\cos\theta, \sin\theta)$ with evenly spaced cosines in (0, 1), largest first.

        So neither the first coordinates nor the angles come close. Fractions take
        $\left(\frac{1-t^2}{1+t^2}, \frac{2t}{1+t^2}\right)$ with $t$ near $\tan\frac\theta2$.
        """
        cosine = np.arange(count, 0, -1) / (count + 1)
        if not self.exact:
            return np.stack([cosine, np.sqrt(1 - cosine**2)], axis=1)
        t = self.array(np.round(np.sqrt((1 - cosine) / (1 + cosine)) * 2**20) / 2**20)
        return np.stack([(1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)], axis=1)

    def grid(self, largest: Any) -> Any:
        """The spacing, a power of two, to which positions up to `4 * largest` are rounded."""
        return floor_power(4 * largest) / 2**self.bits


FLOATS = Arithmetic("float64", exact=False, bits=51)
RATIONALS = Arithmetic("rational", exact=True, bits=400)


def fraction(value: Any) -> Fraction:
    """The number itself; a NumPy integer inside a Fraction could not be hashed, so it becomes one of Python first."""
    return Fraction(value.item() if isinstance(value, np.generic) else value)


def floor_power(x: Any) -> Any:
    """The largest power of two that is at most `x > 0`."""
    if not isinstance(x, Fraction):
        return math.ldexp(1.0, math.frexp(x)[1] - 1)
    power = Fraction(2) ** (x.numerator.bit_length() - x.denominator.bit_length())
    return power if power <= x else power / 2
