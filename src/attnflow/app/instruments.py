"""Measurements along a run: the cheap ones at every state, the expensive ones now and then.

The numbers are those of `attnflow.diagnostics`: the same functions of one cloud that a `Run` maps over its times.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..attention import AbstractAttention, Softmax, heads_of
from ..diagnostics import clusters
from ..diagnostics.attention import matrix_tiles
from ..diagnostics.clusters import default_eps, spread
from ..diagnostics.correlations import mean_length, product_histogram, wave_amplitude
from ..diagnostics.partition import log_z
from ..errors import InputError
from ..flows.compiled import timed_call
from ..models import AbstractModel
from ..models.schedules import depends_on_time
from ..pairsums import Full
from ..spaces import Sphere
from .playback import Moment, Start
from .theory import first_wave

BINS = 60
HISTOGRAM_TOKENS = 400  # the histogram looks at so many tokens, equally spaced among all
IMAGE_SIDE = 64
CURVE_POINTS = 480


class Quick(NamedTuple):
    """Energy (not a number where the model has none), order parameter, amplitude of one wave on the circle."""

    energy: float
    order: float
    wave: float


class Slow(NamedTuple):
    """Clusters linked within `eps` and the sum of their squared masses; law of inner products; attention."""

    labels: np.ndarray
    clusters: int
    eps: float
    plateau: float
    histogram: np.ndarray
    attention: np.ndarray


class Instruments:
    """They measure the states of one run."""

    def __init__(self, start: Start):
        self.model, self.weights = start.model, start.weights
        self.scale = _energy_scale(start.model)
        self.wave = first_wave(start.model, start.x.shape[1])
        self._spread = float(spread(start.x, start.weights))
        self._attention = _attention_and_pairs(start.model)
        self._kernel = _kernel(start.model, start.x.shape[1])

    def quick(self, x: Float[Array, "n d"], *, energy: bool = True) -> Quick:
        """The measurements of every state; `energy=False` leaves the energy out."""
        scale = self.scale if energy else None
        return Quick(*map(float, timed_call(_quick, self.model, x, self.weights, _number(self.wave, x), scale).value))

    def density(self, x: Float[Array, "n d"]) -> np.ndarray:
        r"""On the circle the kernel density $\sum_j w_j e^{\beta(\cos(\theta - \theta_j) - 1)}$; empty elsewhere."""
        if self._kernel is None:
            return np.zeros(0)
        return np.asarray(timed_call(_density, x, self.weights, self._kernel).value)

    def series(self, ts: np.ndarray, xs: Float[Array, "T n d"]) -> dict[str, Any]:
        """Rows (step, time, *quick) of all states, and (step, time, count, plateau) where the clusters change."""
        values = np.asarray(timed_call(_series, self.model, xs, self.weights, _number(self.wave, xs), self.scale).value)
        linked = clusters(xs, weights=self.weights, space=self.model.space)
        plateaus = np.sum(linked.masses**2, axis=1)
        changed = [k for k in range(len(ts)) if k in (0, len(ts) - 1) or plateaus[k] != plateaus[k - 1]]
        counts = [[k, float(ts[k]), int(np.asarray(linked.count)[k]), float(plateaus[k])] for k in changed]
        return {"rows": [row(k, t, q) for k, (t, q) in enumerate(zip(ts, values, strict=True))], "counts": counts}

    def slow(self, moment: Moment) -> Slow:
        """The expensive measurements; `af.clusters(run)` counts the same clusters."""
        x, weights = moment.x, self.weights
        eps = float(default_eps(x, weights, self.model.space, self._spread))
        linked = clusters(x, eps=eps, weights=weights)
        plateau = float(np.sum(linked.masses**2))
        image = self._attention_image(moment, linked.labels)
        return Slow(linked.labels, int(linked.count), eps, plateau, _histogram(x, weights), image)

    def attention_row(self, moment: Moment, token: int) -> np.ndarray | None:
        """What one token reads from each; `None` if the model has no attention matrix."""
        if self._attention is None:
            return None
        t, rows = _number(moment.t, moment.x), jnp.asarray([token])
        return np.asarray(timed_call(_rows, moment.x, t, self.weights, self._attention, rows).value[0])

    def _attention_image(self, moment: Moment, labels: np.ndarray) -> np.ndarray:
        """The attention matrix as an image of at most 64 by 64: means over rows, sums over columns.

        Where every token sees all, tokens are ordered by cluster; otherwise their order has a meaning and is kept.
        """
        if self._attention is None:
            return np.zeros((0, 0))
        n, x = moment.x.shape[0], moment.x
        order = np.argsort(labels, kind="stable") if self._attention[1].complete else np.arange(n)
        side = min(n, IMAGE_SIDE)
        member = np.zeros((side, n))
        member[np.arange(n) * side // n, order] = 1
        t, member = _number(moment.t, x), jnp.asarray(member, x.dtype)
        return np.asarray(timed_call(_image, x, t, self.weights, self._attention, member).value)


def row(step: int, t: float, quick: Any) -> list[Any]:
    """A row of a chart as JSON: what is not a number becomes null."""
    return [step, float(t), *(None if v != v else float(v) for v in quick)]


def _number(value: float | int, x: Array) -> Array:
    return jnp.asarray(value, x.dtype)


def _energy_scale(model: AbstractModel) -> str | None:
    """The usual scale of the model's energy, `None` if it declares none."""
    try:
        return model.energy().scale()
    except InputError:
        return None


