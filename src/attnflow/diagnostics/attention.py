r"""Attention matrices along a run, attention received, leaders."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..checks import flag
from ..errors import InputError, shown
from ..flows import Run
from ..models import at_time
from ..models.hardmax_layers import attention_rows
from ..pairsums import AbstractPairs
from ..spaces import Count, Numbers, is_concrete
from ._clouds import Clouds, Tokens, along, clouds, in_memory, masses, reached

TILE = 256  # rows of the attention matrix in memory at once


def attention_matrix(
    run: Run, *, at: Count | None = None, head: Count | None = None, log: bool = False
) -> Float[Array, "*T n n"]:
    r"""The matrix $A$ with $\Gamma_\mu(x_i) = \sum_j A_{ij}\, V x_j$: row $i$ says what token $i$ reads.

    The weights of the keys are part of it. Rows sum to one for softmax, l2, hardmax and Sinkhorn (with equal weights
    its columns do, too), and to whatever they do for the unnormalised, sigmoid and linear maps.

    **Arguments:** `at`, the index of a saved time, or `None` for all, `(T, n, n)`; `head`, which head of a multi-head
    map; `log=True` for $\log A_{ij}$, which does not underflow at low temperature ($-\infty$: not seen at all). The
    run's model says which tokens see each other. Of hardmax layers it is the matrix that the layer uses, with its
    tolerances; tokens that lead stay, and absorbed ones read their leader. Of a `models.LayerStack` it is the matrix of
    the layer that reads the tokens of that time; of the last ones, which no layer reads, it is NaN.
    """
    log = flag("log", log)
    attention = attention_of(run, head)
    cloud = clouds(run, at)
    if isinstance(attention, HeadInLayers):
        attention.check(cloud)
    n = cloud.xs.shape[-2]
    in_memory(cloud.xs.size // cloud.xs.shape[-1] * n, f"attention matrices {(*cloud.xs.shape[:-1], n)}")
    xs = cloud.true("the logarithm of their attention") if log else cloud.grown()
    return along(_matrix, (xs, cloud.ts), cloud.w, attention, log)


class Leaders(NamedTuple):
    r"""The tokens that others follow, at one time or at all.

    - `received (..., n)`: $\sum_i w_i A_{ij}$, the attention that token $j$ receives; for row-normalised maps it is a
      probability, and if all tokens received the same it would be the token's weight.
    - `follows (..., n)`: the token that each token attends to most (the first of several equal ones).
    - `followers (..., n)`: how many tokens attend to token $j$ most, itself among them perhaps.

    Inside a transformation, where nothing can be refused, tokens that are not finite have -1 in the last two.
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


def leaders(run: Tokens, *, at: Count | None = None, head: Count | None = None) -> Leaders:
    """Attention received by every token, and the key each attends to most; in memory linear in the number of tokens.

    **Arguments:** as for `attention_matrix`; or attention matrices `(..., n, n)` of tokens with equal weights.
    """
    if not isinstance(run, Run):
        return _of_matrix(run, at, head)
    attention = attention_of(run, head)
    cloud = reached(clouds(run, at))
    if isinstance(attention, HeadInLayers):
        attention.check(cloud)
    return Leaders(*along(_received, (cloud.grown(), cloud.ts), cloud.w, attention))


def _of_matrix(matrix: Numbers, at: Any, head: Any) -> Leaders:
    A = reached(clouds(matrix, at)).xs
    if A.shape[-1] != A.shape[-2] or head is not None:
        reason = f"head = {head} belongs to a run" if head is not None else f"attention has shape {A.shape}"
        raise InputError(f"{reason}; give a run, or attention matrices (..., n, n).")
    best = _best(A)
    followers = jnp.sum(jax.nn.one_hot(best, A.shape[-1], dtype=best.dtype), axis=-2)
    return Leaders(jnp.mean(A, axis=-2), best, jnp.where(jnp.all(best >= 0, axis=-1, keepdims=True), followers, -1))


