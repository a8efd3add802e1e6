r"""The partition function of an attention map, as a logarithm: the sum of the weights before they are normalised.

$$ \log Z_\mu(x) = \log\int e^{s(x, y)}\,d\mu(y) , $$

with $s$ the score of the map, or $\log\phi(s)$ for a map with weights $\phi(s)$. It overflows at no temperature, where
$Z$ itself leaves the numbers of float64 at $\beta = 710$.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..attention import AbstractAttention, heads_of
from ..errors import InputError, shown
from ..flows import Run
from ..models import at_time
from ..pairsums import Full, pair_sums, pair_weights
from ..spaces import Count, Euclidean, Numbers, check_tokens
from ._clouds import Tokens, along, clouds
from .attention import HeadInLayers, Layers, attention_of


def log_partition(
    tokens: Tokens,
    *,
    at: Count | None = None,
    attention: AbstractAttention | None = None,
    points: Numbers | None = None,
    weights: Numbers | None = None,
    head: Count | None = None,
) -> Float[Array, "*T m"]:
    r"""$\log Z$ at every token, or at other `points (m, d)`.

    The shifted one, $\log(Ze^{-\beta})$ with $e^{\beta(\langle x, y\rangle - 1)}$ in the integral, is this minus
    $\beta$; of `Unnormalized(beta, shifted=True)` it is this itself.

    **Arguments:** a run (all saved times, or the one of index `at`), whose model has the map and the pairs; or
    tokens `(..., n, d)` with `weights`, and the `attention` map, `af.Softmax(beta=9.0)` for example. `head`: which head
    of a multi-head map. Tokens that are not finite give NaN.
    """
    if isinstance(tokens, Run):
        if attention is not None:
            raise InputError("a run has its own attention; leave out attention=, or give run.xs instead of the run.")
        source: Any = attention_of(tokens, head)
        if isinstance(source, Layers):
            raise InputError("hardmax layers compare scores and sum no exponentials: they have no partition function.")
    else:
        if not isinstance(attention, AbstractAttention) or len(heads_of(attention)) > 1:
            raise InputError(f"attention = {shown(attention)} has no weights; give a map, such as af.Softmax(beta=1).")
        if head is not None:
            raise InputError(f"head = {shown(head)}: a map of one head is given with tokens; leave head= out.")
        source = (attention, Full())
    cloud = clouds(tokens, at, weights)
    if isinstance(source, HeadInLayers):
        source.check(cloud)
    xs = cloud.true("their log Z")
    if points is not None:
        points = check_tokens(points, Euclidean()).astype(xs.dtype)
        if points.shape[1] != xs.shape[-1]:
            raise InputError(f"points have {points.shape[1]} coordinates and tokens {xs.shape[-1]}; they must agree.")
        if isinstance(source, HeadInLayers) or not source[1].complete:
            raise InputError("points have no position among tokens that see only some others; leave out points=.")
    ts = jnp.zeros(xs.shape[:-2], xs.dtype) if cloud.ts is None else cloud.ts
    return along(log_z, (xs, ts), cloud.w, source, points)


def log_z(
    x: Float[Array, "n d"], t: Float[Array, ""], w: Float[Array, " n"] | None, source: Any, points: Array | None
) -> Float[Array, " m"]:
    """`log_partition` of one cloud; `source` is the map and its pairs."""
    if isinstance(source, HeadInLayers):
        attention, pairs, x = source.at(x, t)
        sums = pair_sums(attention.score, x, x, 1.0, log_w=attention.log_weights(x, w), pairs=pairs, reduce="exp")
        return jnp.where(source.reads(t), sums[1], jnp.nan)
    attention, pairs = source
    attention = at_time(attention, t)
    log_w = attention.log_weights(x, w, pairs=pairs)
    queries = x if points is None else points
    if attention.reduce == "softmax":
        return pair_sums(attention.score, queries, x, 1.0, log_w=log_w, pairs=pairs, reduce="exp")[1]
    logs = pair_weights(attention.score, queries, x, log_w=log_w, pairs=pairs, reduce=attention.reduce, log=True)
    return jax.nn.logsumexp(logs, axis=1)
