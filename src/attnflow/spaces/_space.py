"""Where tokens live.

A space is a few pure functions on arrays whose last axis is the coordinate:

- `project(x, v)`: the part of a vector `v` tangent to the space at `x`;
- `nearest(y)`: the point of the space closest to `y`;
- `retract(x, v)`: where a step `v` from `x` lands, `nearest(x + v)`;
- `distance(x, y)`: along the space;
- `sample(n=, d=, key=)`: `n` tokens from its reference law;
- `check(x)`: refuse, in one sentence, coordinates that are no points of it;
- `holds(x)`: whether what `nearest` gave are points of it: finite, and on the sphere not the origin.

Models never touch coordinates: the field of a model is `project(x, force)`, and solvers that step with the force
itself (the authors' Euler scheme, discrete layers) use `retract`.
"""

import abc
import math
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray


class AbstractSpace(eqx.Module):
    """The contract of a space; see the module's docstring."""

    name: ClassVar[str]

    @property
    def unit(self) -> bool:
        """Whether it is the unit sphere, with its tangent projection."""
        return False

    @property
    def flat(self) -> bool:
        r"""Whether it is all of $\mathbb R^d$: nothing is projected or retracted."""
        return False

    def _moves_as(self, kind: type) -> bool:
        return all(getattr(type(self), name) is getattr(kind, name) for name in ("project", "nearest", "retract"))

    @abc.abstractmethod
    def project(self, x: Float[Array, "*batch d"], v: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]: ...

    @abc.abstractmethod
    def nearest(self, y: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]: ...

    @abc.abstractmethod
    def distance(self, x: Float[Array, "*batch d"], y: Float[Array, "*batch d"]) -> Float[Array, "*batch"]: ...

    @abc.abstractmethod
    def sample(self, *, n: int, d: int, key: PRNGKeyArray) -> Float[Array, "n d"]: ...

    @abc.abstractmethod
    def check(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]: ...

    def holds(self, x: Float[Array, "*batch d"]) -> Bool[Array, "*batch"]:
        """Whether each of these, as `nearest` gave them, is a point of the space."""
        return jnp.isfinite(x).all(axis=-1)

    def retract(self, x: Float[Array, "*batch d"], v: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """Where the step `v` from `x` lands."""
        return self.nearest(x + v)


def inner(x: Float[Array, "*batch d"], y: Float[Array, "*batch d"]) -> Float[Array, "*batch 1"]:
    """`<x, y>` of each pair of rows, the last axis kept.

    Added by halves: a sum along the last axis is compiled one addition after the other, a sum of halves to vectors.
    """
    a = x * y
    while a.shape[-1] > 32:
        half = a.shape[-1] // 2
        rest = a[..., 2 * half :]
        a = a[..., :half] + a[..., half : 2 * half]
        a = jnp.concatenate([a, rest], axis=-1) if rest.shape[-1] else a
    return jnp.sum(a, axis=-1, keepdims=True)


def power_in_range(square: Float[Array, "*any"]) -> Float[Array, "*any"]:
    """A power of two, one nearly everywhere, by which to multiply a vector so that its `square` does not overflow."""
    kind = jnp.finfo(square.dtype)
    down, up = (2.0**-600, 2.0**600) if kind.bits == 64 else (2.0**-75, 2.0**100)
    power = jnp.where(square < kind.tiny / kind.eps, up, jnp.ones_like(square))
    return jnp.where(square < kind.max, power, down)


def in_range(x: Float[Array, "*batch d"]) -> tuple[Float[Array, "*batch d"], Float[Array, "*batch 1"]]:
    """Rows times a power of two, so that they can be squared; and that power."""
    power = power_in_range(jax.lax.stop_gradient(inner(x, x)))
    return x * power, power


def order_one(points: np.ndarray) -> float:
    """The power of two that brings points to order one, where lengths can be squared."""
    return math.ldexp(1.0, max(-1000, min(1000, -math.frexp(float(np.abs(points).max(initial=0.0)))[1])))


def safe_norm(x: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:
    """`|x|` with the gradient zero at the origin, where it has none; no square over- or underflows."""
    x, power = in_range(x)
    square = jnp.sum(x * x, axis=-1)
    return jnp.where(square == 0, 0, jnp.sqrt(jnp.where(square == 0, 1, square)) / power[..., 0])
