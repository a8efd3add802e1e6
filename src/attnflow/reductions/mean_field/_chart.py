r"""The two one-dimensional spaces in which a law can be followed on a grid, each with one coordinate.

A grid is `cells` intervals of equal width between two ends. On the circle the ends are the angles 0 and $2\pi$, the
same point. On the line they move with the flow: the end $a$ of an interval that contains the support obeys
$\dot a = \Gamma_\mu(a)$, a characteristic, which no mass can pass. So nothing leaves the interval, and it follows the
support.
"""

import abc
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...errors import InputError
from ...spaces import Euclidean, Sphere


def namespace(a: Any) -> Any:
    """NumPy for NumPy's arrays, JAX for others: properties of a finished law need no compilation."""
    return np if isinstance(a, np.ndarray) else jnp


class AbstractChart(abc.ABC):
    """A coordinate, the points of the space it stands for, and the speed along it."""

    d: ClassVar[int]
    periodic: ClassVar[bool]
    coordinate: ClassVar[str]

    @abc.abstractmethod
    def points(self, at: Any) -> Any:
        """Coordinates `(..., n)` as tokens `(..., n, d)`, in NumPy or JAX as they come."""

    @abc.abstractmethod
    def speed(self, at: Float[Array, " n"], velocity: Float[Array, "n d"]) -> Float[Array, " n"]: ...


class Circle(AbstractChart):
    """The unit circle, by the angle."""

    d, periodic, coordinate = 2, True, "angle"

    def points(self, at: Any) -> Any:
        xp = namespace(at)
        return xp.stack([xp.cos(at), xp.sin(at)], axis=-1)

    def speed(self, at: Float[Array, " n"], velocity: Float[Array, "n d"]) -> Float[Array, " n"]:
        return jnp.cos(at) * velocity[:, 1] - jnp.sin(at) * velocity[:, 0]


class Line(AbstractChart):
    """The line."""

    d, periodic, coordinate = 1, False, "x"

    def points(self, at: Any) -> Any:
        return at[..., None]

    def speed(self, at: Float[Array, " n"], velocity: Float[Array, "n d"]) -> Float[Array, " n"]:
        return velocity[:, 0]


CHARTS: dict[str, AbstractChart] = {Sphere.name: Circle(), Euclidean.name: Line()}
TURN = 2 * np.pi


def chart_of(model: Any) -> AbstractChart:
    """The chart of a model's space."""
    if model.space.name not in CHARTS:
        raise InputError(f"mean_field knows the circle and the line, not {type(model.space).__name__}; use simulate.")
    return CHARTS[model.space.name]


def faces(ends: Any, cells: int) -> Any:
    """The `cells + 1` faces between two ends `(..., 2)`, the ends among them to the last digit; NumPy or JAX."""
    share = (np.arange(cells + 1) / cells).astype(ends.dtype).reshape((1,) * (ends.ndim - 1) + (-1,))
    return (1 - share) * ends[..., :1] + share * ends[..., 1:]


def centres(edges: Any) -> Any:
    """The middle of every cell."""
    return (edges[..., 1:] + edges[..., :-1]) / 2
