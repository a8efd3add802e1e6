r"""Shared parts of random models: a natural step, a key for every layer, and readings through random scores."""

import abc
import itertools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..attention import Softmax
from ..errors import InputError
from ..pairsums import AbstractPairs
from ..pairsums.algebra import BROADCAST, MATMUL, matmul
from ..spaces import AbstractSpace, Sphere
from ._model import AbstractModel


class AbstractRandomModel(AbstractModel):
    """A model that draws its force anew in every layer: a sequence of random maps, and no field.

    `dt` is the time that a layer takes; layer $k$ begins at $k\\,dt$. All tokens of a run see the same draw. They live
    on the sphere, in the time of the limit of many small layers.
    """

    @property
    def space(self) -> AbstractSpace:
        return Sphere()

    @property
    def clock(self) -> str:
        return "limit time"

    @property
    @abc.abstractmethod
    def dt(self) -> Float[Array, ""]: ...

    def layer_key(self, t: ArrayLike, key: PRNGKeyArray | None) -> PRNGKeyArray:
        """The key of the layer that begins at time `t`, the same for all tokens."""
        if key is None:
            raise InputError(f"{type(self).__name__} draws at random; give a key, for example key=jax.random.key(0).")
        t = jnp.asarray(t)
        return jax.random.fold_in(key, jnp.round(t / self.dt.astype(t.dtype)).astype(jnp.int32))


def contract(a: Float[Array, "n k"], b: Float[Array, "k p"], kernel: str) -> Float[Array, "n p"]:
    """A product of small matrices, in the way that suits the layout of an ensemble."""
    return (BROADCAST if kernel == "broadcast" else MATMUL).contract(a, b)


def score_shapes(r: int, rank: int | None) -> list[tuple[int, int]]:
    r"""Of the Gaussian matrices whose product, over $\sqrt k$ for heads of `rank` $k$, is $B$ in dimension `r`."""
    return [(r, r)] if rank is None else [(r, rank), (rank, r)]


def gaussian_matrices(key: PRNGKeyArray, count: int, shapes: list[tuple[int, int]], dtype: Any) -> list[Array]:
    """`count` matrices of each shape with entries $N(0, 1)$, `(count, *shape)`.

    All numbers come from one draw: a second one would cost as much again to compile, and keys of its own.
    """
    sizes = [rows * columns for rows, columns in shapes]
    numbers = jax.random.normal(key, (count, sum(sizes)), dtype)
    pieces = jnp.split(numbers, list(itertools.accumulate(sizes[:-1])), axis=1)
    return [piece.reshape(count, *shape) for piece, shape in zip(pieces, shapes, strict=True)]


def random_readings(
    scores: list[Array],
    beta: Any,
    x: Float[Array, "n r"],
    w: Float[Array, " n"] | None,
    *,
    pairs: AbstractPairs,
    kernel: str,
) -> Float[Array, "count n r"]:
    r"""$m_i = \sum_jA_{ij}x_j$ with $A = \operatorname{softmax}(\beta x_i^\top Bx_j)$, for many matrices $B$.

    `scores` are the factors of $B$, in the shapes of `score_shapes`: $B$ itself, or $Q^\top$ and $K$ of
    $B = Q^\top K/\sqrt k$.
    """
    if len(scores) == 2:
        beta = beta / scores[1].shape[1] ** 0.5
    attention = Softmax(beta=beta)

    def reading(matrices: list[Array]) -> Float[Array, "n r"]:
        queries = x
        for M in matrices:
            queries = contract(queries, M, kernel)
        return attention(queries, x, w, pairs=pairs, kernel=kernel)

    return jax.vmap(reading)(scores)


def orthonormal_frame(x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    """Orthonormal rows that span the rows of `x`, token by token; zero for one that adds no direction.

    Gram and Schmidt, each projection done twice, which keeps every digit. (LAPACK's QR takes ten times as long for a
    batch of tall matrices here, and a Cholesky factor of the Gram matrix loses half the digits of nearby tokens.)
    """

    def orthogonalize(i: Array, frame: Float[Array, "n d"]) -> Float[Array, "n d"]:
        v = x[i]
        for _ in range(2):
            v = v - matmul(matmul(frame, v), frame)
        length = jnp.sqrt(jnp.sum(v * v))
        return frame.at[i].set(jnp.where(length > 0, v / jnp.where(length > 0, length, 1), 0))

    return jax.lax.fori_loop(0, x.shape[0], orthogonalize, jnp.zeros_like(x))


def value_deviation(sigma_V: Any, d: int, dtype: Any) -> Float[Array, ""]:
    r"""$\sigma_V$, by default $1/\sqrt d$."""
    return jnp.asarray(d**-0.5 if sigma_V is None else sigma_V, dtype)
