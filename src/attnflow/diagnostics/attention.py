r"""Who listens to whom: attention matrices along a run, attention received, leaders."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from ..errors import InputError
from ..flows import Run
from ..models import at_time
from ..pairsums import AbstractPairs, pair_weights
from ._clouds import along, clouds, in_memory, masses

TILE = 256  # rows of the attention matrix in memory at once


def attention_matrix(run: Run, at: int | None = None, *, head: int | None = None) -> Float[Array, "*T n n"]:
    r"""The matrix $A$ with $\Gamma_\mu(x_i) = \sum_j A_{ij}\, V x_j$: row $i$ says what token $i$ reads.

    The weights of the keys are part of it. Rows sum to one for softmax, l2, hardmax and Sinkhorn (with equal weights
    its columns do, too), and to whatever they do for the unnormalised, sigmoid and linear maps.

    **Arguments:** `at`, the index of a saved time, or `None` for all, `(T, n, n)`; `head`, which head of a multi-head
    map. The run's model says which tokens see each other.
    """
    attention = _attention(run, head)
    found = clouds(run, at)
    n = found.xs.shape[-2]
    in_memory(found.xs.size // found.xs.shape[-1] * n, f"attention matrices {(*found.xs.shape[:-1], n)}")
    return along(_matrix, (found.grown(), found.ts), found.w, attention)


class Leaders(NamedTuple):
    r"""Whom the tokens follow, at one time or at all.

    - `received (..., n)`: $\sum_i w_i A_{ij}$, the attention that token $j$ receives; for row-normalised maps it is a
      probability, and if everybody were heard alike it would be the token's weight.
    - `follows (..., n)`: the token that each token hears best (the first, if several are heard alike).
    - `followers (..., n)`: how many tokens hear token $j$ best, itself among them perhaps.
    """

    received: Float[Array, "*T n"]
    follows: Int[Array, "*T n"]
    followers: Int[Array, "*T n"]

    @property
    def tokens(self) -> list[int]:
        """At one time: the tokens with followers, by the attention they receive, the most first."""
        if self.received.ndim != 1:
            raise InputError("the leaders are a list at one time; choose one, leaders(run, at=-1).tokens.")
        order = np.argsort(-np.asarray(self.received), kind="stable")
        return [int(j) for j in order if self.followers[j] > 0]


def leaders(run: Run | ArrayLike, at: int | None = None, *, head: int | None = None) -> Leaders:
    """Attention received by every token, and who is heard best by whom; in memory linear in the number of tokens.

    **Arguments:** as for `attention_matrix`; or attention matrices `(..., n, n)` of tokens with equal weights.
    """
    if not isinstance(run, Run):
        return _of_matrix(run, at, head)
    found = clouds(run, at)
    return Leaders(*along(_heard, (found.grown(), found.ts), found.w, _attention(run, head)))


def _of_matrix(matrix: ArrayLike, at: int | None, head: int | None) -> Leaders:
    A = clouds(matrix, at).xs
    if A.shape[-1] != A.shape[-2] or head is not None:
        told = f"head = {head} belongs to a run" if head is not None else f"attention has shape {A.shape}"
        raise InputError(f"{told}; give a run, or attention matrices (..., n, n).")
    best = jnp.argmax(A, axis=-1)
    followers = jnp.sum(jax.nn.one_hot(best, A.shape[-1], dtype=best.dtype), axis=-2)
    return Leaders(jnp.mean(A, axis=-2), best, followers)


def _attention(run: Run, head: int | None) -> tuple[Any, AbstractPairs]:
    """The attention map of a run, one head of it, and who sees whom; refused in a sentence if it has no matrix."""
    if not isinstance(run, Run):
        raise InputError(f"a {type(run).__name__} has no attention; give a run, which carries its model.")
    model: Any = run.model
    if getattr(model, "attention", None) is None:
        what = "no model" if model is None else f"a {type(model).__name__}, which has no attention matrix"
        raise InputError(f"this run carries {what}; attention is that of a SelfAttention model.")
    heads = getattr(model.attention, "heads", None)
    if heads is None:
        if head is not None:
            raise InputError(f"head = {head}: {type(model.attention).__name__} attention has one head; leave it out.")
        attention = model.attention
    else:
        if head is None or not -len(heads) <= head < len(heads):
            told = "multi-head attention has a matrix per head" if head is None else f"there is no head {head}"
            raise InputError(f"{told}; give head=0, ..., {len(heads) - 1}.")
        attention = heads[head]
    if not hasattr(attention, "recipe"):
        raise InputError(f"{type(attention).__name__} attention does not say its weights; give it a method recipe.")
    return attention, model.pairs


def _recipe(x: Float[Array, "n d"], t: Float[Array, ""], w: Float[Array, " n"] | None, map_and_pairs: Any) -> Any:
    """`rows -> tile` of the attention matrix; what the map iterates for (Sinkhorn) is computed once."""
    attention, pairs = map_and_pairs
    attention = at_time(attention, t)
    log_w, reduce = attention.recipe(x, w, pairs=pairs)

    def tile(rows: Int[Array, " r"] | None) -> Float[Array, "r n"]:
        return pair_weights(attention.score, x, x, rows=rows, log_w=log_w, pairs=pairs, reduce=reduce)

    return tile


def _matrix(
    x: Float[Array, "n d"], t: Float[Array, ""], w: Float[Array, " n"] | None, map_and_pairs: Any
) -> Float[Array, "n n"]:
    return _recipe(x, t, w, map_and_pairs)(None)


def _heard(
    x: Float[Array, "n d"], t: Float[Array, ""], w: Float[Array, " n"] | None, map_and_pairs: Any
) -> tuple[Float[Array, " n"], Int[Array, " n"], Int[Array, " n"]]:
    """Column sums and row maxima, a tile of rows after the other."""
    n = x.shape[0]
    tile = min(TILE, n)
    matrix, mass = _recipe(x, t, w, map_and_pairs), masses(x, w)

    def add(received: Array, i: Array) -> tuple[Array, Array]:
        inside = jnp.minimum(i, n - 1)  # the last tile repeats the last token, with weight zero
        rows = matrix(inside)
        return received + jnp.where(i < n, mass[inside], 0) @ rows, jnp.argmax(rows, axis=1)

    rows = jnp.arange(-(-n // tile) * tile).reshape(-1, tile)
    received, best = jax.lax.scan(add, jnp.zeros(n, x.dtype), rows)
    best = best.reshape(-1)[:n]
    return received, best, jnp.zeros(n, best.dtype).at[best].add(1)
