r"""Layers of hardmax attention: each token steps towards the tokens that reach farthest in its own direction.

$$ C_i(X) = \Big\{ j : x_i^\top B x_j = \max_l x_i^\top B x_l \Big\}, \qquad
   x_i^{k+1} = x_i^k + \frac{\alpha}{1+\alpha}\Big(\frac1{w(C_i)}\sum_{j\in C_i} w_jx_j^k - x_i^k\Big). $$

Token $i$ is a *leader* if at some layer $C_i = \{i\}$: all others lie strictly inside the half-space
$x_i^\top B(y - x_i) < 0$. A leader never moves again, whatever $B$ is.

Reference: arXiv:2407.01602 (its $A$ is $B^\top$); docs/theory/hardmax.md.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Int, PRNGKeyArray

from ..attention import Hardmax
from ..checks import flag
from ..errors import InputError
from ..parameters import Parameter, non_negative, parameter, positive
from ..spaces import AbstractSpace, Euclidean, is_concrete
from ._model import AbstractModel
from .schedules import at_time

ROBUST = (1e-12, 1e-10)  # tie_tol and merge_tol that keep the ties of rotated reference data for ever
APART = 10  # merge_tol is at least so many times tie_tol: else tokens on their way to a vertex tie with it
ROWS = 256  # queries that are compared with all keys at once


class Attended(NamedTuple):
    """What the argmax sets say: `ahead (n, d)`, from the token to the mean of $C_i$; `alone (n,)`, whether all tokens
    in $C_i$ have the value $x_i$; `first (n,)`, the lowest index of a key with that value."""

    ahead: Float[Array, "n d"]
    alone: Bool[Array, " n"]
    first: Int[Array, " n"]


class HardmaxLayers(AbstractModel):
    r"""The paper's map, run by `simulate(model, x0, t1=layers, solver="layers")`.

    **Arguments:**

    - `alpha > 0`: a layer divides the distance to a fixed target by $1 + \alpha$.
    - `B`: the matrix of scores $x_i^\top Bx_j$, `None` for the identity. The theorem asks for a symmetric, positive
      definite one.
    - `tie_tol`: keys tie within `tie_tol` times the largest score in absolute value at the start. The default 0 is
      right for data in general position, but loses true ties to rounding.
    - `merge_tol`: with it, leaders are frozen, and a token within `merge_tol` times the length of the longest initial
      token of a leader is absorbed: it is put there and no longer competes, the leader stands for it. `None`: neither.
    - `robust=True` stands for `tie_tol=1e-12, merge_tol=1e-10`, which keeps ties for ever.

    Tokens of weight zero neither move nor compete: they fill up sequences of different lengths.
    """

    papers: ClassVar[tuple[str, ...]] = ("hardmax",)

    alpha: Any
    B: Any
    tie_tol: Any
    merge_tol: Any

    @property
    def moves_to_means(self) -> bool:
        return True

    @property
    def has_leaders(self) -> bool:
        return True

    def __init__(
        self,
        alpha: Parameter = 0.5,
        B: Parameter | None = None,
        *,
        tie_tol: Parameter = 0.0,
        merge_tol: Parameter | None = None,
        robust: bool = False,
    ):
        if flag("robust", robust):
            if merge_tol is not None or not isinstance(tie_tol, float) or tie_tol != 0.0:
                raise InputError("robust=True chooses tie_tol and merge_tol itself; leave them out.")
            tie_tol, merge_tol = ROBUST
        self.alpha = positive("alpha", alpha)
        self.B = parameter("B", B, ndim=2)
        self.tie_tol = non_negative("tie_tol", tie_tol)
        self.merge_tol = None if merge_tol is None else non_negative("merge_tol", merge_tol)
        if merge_tol is not None and is_concrete(self.merge_tol) and self.merge_tol == 0:
            raise InputError("merge_tol = 0 absorbs no token; leave it out, or take robust=True.")
        tolerances = (self.tie_tol, self.merge_tol)
        if merge_tol is not None and is_concrete(tolerances) and not self.merge_tol >= APART * self.tie_tol:
            raise InputError(
                f"merge_tol = {float(self.merge_tol):g} is too small for tie_tol = {float(self.tie_tol):g}, tokens on "
                f"their way to a leader would tie with it; take at least {APART} times tie_tol, or robust=True."
            )

    @property
    def space(self) -> AbstractSpace:
        return Euclidean()

    @property
    def clock(self) -> str:
        return "layers"

    @property
    def attention(self) -> Hardmax | None:
        """The attention map of one layer, if it has no tolerance."""
        strict = self.merge_tol is None and is_concrete(self.tie_tol) and float(self.tie_tol) == 0
        return Hardmax(B=self.B) if strict else None

    @property
    def pairs(self) -> Any:
        from ..pairsums import Full

        return Full()

    def rate(self, t: ArrayLike, dtype: Any) -> Array:
        r"""$\alpha/(1+\alpha)$, the part of the way to its target that a token goes in layer `t`."""
        alpha = at_time(self.alpha, t).astype(dtype)
        return alpha / (1 + alpha)

    def queries(self, t: ArrayLike, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        r"""$B^\top x_i$, the direction in which token $i$ looks."""
        if self.B is None:
            return x
        B = at_time(self.B, t)
        if B.shape != (x.shape[1], x.shape[1]):
            raise InputError(f"B has shape {B.shape} and tokens have dimension {x.shape[1]}; give a square matrix.")
        return jnp.sum(x[:, :, None] * B.astype(x.dtype)[None], axis=1)

    def force(
        self,
        t: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None,
        *,
        key: PRNGKeyArray | None = None,
        kernel: str = "auto",
    ) -> Float[Array, "n d"]:
        """The step of layer `t`. With `merge_tol` copies of a leader count as absorbed, as a run leaves them (in its
        first layer, before anything is absorbed, they compete)."""
        weights = jnp.ones_like(x[:, 0]) if weights is None else weights
        q = self.queries(t, x)
        tol = self.tie_tol.astype(x.dtype) * largest_score(q, x, weights)
        seen = attended(q, x, weights, tol)
        if self.merge_tol is not None:
            weights = jnp.where(seen.alone & (seen.first != jnp.arange(x.shape[0])), 0, weights)
            seen = attended(q, x, weights, tol)
        still = seen.alone | (weights == 0)
        return self.rate(t, x.dtype) * jnp.where(still[:, None], 0, seen.ahead)


def attended(q: Float[Array, "n d"], x: Float[Array, "n d"], w: Float[Array, " n"], tol: Float[Array, ""]) -> Attended:
    r"""The argmax sets $C_i$ of the scores $\langle q_i, x_j\rangle$, among keys with $w_j > 0$.

    Scores are added up in one order for all keys, so that equal keys have equal scores: a blocked matrix product does
    not promise that.
    """

    def of(row: tuple[Array, Array]) -> Attended:
        own, query = row
        tied, share = _shares(query, x, w, tol)
        same = jnp.all(x == own[None, :], axis=1)
        # Differences first: the mean of copies of a token is that token to the last digit.
        ahead = jnp.sum(share[:, None] * (x - own[None, :]), axis=0)
        return Attended(ahead, jnp.all(same | ~tied), jnp.argmax(same & (w > 0)))

    return each_row(of, (x, q))


def _shares(
    query: Float[Array, " d"], x: Float[Array, "n d"], w: Float[Array, " n"], tol: Float[Array, ""]
) -> tuple[Bool[Array, " n"], Float[Array, " n"]]:
    """Which keys tie for one query, and the part of its attention that each gets."""
    scores = jnp.where(w > 0, jnp.sum(query[None, :] * x, axis=1), -jnp.inf)
    tied = scores >= jnp.max(scores) - tol
    share = jnp.where(tied, w, 0)
    return tied, share / jnp.sum(share)  # exactly one where a key wins alone: its value is read to the last digit


def attention_rows(
    q: Float[Array, "r d"], x: Float[Array, "n d"], w: Float[Array, " n"], tol: Float[Array, ""]
) -> Float[Array, "r n"]:
    """Rows of the attention matrix: what queries read from each key, compared as the layers compare them."""
    return each_row(lambda query: _shares(query, x, w, tol)[1], q)


def largest_score(q: Float[Array, "n d"], x: Float[Array, "n d"], w: Float[Array, " n"]) -> Float[Array, ""]:
    r"""$\max_{ij}|\langle q_i, x_j\rangle|$ over tokens with weight; for a positive definite $B$ one of $i = j$."""

    def of(row: tuple[Array, Array]) -> Array:
        query, mass = row
        return jnp.max(jnp.where((w > 0) & (mass > 0), jnp.abs(jnp.sum(query[None, :] * x, axis=1)), 0))

    return jnp.max(each_row(of, (q, w)))


def each_row(of: Callable[[Any], Any], rows: Any) -> Any:
    """A function of one token for all of them, in memory linear in their number."""
    n = jax.tree.leaves(rows)[0].shape[0]
    return jax.vmap(of)(rows) if n <= ROWS else jax.lax.map(of, rows, batch_size=ROWS)