def _best(rows: Float[Array, "*T n"]) -> Int[Array, "*T"]:
    """The first of the largest entries of each row, -1 of a row that is not finite."""
    return jnp.where(jnp.all(jnp.isfinite(rows), axis=-1), jnp.argmax(rows, axis=-1), -1)


class Layers(NamedTuple):
    """Hardmax layers and the history of a run: layers at which tokens lead or are absorbed, and their leaders."""

    model: Any
    tol: Float[Array, ""]
    leader_layer: Int[Array, " n"]
    absorbed_by: Int[Array, " n"]
    absorbed_layer: Int[Array, " n"]

    def tile(self, x: Float[Array, "n d"], t: Float[Array, ""], w: Float[Array, " n"], log: bool) -> Any:
        since = lambda layer: (layer >= 0) & (layer.astype(t.dtype) <= t)  # noqa: E731
        gone = since(self.absorbed_layer)
        own = jnp.where(gone, self.absorbed_by, -1)
        if self.model.merge_tol is not None:  # with it leaders are frozen
            own = jnp.where(since(self.leader_layer), jnp.arange(len(x)), own)
        q, competes = self.model.queries(t, x), jnp.where(gone, 0, w)

        def tile(rows: Int[Array, " r"] | None) -> Float[Array, "r n"]:
            i = jnp.arange(len(x)) if rows is None else rows
            shares = attention_rows(q[i], x, competes, self.tol.astype(x.dtype))
            A = jnp.where((own[i] >= 0)[:, None], jax.nn.one_hot(own[i], len(x), dtype=x.dtype), shares)
            return jnp.log(A) if log else A

        return tile


class HeadInLayers(NamedTuple):
    """One head through the layers of a model, each with a map of its own that reads normalised tokens."""

    model: Any
    head: Int[Array, ""]

    def at(self, x: Float[Array, "n d"], t: Float[Array, ""]) -> tuple[Any, AbstractPairs, Float[Array, "n d"]]:
        """The map of the head in layer `t`, its pairs, and the tokens as it sees them."""
        heads, seen = self.model.reads(t, x)
        return heads.head(self.head), self.model.pairs, seen

    def reads(self, t: Float[Array, ""]) -> Bool[Array, ""]:
        """Whether there is a layer that reads the tokens of this time."""
        return jnp.logical_or(self.model.endless, t < self.model.depth)

    def tile(self, x: Float[Array, "n d"], t: Float[Array, ""], w: Float[Array, " n"] | None, log: bool) -> Any:
        head, pairs, seen = self.at(x, t)
        read = self.reads(t)
        rows_of = functools.partial(head.matrix, seen, head.log_weights(seen, w, pairs=pairs), pairs=pairs, log=log)

        def tile(rows: Int[Array, " r"] | None) -> Float[Array, "r n"]:
            return jnp.where(read, rows_of(rows), jnp.nan)

        return tile

    def check(self, cloud: Clouds) -> None:
        """Refuse one time at which no layer reads the tokens."""
        at = cloud.ts
        if at is None or at.ndim or not is_concrete(at, self.model) or self.model.endless:
            return
        if float(at) >= self.model.depth:
            raise InputError(
                f"no layer reads the tokens at t = {float(at):g}, the end of {self.model.depth} layers; choose an "
                "earlier time, for example at=-2."
            )