def _attention_and_pairs(model: Any) -> tuple[Any, Any] | None:
    """The map whose matrix is shown (of several heads the first), and the pairs."""
    attention = getattr(model, "attention", None)
    if not isinstance(attention, AbstractAttention) or not hasattr(model, "pairs"):
        return None
    return heads_of(attention)[0], model.pairs


def _kernel(model: Any, d: int) -> Array | None:
    """The inverse temperature of the kernel density that is drawn, where attention on the circle has one."""
    parts = _attention_and_pairs(model)
    if parts is None or d != 2 or not model.space.unit or len(heads_of(model.attention)) > 1:
        return None
    attention, pairs = parts
    drawable = attention.exponential and pairs.complete and not depends_on_time(attention)
    zonal = attention.score.zonal if drawable else None
    return None if zonal is None else jnp.asarray(zonal[0])


def _quick(model: Any, x: Array, weights: Array | None, wave: Array, scale: str | None) -> tuple[Array, Array, Array]:
    nothing = jnp.full((), jnp.nan, x.dtype)
    energy = nothing if scale is None else model.energy().value(x, weights, scale=scale)
    return energy, mean_length(x, weights), wave_amplitude(x, weights, wave) if x.shape[1] == 2 else nothing


def _series(model: Any, xs: Array, weights: Array | None, wave: Array, scale: str | None) -> Array:
    return jax.lax.map(lambda x: jnp.stack(_quick(model, x, weights, wave, scale)), xs)


def _density(x: Array, weights: Array | None, beta: Array) -> Array:
    angle = jnp.linspace(-jnp.pi, jnp.pi, CURVE_POINTS, endpoint=False, dtype=x.dtype)
    points = jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1)
    beta = beta.astype(x.dtype)
    return jnp.exp(log_z(x, jnp.zeros((), x.dtype), weights, (Softmax(beta), Full()), points) - beta)


def _histogram(x: Array, weights: Array | None) -> np.ndarray:
    """Density of the cosines of pairs between -1 and 1."""
    n = x.shape[0]
    if n < 2:
        return np.zeros(BINS)
    some = jnp.asarray(np.unique(np.linspace(0, n - 1, min(n, HISTOGRAM_TOKENS)).astype(int)))
    x, weights = x[some], None if weights is None else weights[some]
    return np.asarray(timed_call(_cosines, x, weights).value)


def _cosines(x: Array, weights: Array | None) -> Array:
    edges = jnp.linspace(-1, 1, BINS + 1, dtype=x.dtype)
    return product_histogram(Sphere().nearest(x), weights, edges, jnp.ones((), x.dtype)) * (BINS / 2)


def _rows(x: Array, t: Array, weights: Array | None, attention: Any, rows: Array) -> Array:
    return matrix_tiles(x, t, weights, attention)(rows)


def _image(x: Array, t: Array, weights: Array | None, attention: Any, member: Array) -> Array:
    matrix = matrix_tiles(x, t, weights, attention)(None)
    return (member / jnp.sum(member, axis=1, keepdims=True)) @ matrix @ member.T
