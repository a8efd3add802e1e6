"""Clouds with weights: what sources and targets are made of, checked, and laid side by side."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ...checks import finite_array, is_concrete
from ...errors import InputError, shown
from ...spaces import check_weights

UNIT = 1e-6  # how far a point may be from the sphere before it is refused


class Measure(NamedTuple):
    """Unit tokens `x (n, d)` and weights `w (n,)` that sum to one."""

    x: np.ndarray
    w: np.ndarray


class Side(NamedTuple):
    """Measures side by side: all tokens `x (M, d)`, all weights, and where each measure begins."""

    x: np.ndarray
    w: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, measures: Sequence[Measure]) -> "Side":
        sizes = np.array([len(measure.x) for measure in measures])
        x, w = (np.concatenate([measure[k] for measure in measures]) for k in (0, 1))
        return cls(x, w, np.cumsum(sizes) - sizes)

    @property
    def owner(self) -> np.ndarray:
        """The number of the measure of every token."""
        return np.repeat(np.arange(len(self.starts)), np.diff(np.append(self.starts, len(self.x))))

    @property
    def masses(self) -> np.ndarray:
        """The sum of the weights of every measure."""
        return np.bincount(self.owner, self.w, len(self.starts))

    def split(self) -> list[Measure]:
        cuts = self.starts[1:]
        return [Measure(x, w) for x, w in zip(np.split(self.x, cuts), np.split(self.w, cuts), strict=True)]


def measure(name: str, given: Any) -> Measure:
    """A cloud `(n, d)`, or a pair of it and weights `(n,)`; a vector `(d,)` is one point."""
    points, weights = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    _check_numbers(name, points)
    x = np.atleast_2d(finite_array(name, points))
    if x.ndim != 2 or 0 in x.shape:
        raise InputError(f"{name} has shape {x.shape}; give tokens as rows (n, d), or a pair of them and weights (n,).")
    if x.shape[1] < 3:
        raise InputError(
            f"{name} lives in dimension {x.shape[1]}, and this needs d >= 3: on the circle a flow that all measures "
            "share keeps the cyclic order of points."
        )
    length = np.linalg.norm(x, axis=1)
    if np.any(np.abs(length - 1) > UNIT):
        worst = int(np.argmax(np.abs(length - 1)))
        raise InputError(f"{name} has the point {worst} of length {length[worst]:.6g}; divide points by their length.")
    n = len(x)
    if weights is None:
        return Measure(x / length[:, None], np.full(n, 1 / n))
    _check_numbers(f"the weights of {name}", weights)
    w = finite_array(f"the weights of {name}", weights)
    if w.shape != (n,):
        raise InputError(f"the weights of {name} have shape {w.shape}; give one for each of its {n} points.")
    check_weights(w, n)
    if (w == 0).any():
        raise InputError(f"point {int(np.argmin(w))} of {name} has weight 0; leave it out.")
    return Measure(x / length[:, None], w / w.sum())


def _check_numbers(name: str, points: Any) -> None:
    if not is_concrete(points):
        raise InputError(f"{name} is being traced, and this is done by NumPy: call it outside jit, grad and vmap.")
    dtype = getattr(points, "dtype", None)
    if dtype is not None and jnp.issubdtype(dtype, jnp.floating) and jnp.finfo(dtype).bits < 64:
        raise InputError(f"{name}: {dtype} has too few digits for bands of width 1e-7; load or cast it in float64.")


def listed(name: str, given: Any) -> list[Any]:
    """A list of measures as it was given; an array (N, n, d) is N clouds."""
    if getattr(given, "ndim", 0) == 3 and len(given) > 0:
        return list(given)
    if isinstance(given, str | bytes) or not isinstance(given, Sequence) or len(given) == 0:
        raise InputError(f"{name} = {shown(given)} are no measures; give a list of clouds (n, d), at least one.")
    return list(given)


def measures(name: str, given: Any) -> list[Measure]:
    """All of a list of clouds, in one dimension."""
    found = [measure(f"{name}[{j}]", one) for j, one in enumerate(listed(name, given))]
    same_dimension(name, found)
    return found


def same_dimension(name: str, found: Sequence[Measure]) -> int:
    d = found[0].x.shape[1]
    for j, one in enumerate(found):
        if one.x.shape[1] != d:
            raise InputError(f"{name}[{j}] has dimension {one.x.shape[1]} and {name}[0] {d}; give them in one space.")
    return d


def unit(v: np.ndarray) -> np.ndarray:
    """Vectors `(..., d)` over their lengths; zero stays zero."""
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-300)


def angles(x: np.ndarray, y: np.ndarray) -> Any:
    """Of unit vectors `(..., d)`, to the last digit also where they are small."""
    return 2 * np.arctan2(np.linalg.norm(x - y, axis=-1), np.linalg.norm(x + y, axis=-1))
