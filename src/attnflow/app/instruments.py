"""What is measured along a run: quickly at every state, and now and then what costs more."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..attention import AbstractAttention, heads_of
from ..diagnostics import clusters
from ..diagnostics.clusters import DELTA
from ..errors import InputError
from ..models import AbstractModel, at_time
from ..spaces import Sphere
from . import programs

BINS = 60
PAIR_TOKENS = 400  # the histogram looks at so many tokens, equally spaced among all
IMAGE_SIDE = 64


class Quick(NamedTuple):
    """Energy (not a number where the model has none), order parameter, amplitude of one wave on the circle."""

    energy: float
    order: float
    wave: float


class Slow(NamedTuple):
    labels: np.ndarray
    clusters: int
    plateau: float
    histogram: np.ndarray
    attention: np.ndarray


def energy_scale(model: AbstractModel) -> str | None:
    """The usual scale of the model's energy, `None` if it declares none."""
    try:
        return model.energy().scale()
    except InputError:
        return None


def quick(model: AbstractModel, x: Array, w: Array | None, scale: str | None, wave: int) -> Quick:
    found = programs.call(_quick, model, x, w, jnp.asarray(wave, x.dtype), scale)
    return Quick(*(float(v) for v in found))


def _quick(model: Any, x: Array, w: Array | None, wave: Array, scale: str | None) -> tuple[Array, Array, Array]:
    x = model.space.nearest(x)
    mass = jnp.full(x.shape[0], 1 / x.shape[0], x.dtype) if w is None else w
    energy = jnp.full((), jnp.nan, x.dtype) if scale is None else model.energy().value(x, w, scale=scale)
    angle = wave * jnp.arctan2(x[:, 1], x[:, 0]) if x.shape[1] == 2 else jnp.full_like(mass, jnp.nan)
    amplitude = jnp.hypot(jnp.sum(mass * jnp.cos(angle)), jnp.sum(mass * jnp.sin(angle)))
    return energy, jnp.linalg.norm(mass @ x), amplitude


def series(model: AbstractModel, xs: Array, w: Array | None, scale: str | None, wave: int) -> np.ndarray:
    """`quick` of every row of `xs (T, n, d)`, as `(T, 3)`."""
    return np.asarray(programs.call(_series, model, xs, w, jnp.asarray(wave, xs.dtype), scale))


def _series(model: Any, xs: Array, w: Array | None, wave: Array, scale: str | None) -> Array:
    return jax.lax.map(lambda x: jnp.stack(_quick(model, x, w, wave, scale)), xs)


def slow(model: AbstractModel, x: Array, w: Array | None, t: float, masses: np.ndarray | None = None) -> Slow:
    """Clusters, the plateau of the energy that their masses give, the law of inner products, who attends to whom.

    `masses` are those of the clusters where the run itself knows which have merged; the colours are of those that can
    be told apart.
    """
    x = model.space.nearest(x)
    if np.isfinite(np.asarray(x)).all():
        found = clusters(x, eps=linking_distance(model, x), space=model.space, weights=w)
        labels, own = found.labels, found.masses
    else:  # the run has left what can be written, and there are no clusters
        labels, own = np.zeros(x.shape[0], int), np.zeros(0)
    masses = own if masses is None else masses
    image = attention_image(model, x, w, t, labels)
    return Slow(labels, len(masses), float(np.sum(masses**2)), histogram(x), image)


def linking_distance(model: AbstractModel, x: Array) -> float | None:
    """The default of `clusters`, or a third of the usual gap where many tokens on few dimensions would be one chain."""
    n, d = x.shape
    if not isinstance(model.space, Sphere) or d not in (2, 3):
        return None
    gap = 2 * np.pi / n if d == 2 else np.sqrt(4 * np.pi / n)
    return float(min(np.sqrt(2 * DELTA), gap / 3))


def histogram(x: Array) -> np.ndarray:
    """Density of the cosines of pairs between -1 and 1."""
    n = x.shape[0]
    if n < 2:
        return np.zeros(BINS)
    some = np.unique(np.linspace(0, n - 1, min(n, PAIR_TOKENS)).astype(int))
    # Compiled, and not NumPy's product of matrices: the threads of that one spin for a while after each, and take
    # half a core from whoever draws the page.
    return np.asarray(programs.call(_histogram, x, jnp.asarray(some)))


def _histogram(x: Array, some: Array) -> Array:
    x = x[some]
    length = jnp.linalg.norm(x, axis=1, keepdims=True)
    unit = x / jnp.where(length > 0, length, 1)
    place = jnp.clip((unit @ unit.T + 1) / 2 * BINS, 0, BINS - 1).astype(int)
    pairs = jnp.triu(jnp.ones(place.shape, x.dtype), 1)
    count = jnp.bincount(place.ravel(), pairs.ravel(), length=BINS)
    return count / jnp.sum(pairs) * (BINS / 2)


def attention_parts(model: Any, head: int = 0) -> tuple[Any, Any] | None:
    """The map with a matrix to show, and who sees whom; of several heads one."""
    attention = getattr(model, "attention", None)
    if not isinstance(attention, AbstractAttention) or not hasattr(model, "pairs"):
        return None
    return heads_of(attention)[head], model.pairs


def attention_image(model: Any, x: Array, w: Array | None, t: float, labels: np.ndarray) -> np.ndarray:
    """The attention matrix as an image of at most 64 by 64: means over rows, sums over columns.

    Where every token sees all, tokens are ordered by cluster; otherwise their order has a meaning and is kept.
    """
    parts = attention_parts(model)
    if parts is None:
        return np.zeros((0, 0))
    n = x.shape[0]
    order = np.argsort(labels, kind="stable") if type(parts[1]).__name__ == "Full" else np.arange(n)
    side = min(n, IMAGE_SIDE)
    member = np.zeros((side, n))
    member[np.arange(n) * side // n, order] = 1
    member = jnp.asarray(member, x.dtype)
    return np.asarray(programs.call(_image, x, w, jnp.asarray(t, x.dtype), member, *parts))


def _image(x: Array, w: Array | None, t: Array, member: Array, attention: Any, pairs: Any) -> Array:
    matrix = _matrix(x, w, t, attention, pairs, None)
    return (member / jnp.sum(member, axis=1, keepdims=True)) @ matrix @ member.T


def attention_row(model: Any, x: Array, w: Array | None, t: float, token: int) -> np.ndarray | None:
    """What one token reads from each."""
    parts = attention_parts(model)
    if parts is None:
        return None
    row = programs.call(_row, model.space.nearest(x), w, jnp.asarray(t, x.dtype), jnp.asarray([token]), *parts)
    return np.asarray(row[0])


def _row(x: Array, w: Array | None, t: Array, rows: Array, attention: Any, pairs: Any) -> Array:
    return _matrix(x, w, t, attention, pairs, rows)


def _matrix(x: Array, w: Array | None, t: Array, attention: Any, pairs: Any, rows: Array | None) -> Array:
    attention = at_time(attention, t)
    return attention.matrix(x, attention.log_weights(x, w, pairs=pairs), rows, pairs=pairs)
