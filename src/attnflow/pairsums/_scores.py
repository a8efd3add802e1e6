r"""The score $s_{ij}$ of a query $x_i$ and a key $y_j$, before any reduction.

Every score is, up to biases, an inner product of projected tokens,

$$ s_{ij} = \langle q_i, k_j\rangle + a_i + c_j, $$

and `project` gives `(q, k, a, c)`. An engine projects once, cuts `q, a` and `k, c` into tiles, and calls `logits` for
the scores of a tile; so a score never sees how the sum is organised.
"""

import abc
import functools
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..checks import flag, real_array
from ..errors import InputError
from .algebra import MATMUL, Algebra, matmul


class Projected(NamedTuple):
    """Queries, keys, and what is added per query and per key (`None`: nothing)."""

    queries: Float[Array, "n k"]
    keys: Float[Array, "m k"]
    query_bias: Float[Array, " n"] | None = None
    key_bias: Float[Array, " m"] | None = None


def _matrix(name: str, value: Float[ArrayLike, "k d"] | None) -> Float[Array, "k d"] | None:
    return None if value is None else real_array(name, value, 2)


class AbstractScore(eqx.Module):
    """The contract of a score: project and transpose; isotropic if it depends on `<x, y>` alone.

    The rest follows from the projection; a score that must not be an inner product writes it anew.
    """

    @abc.abstractmethod
    def project(self, x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Projected: ...

    @property
    @abc.abstractmethod
    def T(self) -> "AbstractScore":
        """The score with the roles of query and key exchanged: `score.T(y, x) = score(x, y)` transposed."""

    @property
    @abc.abstractmethod
    def isotropic(self) -> bool: ...

    @property
    def zonal(self) -> tuple[Float[Array, ""], Float[ArrayLike, ""]] | None:
        r"""$(\beta, s_0)$ with $s = s_0 + \beta(\langle x, y\rangle - 1)$ between unit tokens, or `None`."""
        return None

    @property
    def is_bilinear(self) -> bool:
        r"""Whether $s = \beta\langle x, By\rangle$, with attributes `beta` and `matrix` ($B$; `None`: $I$)."""
        return False

    @property
    def is_product(self) -> bool:
        """Whether the scores are the inner products of what `project` gives, and biases, and nothing else."""
        return type(self).logits is AbstractScore.logits

    def logits(self, tile: Projected, algebra: Algebra = MATMUL) -> Float[Array, "n m"]:
        """Scores of a tile of projected queries against a tile of projected keys."""
        s = algebra.outer(tile.queries, tile.keys)
        if tile.query_bias is not None:
            s = s + tile.query_bias[:, None]
        return s if tile.key_bias is None else s + tile.key_bias[None, :]

    def bound(self, tile: Projected) -> Float[Array, " n"]:
        """An upper bound of each query's scores, cheaper than they are: Cauchy and Schwarz."""
        longest = jnp.sqrt(jnp.max(jnp.sum(tile.keys * tile.keys, axis=1)))
        bound = jnp.sqrt(jnp.sum(tile.queries * tile.queries, axis=1)) * longest
        if tile.query_bias is not None:
            bound = bound + tile.query_bias
        return bound if tile.key_bias is None else bound + jnp.max(tile.key_bias)

    def matched(self, tile: Projected) -> Float[Array, " n"]:
        """The score of each query for the key with the same number; as many keys as queries."""
        s = jnp.sum(tile.queries * tile.keys, axis=1)
        for bias in (tile.query_bias, tile.key_bias):
            s = s if bias is None else s + bias
        return s


def check_width(name: str, matrix: Float[Array, "p e"], d: int) -> None:
    """Refuse a matrix that cannot be applied to tokens of dimension `d`."""
    if matrix.shape[1] != d:
        raise InputError(f"{name} is a {matrix.shape[0]}-by-{matrix.shape[1]} matrix, for tokens of dimension {d}.")


class Inner(AbstractScore):
    r"""$s_{ij} = \beta\, x_i^\top B\, y_j$; `B=None` is the identity, and `Q, K` stand for $B = Q^\top K$."""

    beta: Float[Array, ""]
    B: Float[Array, "d e"] | None
    Q: Float[Array, "k d"] | None
    K: Float[Array, "k e"] | None

    def __init__(
        self,
        beta: ArrayLike,
        B: Float[ArrayLike, "d e"] | None = None,
        *,
        Q: Float[ArrayLike, "k d"] | None = None,
        K: Float[ArrayLike, "k e"] | None = None,
    ):
        self.beta = real_array("beta", beta, 0)
        self.B, self.Q, self.K = (_matrix(name, value) for name, value in (("B", B), ("Q", Q), ("K", K)))

    def project(self, x: Float[Array, "n d"], y: Float[Array, "m e"]) -> Projected:
        queries, keys = x, y
        if self.B is not None:
            check_width("B", self.B.T, x.shape[1])
            check_width("B", self.B, y.shape[1])
            queries = matmul(queries, self.B.astype(x.dtype))
        if self.Q is not None:
            check_width("Q", self.Q, x.shape[1])
            queries = matmul(queries, self.Q.astype(x.dtype).T)
        if self.K is not None:
            check_width("K", self.K, y.shape[1])
            keys = matmul(keys, self.K.astype(y.dtype).T)
        return Projected(self.beta.astype(x.dtype) * queries, keys)

    @property
    def matrix(self) -> Float[Array, "d e"] | None:
        r"""$B$ or $Q^\top K$, whichever was given; `None` for the identity."""
        factors = [a for a in (self.B, None if self.Q is None else self.Q.T, self.K) if a is not None]
        return functools.reduce(matmul, factors) if factors else None

    @property
    def is_bilinear(self) -> bool:
        return True

    @property
    def T(self) -> "Inner":
        return Inner(self.beta, None if self.B is None else self.B.T, Q=self.K, K=self.Q)

    @property
    def isotropic(self) -> bool:
        return self.B is None and self.Q is None and self.K is None

    @property
    def zonal(self) -> tuple[Float[Array, ""], Float[ArrayLike, ""]] | None:
        return (self.beta, self.beta) if self.isotropic else None


class SquaredDistance(AbstractScore):
    r"""$s_{ij} = -g\,|Q x_i - K y_j|^2$; `Q`, `K` `None` are the identity.

    By default the square is expanded into an inner product and biases, which is fast and loses digits when the two
    points are close compared with their norms. `by_difference=True` never expands: long times need it.
    """

    g: Float[Array, ""]
    Q: Float[Array, "k d"] | None
    K: Float[Array, "k e"] | None
    by_difference: bool = eqx.field(static=True)

    def __init__(
        self,
        g: ArrayLike,
        Q: Float[ArrayLike, "k d"] | None = None,
        K: Float[ArrayLike, "k e"] | None = None,
        by_difference: bool = False,
    ):
        self.g = real_array("g", g, 0)
        self.Q, self.K = _matrix("Q", Q), _matrix("K", K)
        self.by_difference = flag("by_difference", by_difference)

    def project(self, x: Float[Array, "n d"], y: Float[Array, "m e"]) -> Projected:
        for name, matrix, cloud in (("Q", self.Q, x), ("K", self.K, y)):
            if matrix is not None:
                check_width(name, matrix, cloud.shape[1])
        u = x if self.Q is None else matmul(x, self.Q.astype(x.dtype).T)
        v = y if self.K is None else matmul(y, self.K.astype(y.dtype).T)
        g = self.g.astype(x.dtype)
        if self.by_difference:  # g waits for the difference: a factor before it would round the points first
            return Projected(u, v)
        return Projected(2 * g * u, v, -g * jnp.sum(u * u, axis=-1), -g * jnp.sum(v * v, axis=-1))

    @property
    def T(self) -> "SquaredDistance":
        return SquaredDistance(self.g, self.K, self.Q, self.by_difference)

    @property
    def isotropic(self) -> bool:
        # A function of |x - y| alone; on the sphere that is a function of <x, y>.
        return self.Q is None and self.K is None

    @property
    def zonal(self) -> tuple[Float[Array, ""], Float[ArrayLike, ""]] | None:
        return (2 * self.g, 0.0) if self.isotropic else None

    @property
    def is_product(self) -> bool:
        return not self.by_difference

    def logits(self, tile: Projected, algebra: Algebra = MATMUL) -> Float[Array, "n m"]:
        if not self.by_difference:
            return super().logits(tile, algebra)
        return -self.g.astype(tile.keys.dtype) * algebra.squared_distance(tile.queries, tile.keys)

    def bound(self, tile: Projected) -> Float[Array, " n"]:
        return jnp.zeros_like(tile.queries[:, 0])

    def matched(self, tile: Projected) -> Float[Array, " n"]:
        if not self.by_difference:
            return super().matched(tile)
        return -self.g.astype(tile.keys.dtype) * jnp.sum((tile.queries - tile.keys) ** 2, axis=1)
