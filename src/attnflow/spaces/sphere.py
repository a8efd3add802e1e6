r"""The unit sphere $S^{d-1} = \{x \in \mathbb R^d : |x| = 1\}$ and laws of tokens on it."""

import functools
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..errors import InputError
from ..registry import Entry
from ._circle import circle_nodes as circle_nodes
from ._circle import on_circle as on_circle
from ._cloud import Count, warn_if_narrowed
from ._law import checked_key, checked_shape
from ._space import AbstractSpace, in_range, inner, safe_norm


class Sphere(AbstractSpace):
    r"""The unit sphere; the tangent projection is $P_x v = v - \langle x, v\rangle x$."""

    name: ClassVar[str] = "sphere"

    @property
    def unit(self) -> bool:
        return self._moves_as(Sphere)

    def project(self, x: Float[Array, "*batch d"], v: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        warn_if_narrowed("vectors", x, v, stacklevel=3)
        return v - inner(x, v) * x

    def nearest(self, y: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        warn_if_narrowed("vectors", y, stacklevel=3)
        # The origin has no nearest point; it is kept, with a finite gradient. Any other vector has one, however long.
        z, _ = in_range(y)
        square = inner(z, z)
        return jnp.where(square == 0, y, z * jax.lax.rsqrt(jnp.where(square == 0, 1, square)))

    def holds(self, x: Float[Array, "*batch d"]) -> Bool[Array, "*batch"]:
        square = inner(x, x)[..., 0]
        return (square > 0.5) & (square < 2)  # false for not-a-number, too

    def distance(self, x: Float[Array, "*batch d"], y: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:
        warn_if_narrowed("points", x, y, stacklevel=3)
        # The angle as 2 atan2(|x-y|, |x+y|): accurate for close and for antipodal points, where arccos is not.
        return 2 * jnp.arctan2(safe_norm(x - y), safe_norm(x + y))

    def sample(self, *, n: int, d: int, key: PRNGKeyArray) -> Float[Array, "n d"]:
        return uniform(n=n, d=d, key=key)

    def check(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Unit tokens, normalised; a zero token has no direction and is refused."""
        y = np.asarray(x)
        norms = np.linalg.norm(y, axis=-1)
        if np.any(norms == 0):
            raise InputError(f"token {int(np.argmin(norms))} is zero and has no direction on the sphere; remove it.")
        if np.any(np.abs(norms - 1) > 1e-4):
            worst = int(np.argmax(np.abs(norms - 1)))
            raise InputError(
                f"token {worst} has norm {norms[worst]:.6g}, not 1; normalise the tokens, or use af.Euclidean()."
            )
        return jnp.asarray(y / norms[..., None])


def uniform(*, n: Count, d: Count, key: PRNGKeyArray) -> Float[Array, "n d"]:
    r"""`n` tokens drawn independently from the uniform law on $S^{d-1}$."""
    return _uniform(checked_shape(n, d), checked_key(key))


@functools.partial(jax.jit, static_argnums=0, inline=True)  # one small program for a new shape in place of seven
def _uniform(shape: tuple[int, int], key: PRNGKeyArray) -> Float[Array, "n d"]:
    return Sphere().nearest(jax.random.normal(key, shape))


def weyl(*, n: Count, d: Count) -> Float[Array, "n d"]:
    r"""A cloud without chance, the same on every machine.

    Rows $U_{ik} = \cos 2\pi\{i^2\sqrt2 + k i\sqrt3 + k^2\sqrt5\}$, $i = 1..n$, $k = 1..d$, each normalised, where
    $\{\cdot\}$ is the fractional part.
    """
    n, d = checked_shape(n, d)
    i, k = np.arange(1.0, n + 1)[:, None], np.arange(1.0, d + 1)[None, :]
    u = np.cos(2 * np.pi * np.mod(i**2 * np.sqrt(2) + k * i * np.sqrt(3) + k**2 * np.sqrt(5), 1))
    return jnp.asarray(u / np.linalg.norm(u, axis=-1, keepdims=True))


def orthonormal(*, n: Count, d: Count) -> Float[Array, "n d"]:
    r"""The first `n` basis vectors of $\mathbb R^d$: equiangular tokens with $\langle x_i, x_j\rangle = 0$."""
    n, d = checked_shape(n, d)
    if n > d:
        raise InputError(f"n = {n} tokens cannot be orthonormal in dimension d = {d}; take d >= n.")
    return jnp.eye(n, d)


UNIFORM = Entry("law", "uniform", uniform, "independent tokens, uniform on the sphere", spaces=("sphere",))
WEYL = Entry("law", "weyl", weyl, "a deterministic quasi-random cloud on the sphere", spaces=("sphere", "euclidean"))
ORTHONORMAL = Entry("law", "orthonormal", orthonormal, "the first n basis vectors", spaces=("sphere", "euclidean"))
