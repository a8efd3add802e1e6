r"""What a law of points of $\mathbb R^d$ can do; what it cannot, it says by `None`."""

import abc
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ....checks import whole
from ....spaces import Count, Key, generator
from .line import Line
from .tail import Tails

if TYPE_CHECKING:
    from .mixture import GaussianMixture


class Box(NamedTuple):
    """The points with `low <= x <= high`, two vectors `(d,)`."""

    low: np.ndarray
    high: np.ndarray

    @property
    def sides(self) -> np.ndarray:
        return self.high - self.low

    @property
    def volume(self) -> float:
        return float(np.prod(self.sides))

    def contains(self, x: np.ndarray) -> np.ndarray:
        """Which rows of `x (n, d)` are inside."""
        return np.asarray(((x >= self.low) & (x <= self.high)).all(axis=1))


class AbstractLaw(abc.ABC):
    r"""A probability measure on $\mathbb R^d$: it has a dimension `d`, and `sample(n, key=key)` draws points `(n, d)`.

    A law with a density has a method `log_density(x (n, d)) -> (n,)`. The rest is declared: `line` (distribution
    functions, on the line alone), `mixture` (a closed form of the flow that leads there), `tails` (how fast the density
    falls off), `box` (outside of which it is zero).
    """

    @property
    @abc.abstractmethod
    def d(self) -> int:
        """The dimension of points."""

    @abc.abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n points `(n, d)`, by a generator of NumPy."""

    def sample(self, n: Count, *, key: Key) -> np.ndarray:
        """n points `(n, d)`."""
        return self.draw(whole("n", n), generator(key))

    @property
    def normalized(self) -> bool:
        """Whether the density, if there is one, has mass 1."""
        return True

    @property
    def line(self) -> Line | None:
        """Distribution functions, if the law is on the line and knows them."""
        return None

    @property
    def mixture(self) -> "GaussianMixture | None":
        """The law as a mixture of Gaussians, if it is one."""
        return None

    @property
    def tails(self) -> Tails | None:
        """How the density falls off, if that is known."""
        return None

    @property
    def box(self) -> Box | None:
        """A box outside of which the density is zero, if it is known."""
        return None
