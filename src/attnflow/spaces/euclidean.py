r"""The whole space $\mathbb R^d$ and laws of tokens in it."""

from typing import ClassVar

import jax
from jaxtyping import Array, Float, PRNGKeyArray

from ..registry import Entry
from ._cloud import Count
from ._law import checked_key, checked_shape
from ._space import AbstractSpace, safe_norm


class Euclidean(AbstractSpace):
    r"""$\mathbb R^d$: nothing to project, nothing to retract."""

    name: ClassVar[str] = "euclidean"

    @property
    def flat(self) -> bool:
        return self._moves_as(Euclidean)

    def project(self, x: Float[Array, "*batch d"], v: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        return v

    def nearest(self, y: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        return y

    def distance(self, x: Float[Array, "*batch d"], y: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:
        return safe_norm(x - y)

    def sample(self, *, n: int, d: int, key: PRNGKeyArray) -> Float[Array, "n d"]:
        return gaussian(n=n, d=d, key=key)

    def check(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        return x


def gaussian(*, n: Count, d: Count, key: PRNGKeyArray) -> Float[Array, "n d"]:
    r"""`n` tokens drawn independently from the standard normal law on $\mathbb R^d$."""
    return jax.random.normal(checked_key(key), checked_shape(n, d))


GAUSSIAN = Entry("law", "gaussian", gaussian, "independent standard normal tokens", spaces=("euclidean",))
