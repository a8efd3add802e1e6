"""What is measured of the tokens at one depth: one cloud in, named arrays out, nothing else kept."""

import functools
from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.cluster.hierarchy import linkage

from ...attention import Softmax
from ...diagnostics import components, effective_rank, participation_ratio
from ...models import LayerStack, SelfAttention
from ...spaces import Sphere

FIRST = ("kept", "dropped")
DIAGONAL = ("without", "with")
VIEWS = ("stream", "seen")
EXPLAINED = {
    "cosine_density": "law of the cosines of pairs of tokens: of the residual stream, and as attention sees them",
    "product_density": "law of the inner products of the residual stream, between the edges of its layer",
    "product_edges": "edges of the bins of product_density, layer by layer",
    "mean_cosine": "mean cosine of different tokens",
    "norm": "Euclidean norm of a token in the residual stream",
    "moved": "largest distance by which the layer before moved the direction of a token",
    "cluster": "the first token of the group: directions within eps are linked",
    "clusters": "how many groups there are",
    "merge_distance": "linking distances at which two groups become one, in increasing order",
    "received": "share of all attention that the token receives, mean over heads",
    "leader": "the token that receives most attention by the head",
    "entropy": "entropy of the attention of a token, mean over tokens, in nats",
    "entropy_share": "entropy in units of that of uniform attention",
    "effective_rank": "exponential of the entropy of the singular values of the tokens",
    "participation_ratio": "participation ratio of the squared singular values of the tokens",
    "energy": "mean of exp(beta (cos - 1)) over all pairs, the energy of softmax attention on the sphere",
}


class Options(NamedTuple):
    """How tokens are looked at: the number of bins, the linking distance, inverse temperatures."""

    bins: int
    eps: float
    betas: tuple[float, ...]


class AttentionOfLayer(NamedTuple):
    """Of one layer: attention received by each token (mean over heads), and for each head the token that receives most,
    the mean entropy of rows, and its share of the largest possible one."""

    received: Float[Array, " n"]
    leader: Int[Array, " h"]
    entropy: Float[Array, " h"]
    entropy_share: Float[Array, " h"]


def look(model: LayerStack, k: int, x: Float[Array, "n d"], last: bool, options: Options) -> dict[str, np.ndarray]:
    """Everything that is measured of the tokens that layer `k` begins with; after the `last` no layer reads them."""
    heads = model.block(k).attention
    seen = model.output(x) if last else x if heads is None else _seen(model, jnp.asarray(k), x)
    settings = [jnp.asarray(value, x.dtype) for value in (options.eps, options.betas)]
    measured = _cloud(x, seen, *settings, bins=options.bins)
    found = {name: np.asarray(array) for name, array in measured.items()}
    found["clusters"] = np.array(len(np.unique(found["cluster"])))
    found["merge_distance"] = linkage(found.pop("direction").astype(float), "single")[:, 2]
    if last or heads is None:
        H = 0 if heads is None else heads.H
        nothing = {"leader": np.full(H, -1), "entropy": np.full(H, np.nan), "entropy_share": np.full(H, np.nan)}
        return found | {"received": np.full(len(x), np.nan), **nothing}
    return found | {name: np.asarray(a) for name, a in _attention(model, jnp.asarray(k), x)._asdict().items()}


