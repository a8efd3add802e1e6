r"""Two ways to write the products of a tile: $q k^\top$ (`outer`) and $W v$ (`contract`).

`MATMUL` is for one cloud. `BROADCAST` multiplies and adds coordinate by coordinate, for ensembles of small,
low-dimensional clouds: with the realisations as a trailing axis every operation is elementwise along it, and a vector
unit works on eight or sixteen realisations at once (three times a batched matrix product at 32 tokens in the plane).
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._exponential import exp


class Algebra(NamedTuple):
    """How tiles are multiplied."""

    outer: Callable[[Float[Array, "n k"], Float[Array, "m k"]], Float[Array, "n m"]]
    squared_distance: Callable[[Float[Array, "n k"], Float[Array, "m k"]], Float[Array, "n m"]]
    contract: Callable[[Float[Array, "n m"], Float[Array, "m p"]], Float[Array, "n p"]]
    keep: Callable[[Array], Array]  # marks an array that is worth computing once and keeping
    exp: Callable[[Array], Array]


def _column(x: Float[Array, "n k"], c: int) -> Float[Array, " n"]:
    return jax.lax.index_in_dim(x, c, axis=1, keepdims=False)  # a slice, where x[:, c] would be a gather


def _outer(q: Float[Array, "n k"], k: Float[Array, "m k"]) -> Float[Array, "n m"]:
    products = [_column(q, c)[:, None] * _column(k, c)[None, :] for c in range(q.shape[1])]
    return sum(products[1:], start=products[0])


def _squared_distance(q: Float[Array, "n k"], k: Float[Array, "m k"]) -> Float[Array, "n m"]:
    squares = [(_column(q, c)[:, None] - _column(k, c)[None, :]) ** 2 for c in range(q.shape[1])]
    return sum(squares[1:], start=squares[0])


def _contract(w: Float[Array, "n m"], v: Float[Array, "m p"]) -> Float[Array, "n p"]:
    return jnp.sum(w[:, :, None] * v[None], axis=1)


# On a GPU a product of float32 matrices keeps eleven bits unless its precision is given.
matmul = functools.partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)
MATMUL = Algebra(
    lambda q, k: matmul(q, k.T),
    lambda q, k: jnp.sum((q[:, None, :] - k[None, :, :]) ** 2, axis=-1),
    matmul,
    lambda a: a,
    exp,
)
# Without the barrier the compiler would fuse the exponentials into each of the sums that use them, and repeat them. It
# takes the barrier for a hint only, and an exponential that is written out for cheap: so here is XLA's own.
BROADCAST = Algebra(_outer, _squared_distance, _contract, jax.lax.optimization_barrier, jnp.exp)