def attention_of(run: Any, head: Any) -> Any:
    """The attention map of a run, one head of it, and its pairs; refused in a sentence if it has no matrix."""
    if not isinstance(run, Run):
        raise InputError(f"a {type(run).__name__} has no attention; give a run, which carries its model.")
    model: Any = run.model
    if head is not None and (isinstance(head, bool) or not hasattr(head, "__index__")):
        raise InputError(f"head = {shown(head)} is not the number of a head; give a whole number.")
    if model is None:
        raise InputError("this run carries no model; attention is that of a SelfAttention model.")
    if model.has_leaders:
        return _of_layers(run, model, head)
    if hasattr(model, "reads"):
        count = model.reads(0, run.single().xs[0])[0].H
        return HeadInLayers(model, jnp.asarray(_number_of_head(head, count) % count))
    if getattr(model, "attention", None) is None:
        what = f"a {type(model).__name__}, which has no attention matrix"
        raise InputError(f"this run carries {what}; attention is that of a SelfAttention model.")
    heads = getattr(model.attention, "heads", None)
    if heads is None:
        if head is not None:
            raise InputError(f"head = {head}: {type(model.attention).__name__} attention has one head; leave it out.")
        attention = model.attention
    else:
        attention = heads[_number_of_head(head, len(heads))]
    return attention, model.pairs


def _number_of_head(head: Any, count: int) -> Any:
    if head is None or not -count <= head < count:
        reason = "multi-head attention has a matrix per head" if head is None else f"there is no head {head}"
        raise InputError(f"{reason}; give head=0, ..., {count - 1}.")
    return head


def _of_layers(run: Run, model: Any, head: Any) -> Layers:
    if head is not None:
        raise InputError(f"head = {head}: hardmax layers have one head; leave it out.")
    known = run.single().info
    if "leader_layer" not in known:
        raise InputError("this run does not say who leads; run the layers by simulate(..., solver='layers').")
    names = ("leader_layer", "absorbed_by", "absorbed_layer")
    tol = jnp.asarray(model.tie_tol, run.xs.dtype) * jnp.asarray(known["score_scale"], run.xs.dtype)
    return Layers(model, tol, *(jnp.asarray(known[name]) for name in names))


def matrix_tiles(
    x: Float[Array, "n d"],
    t: Float[Array, ""],
    w: Float[Array, " n"] | None,
    map_and_pairs: Any,
    log: bool = False,
) -> Any:
    """`rows -> tile` of the attention matrix; the iteration of a map (Sinkhorn) is done once."""
    if isinstance(map_and_pairs, Layers):
        return map_and_pairs.tile(x, t, masses(x, w), log)
    if isinstance(map_and_pairs, HeadInLayers):
        return map_and_pairs.tile(x, t, w, log)
    attention, pairs = map_and_pairs
    attention = at_time(attention, t)
    return functools.partial(attention.matrix, x, attention.log_weights(x, w, pairs=pairs), pairs=pairs, log=log)


def _matrix(
    x: Float[Array, "n d"], t: Float[Array, ""], w: Float[Array, " n"] | None, map_and_pairs: Any, log: bool
) -> Float[Array, "n n"]:
    return matrix_tiles(x, t, w, map_and_pairs, log)(None)


def _received(
    x: Float[Array, "n d"], t: Float[Array, ""], w: Float[Array, " n"] | None, map_and_pairs: Any
) -> tuple[Float[Array, " n"], Int[Array, " n"], Int[Array, " n"]]:
    """Column sums and row maxima, a tile of rows after the other."""
    n = x.shape[0]
    tile = min(TILE, n)
    matrix, mass = matrix_tiles(x, t, w, map_and_pairs), masses(x, w)

    def add(received: Array, i: Array) -> tuple[Array, Array]:
        inside = jnp.minimum(i, n - 1)  # the last tile repeats the last token, with weight zero
        rows = matrix(inside)
        return received + jnp.where(i < n, mass[inside], 0) @ rows, _best(rows)

    rows = jnp.arange(-(-n // tile) * tile).reshape(-1, tile)
    received, best = jax.lax.scan(add, jnp.zeros(n, x.dtype), rows)
    best = best.reshape(-1)[:n]
    followers = jnp.zeros(n, best.dtype).at[jnp.maximum(best, 0)].add(1)
    return received, best, jnp.where(jnp.all(best >= 0), followers, -1)
