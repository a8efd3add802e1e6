r"""Points of the circle from angles, and nodes that stand for a density on it."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import finite_array, is_concrete, number, whole
from ..errors import InputError

COARSE = 0.3  # in radians: nodes are spaced geometrically up to here, and evenly farther away


def on_circle(angles: Any) -> Float[Array, "... 2"]:
    r"""The points $(\cos\theta, \sin\theta)$ of the circle, on a new last axis: tokens from angles in radians.

    >>> on_circle([0.0, np.pi]).round(6).tolist()
    [[1.0, 0.0], [-1.0, 0.0]]
    """
    if not is_concrete(angles):
        theta = jnp.asarray(angles, jnp.result_type(float))
        return jnp.stack([jnp.cos(theta), jnp.sin(theta)], axis=-1)
    theta = finite_array("angles", angles)
    return jnp.asarray(np.stack([np.cos(theta), np.sin(theta)], axis=-1), jnp.result_type(float))


def circle_nodes(
    n: Any, *, density: Any = None, at: Any = (np.pi / 2, -np.pi / 2), finest: Any = 1e-5
) -> tuple[Float[Array, "n 2"], Float[Array, " n"]]:
    r"""`n` weighted tokens that stand for a density on the circle, refined geometrically towards some angles.

    A mean-field law thins out near unstable points, exponentially in time (at low temperature near $\ker\Pi_E$). Even
    nodes leave it empty there; geometric ones leave some at every time.

    **Arguments:**

    - `n`: a multiple of twice the number of angles, at least four for each side of an angle.
    - `density`: a function of an array of angles, positive, up to a factor; `None` is the uniform one.
    - `at`: the angles to refine at.
    - `finest`: the distance of the nearest nodes to them, in radians. From there half of the nodes of a side are
      geometric up to 0.3 (or a third of the side), the rest are even up to the middle between two angles.

    The weight of a node is the density times its cell, which ends halfway to its neighbours; weights sum to one.
    `af.simulate(model, x, weights=w, ...)` takes both. Reference: docs/theory/low-temperature.md, Nodes on the circle.
    """
    centers = np.atleast_1d(finite_array("at", at))
    if centers.ndim != 1 or not centers.size:
        raise InputError(f"at has shape {centers.shape}; give at least one angle to refine at.")
    n, finest = whole("n", n, most=2**31 - 1), number("finest", finest)
    sides = 2 * centers.size
    if n % sides or n < 4 * sides:
        raise InputError(
            f"n = {n} nodes do not divide among {sides} sides; take a multiple of {sides} from {4 * sides}."
        )
    ahead, behind = _half_arcs(centers)
    least = min(ahead.min(), behind.min())
    if not 0 < finest < min(COARSE, least / 3):
        raise InputError(
            f"finest = {finest:g} must lie between 0 and {min(COARSE, least / 3):.3g}, where nodes are even."
        )
    theta, cells, points = [], [], []
    for center, *lengths in zip(centers, ahead, behind, strict=True):
        for sign, length in zip((1, -1), lengths, strict=True):
            s, cell = _graded(n // sides, finest, length)
            theta.append(center + sign * s)
            cells.append(cell)
            points.append(_turned(center, sign * s))
    angles, weights = np.concatenate(theta), np.concatenate(cells)
    if density is not None:
        weights = weights * _values(density, angles)
    kind = jnp.result_type(float)
    return jnp.asarray(np.concatenate(points), kind), jnp.asarray(weights / weights.sum(), kind)


def _half_arcs(centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far each angle reaches, forward and backward: to the middle between it and the next one."""
    turn = 2 * np.pi
    order = np.argsort(np.mod(centers, turn), kind="stable")
    sorted_ = np.mod(centers, turn)[order]
    gaps = np.append(np.diff(sorted_), sorted_[0] + turn - sorted_[-1])
    if centers.size > 1 and gaps.min() < 1e-6:
        raise InputError(f"at = {centers} has an angle twice; give different ones.")
    ahead, behind = np.empty_like(gaps), np.empty_like(gaps)
    ahead[order], behind[order] = gaps / 2, np.roll(gaps, 1) / 2
    return ahead, behind


def _graded(count: int, finest: float, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of the nodes of one side, and their cells."""
    coarse = min(COARSE, length / 3)
    s = np.concatenate(
        [
            np.geomspace(finest, coarse, count // 2, endpoint=False),
            np.linspace(coarse, length, count - count // 2),
        ]
    )
    return s, np.diff(np.concatenate([[0.0], (s[1:] + s[:-1]) / 2, [length]]))


def _turned(center: float, s: np.ndarray) -> np.ndarray:
    """The points at the angles center + s. The offset is never added to the angle, where its digits would be lost."""
    c, d = np.cos(center), np.sin(center)
    if min(abs(c), abs(d)) < 1e-15:  # a multiple of a right angle, up to the rounding of pi
        c, d = np.round(c), np.round(d)
    return np.stack([c * np.cos(s) - d * np.sin(s), d * np.cos(s) + c * np.sin(s)], axis=-1)


def _values(density: Any, angles: Any) -> np.ndarray:
    if not callable(density):
        raise InputError(f"density = {density!r} is no function; give a function of an array of angles.")
    values = finite_array("density(angles)", density(angles))
    if values.shape != angles.shape or (values < 0).any() or not (values > 0).any():
        raise InputError("density must give one number for every angle, none negative and some positive.")
    return values
