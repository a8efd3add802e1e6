"""Laws derived from others by maps: of some coordinates, and of points before a map."""

from typing import Protocol, runtime_checkable

import numpy as np

from .laws import AbstractLaw, Samples


@runtime_checkable
class Invertible(Protocol):
    """A map that brings points back."""

    def inverse(self, y: np.ndarray, /) -> np.ndarray: ...


class _Coordinates(AbstractLaw):
    """The law of some coordinates."""

    def __init__(self, law: AbstractLaw, chosen: np.ndarray):
        self.law, self.chosen = law, chosen

    @property
    def d(self) -> int:
        return len(self.chosen)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.law.draw(n, rng)[:, self.chosen]


class _Before(AbstractLaw):
    """The law of points whose images have the law that is given."""

    def __init__(self, law: AbstractLaw, change: Invertible):
        self.law, self.change = law, change

    @property
    def d(self) -> int:
        return self.law.d

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.change.inverse(self.law.draw(n, rng))


def marginal(law: AbstractLaw, coordinates: np.ndarray) -> AbstractLaw:
    """The law of some of the coordinates."""
    if (mixture := law.mixture) is not None:
        return mixture.marginal(coordinates.tolist())
    return Samples(law.x[:, coordinates]) if isinstance(law, Samples) else _Coordinates(law, coordinates)


def before(law: AbstractLaw, change: Invertible) -> AbstractLaw:
    """The law of points whose images have the law that is given."""
    return Samples(change.inverse(law.x)) if isinstance(law, Samples) else _Before(law, change)
