"""The input of the detectors of limits: final tokens, velocities, two matrices; and the grouping of tokens."""

from typing import Any

import jax
import numpy as np

from ..errors import InputError, shown
from ..flows.linkage import tree_components

LINK = 1e-3  # tokens closer than this part of the largest one have met
REST = 0.1  # they rest when no token moves faster than this part of the linking distance


def cluster_points(z: Any, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """Single linkage of points `(n, d)`: labels `(n,)`, numbered in order of first appearance, and centroids."""
    z = final_tokens(z)
    first, labels = np.unique(tree_components(z, linking_distance(eps)), return_inverse=True)
    centroids = np.zeros((len(first), z.shape[1]))
    np.add.at(centroids, labels, z)
    return labels, centroids / np.bincount(labels)[:, None]


def final_tokens(z: Any) -> np.ndarray:
    """Tokens at one time as `(n, d)`, refused in a sentence otherwise."""
    z = real_numbers(z, "tokens", "give an array (n, d), tokens as rows")
    if z.ndim != 2 or 0 in z.shape:
        raise InputError(f"tokens have shape {z.shape}; give those of one time, (n, d), for example zs[-1].")
    if not np.isfinite(z).all():
        raise InputError(f"token {np.argwhere(~np.isfinite(z))[0, 0]} is not finite; end the run before it overflows.")
    return z


def real_numbers(values: Any, what: str, remedy: str) -> np.ndarray:
    """An array of real numbers, finite or not; text and truth values are refused."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiu":
            raise TypeError
        return array.astype(float)
    except (TypeError, ValueError, jax.errors.TracerArrayConversionError):
        raise InputError(f"a {type(values).__name__} holds no {what} that are numbers; {remedy}.") from None


def linking_distance(eps: Any) -> float:
    """A distance greater than zero, refused in a sentence otherwise."""
    distance = real_numbers(eps, "distances", "take a number greater than 0")
    if not (distance.ndim == 0 and np.isfinite(distance) and distance > 0):
        raise InputError(f"eps = {shown(eps)} is no linking distance; take a number greater than 0.")
    return float(distance)


def default_distance(size: float) -> float:
    """The linking distance for tokens of that size; tokens that are all at 0 have met at any."""
    return LINK * size if size > 0 else LINK


def fastest(speed: Any, n: int) -> float | None:
    """The largest of the speeds `(n,)`, or of the lengths of the velocities `(n, d)`; `None` if there are none."""
    if speed is None:
        return None
    speed = real_numbers(speed, "speeds", f"give ({n},), or velocities ({n}, d)")
    if speed.ndim not in (1, 2) or len(speed) != n or 0 in speed.shape:
        raise InputError(f"speed has shape {speed.shape}; give ({n},), or velocities ({n}, d).")
    if not np.isfinite(speed).all():
        raise InputError(f"the speed of token {np.argwhere(~np.isfinite(speed))[0, 0]} is not finite; give numbers.")
    return float(np.max(np.hypot.reduce(speed, axis=1) if speed.ndim == 2 else np.abs(speed)))


def at_rest(speed: float | None, eps: float) -> bool | None:
    """Whether the fastest token is slow enough to call a limit one; `None` if its speed is not known."""
    return None if speed is None else bool(speed < REST * eps)


def moving(speed: float | None, eps: float) -> str:
    """The sentence that says whether tokens rest."""
    if speed is None:
        return "Whether the tokens rest is not known: give their velocities as speed=."
    if at_rest(speed, eps):
        return f"The tokens rest: the fastest has speed {speed:.2g}."
    return f"Not converged: the fastest token has speed {speed:.2g}, and rest would be below {REST * eps:.2g}."


def listed(values: Any, digits: int = 4) -> str:
    """`0.656 and -0.701`."""
    words = [f"{v:.{digits}g}" for v in np.ravel(values)]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else "none"


def plural(count: int, word: str, many: str | None = None) -> str:
    """`1 vertex`, `4 vertices`."""
    return f"{count} {word if count == 1 else many or word + 's'}"
