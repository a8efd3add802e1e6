r"""The classifier of reviews as a function of its parameters: embed, attend K times, average, decide.

$$ z_i \leftarrow \frac{z_i + \alpha\, m_i}{1 + \alpha}, \qquad
   m_i = \sum_j P_{ij} z_j, \qquad
   P_{ij} = \frac{e^{\langle z_i, z_j\rangle/\tau}}{\sum_l e^{\langle z_i, z_l\rangle/\tau}}, \qquad
   p = \sigma(\langle v, \bar z\rangle + b) . $$

One scalar $\alpha \ge 0$ serves all layers. At temperature $\tau = 0$ the sum is the mean over the argmax set: that is
the hardmax transformer; a small $\tau$ stands for it in training, where gradients are needed.

Reviews come as a batch of token ids, padded at the end with id 0. By default a padding token is a token like any other,
as in the paper; with `masked=True` it neither moves nor is seen, nor averaged.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

PADDING = 0
# Scores are divided by a temperature of 1e-3: those of the tensor cores (10 bits) would not do.
_EXACT: Any = "highest"


class Parameters(NamedTuple):
    """The trained parameters: vocabulary x d + 1 + (d + 1) numbers."""

    embedding: Float[Array, "vocabulary d"]
    alpha: Float[Array, ""]
    v: Float[Array, " d"]
    b: Float[Array, ""]


def initial(vocabulary: int, d: int, *, key: Array, dtype: Any = jnp.float32) -> Parameters:
    r"""Embeddings $N(0, 1)$, $\alpha$ uniform in $(0, 1)$, the decoder uniform in $\pm d^{-1/2}$."""
    words, step, weights, bias = jax.random.split(key, 4)
    bound = d**-0.5
    return Parameters(
        jax.random.normal(words, (vocabulary, d), dtype),
        jax.random.uniform(step, (), dtype),
        jax.random.uniform(weights, (d,), dtype, -bound, bound),
        jax.random.uniform(bias, (), dtype, -bound, bound),
    )


def logits(
    parameters: Parameters, ids: Int[Array, "reviews n"], *, layers: int, temperature: float, masked: bool = False
) -> Float[Array, " reviews"]:
    r"""$\langle v, \bar z\rangle + b$ of every review after the last layer; positive means a positive review."""
    z = states(parameters, ids, layers=layers, temperature=temperature, masked=masked)[0]
    if masked:
        weights = (ids != PADDING).astype(z.dtype)
        count = jnp.maximum(jnp.sum(weights, axis=1), 1)
        mean = jnp.einsum("rnd,rn->rd", z, weights, precision=_EXACT) / count[:, None]
    else:
        mean = jnp.mean(z, axis=1)
    return jnp.sum(mean * parameters.v[None, :], axis=-1) + parameters.b


def states(
    parameters: Parameters,
    ids: Int[Array, "reviews n"],
    *,
    layers: int,
    temperature: float,
    masked: bool = False,
    keep: bool = False,
) -> tuple[Float[Array, "reviews n d"], Float[Array, "layers reviews n d"] | None]:
    """The tokens after the last layer and, with `keep`, after 0, 1, ..., K layers."""
    z = parameters.embedding[ids]
    seen = seen_tokens(ids, masked)
    alpha = parameters.alpha

    def layer(z, _):
        mean: Any = hard_means(z, seen) if temperature == 0 else _soft_means(z, seen, temperature)
        moved = (z + alpha * mean) / (1 + alpha)
        return moved, moved if keep else None

    last, path = jax.lax.scan(layer, z, None, length=layers)
    return last, None if path is None else jnp.concatenate([z[None], path])


def best(z: Float[Array, "reviews n d"], seen: Bool[Array, "reviews n"] | None = None) -> Bool[Array, "reviews n n"]:
    """Whether token j of a review is in the argmax set of token i."""
    scores = _scores(z, seen)
    return scores == jnp.max(scores, axis=-1, keepdims=True)


def hard_means(
    z: Float[Array, "reviews n d"], seen: Bool[Array, "reviews n"] | None = None
) -> Float[Array, "reviews n d"]:
    """The mean over the argmax set, an index counted once."""
    chosen = best(z, seen).astype(z.dtype)
    total = jnp.einsum("rij,rjd->rid", chosen, z, precision=_EXACT)
    return total / jnp.sum(chosen, axis=-1)[..., None]


def _scores(z: Array, seen: Array | None) -> Array:
    scores = jnp.einsum("rid,rjd->rij", z, z, precision=_EXACT)
    return scores if seen is None else jnp.where(seen[:, None, :], scores, -jnp.inf)


def seen_tokens(ids: Array, masked: bool) -> Array | None:
    """Which tokens others see; in a review without a word that is the padding, since there must be something."""
    there = ids != PADDING
    return there | ~jnp.any(there, axis=1, keepdims=True) if masked else None


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def _soft_means(z: Array, seen: Array | None, temperature: float) -> Array:
    """Softmax attention with a gradient of its own: a third faster than what is derived automatically."""
    return _forward(z, seen, temperature)[0]


def _forward(z: Array, seen: Array | None, temperature: float) -> tuple[Array, tuple[Array, Array, Array]]:
    P = jax.nn.softmax(_scores(z, seen) / temperature, axis=-1)
    mean = jnp.einsum("rij,rjd->rid", P, z, precision=_EXACT)
    return mean, (z, P, mean)


def _backward(temperature: float, kept: tuple[Array, Array, Array], g: Array) -> tuple[Array, None]:
    r"""With $P = \mathrm{softmax}(zz^\top/\tau)$ and $g = \partial L/\partial m$:
    $\partial L/\partial S_{ij} = P_{ij}\,\langle g_i, z_j - m_i\rangle/\tau$."""
    z, P, mean = kept
    across = jnp.einsum("rid,rjd->rij", g, z, precision=_EXACT) - jnp.sum(g * mean, axis=-1)[..., None]
    dS = P * across / temperature
    query = jnp.einsum("rij,rjd->rid", dS, z, precision=_EXACT)
    key = jnp.einsum("rij,rid->rjd", dS, z, precision=_EXACT)
    value = jnp.einsum("rij,rid->rjd", P, g, precision=_EXACT)
    return query + key + value, None


_soft_means.defvjp(_forward, _backward)