@jax.jit
def _seen(model: LayerStack, k: Int[Array, ""], x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return model.reads(k, x)[1]


@functools.partial(jax.jit, static_argnames="bins")
def _cloud(
    x: Float[Array, "n d"],
    seen: Float[Array, "n d"],
    eps: Float[Array, ""],
    betas: Float[Array, " b"],
    *,
    bins: int,
) -> dict[str, Array]:
    """What is measured of tokens `x`, which attention sees as `seen`: one compiled program for all layers."""
    direction = Sphere().nearest(x)
    products, cosines = x @ x.T, direction @ direction.T
    low, high = jnp.min(products), jnp.max(products)
    one = jnp.ones((), x.dtype)
    as_seen = Sphere().nearest(seen)
    both = [_densities(c, -one, one, bins) for c in (cosines, as_seen @ as_seen.T)]
    clouds = (x, x[1:])
    return {
        "cosine_density": jnp.stack(both),
        "product_density": _densities(products, low, high, bins),
        "product_edges": jnp.linspace(low, high, bins + 1),
        "mean_cosine": jnp.stack([_mean_off_diagonal(cosines), _mean_off_diagonal(cosines[1:, 1:])]),
        "norm": jnp.linalg.norm(x, axis=1),
        "direction": direction,
        "cluster": components(direction, eps),
        "effective_rank": jnp.stack([effective_rank(cloud) for cloud in clouds]),
        "participation_ratio": jnp.stack([participation_ratio(cloud) for cloud in clouds]),
        "energy": jax.vmap(lambda beta: _energy(direction, beta))(betas),
    }


def _energy(direction: Float[Array, "n d"], beta: Float[Array, ""]) -> Float[Array, ""]:
    return SelfAttention(Softmax(beta=beta), Sphere()).energy().value(direction, None, scale="Ehat")


def _densities(
    products: Float[Array, "n n"], low: Float[Array, ""], high: Float[Array, ""], bins: int
) -> Float[Array, "2 2 b"]:
    """Densities (first, diagonal, bin): the first token kept or dropped, without the diagonal or with it."""
    n = len(products)
    width = jnp.where(high > low, high - low, 1) / bins
    place = jnp.clip(((products - low) / width).astype(int), 0, bins - 1)
    count = functools.partial(jnp.bincount, length=bins)
    pairs, diagonal, row = count(place.reshape(-1)), count(jnp.diagonal(place)), count(place[0])
    own = count(place[:1, 0])
    without_first = pairs - 2 * row + own
    some = jnp.stack([pairs - diagonal, pairs, without_first - (diagonal - own), without_first])
    numbers = jnp.asarray([n * (n - 1), n * n, (n - 1) * (n - 2), (n - 1) ** 2], products.dtype)
    density = some.astype(products.dtype) / (jnp.where(numbers == 0, jnp.nan, numbers)[:, None] * width)
    return density.reshape(2, 2, bins)


def _mean_off_diagonal(cosines: Float[Array, "n n"]) -> Float[Array, ""]:
    n = len(cosines)
    return (jnp.sum(cosines) - jnp.trace(cosines)) / (n * (n - 1) if n > 1 else jnp.nan)


@jax.jit
def _attention(model: LayerStack, k: Int[Array, ""], x: Float[Array, "n d"]) -> AttentionOfLayer:
    heads, seen = model.reads(k, x)
    found = []
    for head in heads.heads:
        log_A = head.matrix(seen, head.log_weights(seen, None, pairs=model.pairs), pairs=model.pairs, log=True)
        A = jnp.exp(log_A)
        visible = jnp.sum(jnp.isfinite(log_A), axis=1)
        rows = -jnp.sum(jnp.where(A > 0, A * log_A, 0), axis=1)
        most = jnp.mean(jnp.log(visible.astype(x.dtype)))
        found.append((jnp.mean(A, axis=0), jnp.mean(rows), jnp.mean(rows) / jnp.where(most > 0, most, 1)))
    received, entropy, share = (jnp.stack(parts) for parts in zip(*found, strict=True))
    return AttentionOfLayer(jnp.mean(received, axis=0), jnp.argmax(received, axis=1), entropy, share)


def dimensions(arrays: Mapping[str, np.ndarray]) -> dict[str, tuple[str, ...]]:
    """The names of the axes of every array that `look` gives."""
    names = {
        "cosine_density": ("view", "first", "diagonal", "bin"),
        "product_density": ("first", "diagonal", "bin"),
        "product_edges": ("edge",),
        "mean_cosine": ("first",),
        "norm": ("token",),
        "cluster": ("token",),
        "clusters": (),
        "merge_distance": ("merge",),
        "effective_rank": ("first",),
        "participation_ratio": ("first",),
        "energy": ("beta",),
        "received": ("token",),
        "leader": ("head",),
        "entropy": ("head",),
        "entropy_share": ("head",),
        "moved": (),
    }
    return {name: ("layer", *names[name]) for name in arrays}
