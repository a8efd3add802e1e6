r"""The velocity of attention at the faces of a grid: queries are the faces, keys the centres with their masses.

It comes from the attention map itself, so every map is served. On the circle the grid never moves. There the scores of
softmax attention are computed once, $K_{ij} = e^{s_{ij} - \max_j s_{ij}}$, and a velocity is two products with that
matrix,

$$ \Gamma_i = \frac{\sum_j K_{ij} w_j V y_j}{\sum_j K_{ij} w_j} , $$

some five times faster. It is used where no denominator can vanish: where scores of a query differ by less than the
logarithm of the smallest number.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from ...attention import heads_of
from ...models.schedules import at_time, depends_on_time
from ...pairsums import AbstractScore
from ...pairsums.algebra import matmul
from ._chart import AbstractChart, centres, faces
from ._reconstruction import quadrature_weights

TABLE = "table"
MOST_CELLS = 2048  # of a table; larger ones leave the caches and the memory of small machines
QUERIES = 32  # at which the curvature of scores is looked at


class State(NamedTuple):
    """Masses of the cells, and the two ends of the grid."""

    masses: Float[Array, " cells"]
    ends: Float[Array, " 2"]


class Field(NamedTuple):
    """A model on a grid: `velocity` at the faces, along the coordinate. `table` is that of the scores, or nothing."""

    model: Any
    table: Float[Array, "queries cells"] | None

    def velocity(
        self, chart: AbstractChart, kernel: str, t: ArrayLike, state: State, warm: Any
    ) -> tuple[Float[Array, " faces"], Float[Array, ""]]:
        """The speed at every face, and the length of the longest vector it is a part of."""
        at = faces(state.ends, state.masses.size)
        queries = at[:-1] if chart.periodic else at
        keys, w = self.keys(chart, state)
        if self.table is None:
            attention = at_time(self.model.attention, t)
            vectors = attention(chart.points(queries), keys, w, kernel=kernel, state=warm)
        else:
            values = self.model.attention.values(keys)
            sums = matmul(self.table, w[:, None] * jnp.concatenate([values, jnp.ones_like(values[:, :1])], axis=1))
            vectors = sums[:, :-1] / sums[:, -1:]
        speed = chart.speed(queries, vectors)
        longest = jnp.sqrt(jnp.max(jnp.sum(vectors * vectors, axis=1)))
        return jnp.concatenate([speed, speed[:1]]) if chart.periodic else speed, longest

    def keys(self, chart: AbstractChart, state: State) -> tuple[Float[Array, "cells d"], Float[Array, " cells"]]:
        """The centres of the cells as tokens, and their weights."""
        keys = chart.points(centres(faces(state.ends, state.masses.size)))
        return keys, quadrature_weights(state.masses, chart.periodic)

    def warm(self, chart: AbstractChart, kernel: str, t: ArrayLike, state: State, before: Any) -> Any:
        """The warm start of an attention map that iterates."""
        return self.model.warm(t, *self.keys(chart, state), before, kernel=kernel)


def score_table(model: Any, chart: AbstractChart, ends: np.ndarray, cells: int) -> Array | None:
    """The exponentials of all scores on a grid that stays, if a velocity can be computed from them alone."""
    attention = model.attention
    averages = attention.exponential and attention.row_stochastic
    if not chart.periodic or not averages or depends_on_time(attention) or cells > MOST_CELLS:
        return None
    at = faces(ends, cells)
    scores = _scores(attention.score, chart.points(at[:-1]), chart.points(centres(at)))
    below = scores - scores.max(axis=1, keepdims=True)
    # Half of the range of exponents: what is left is for masses.
    if below.min() < 0.5 * float(np.log(jnp.finfo(scores.dtype).tiny)):
        return None
    return jnp.asarray(np.exp(below))


def cells_of_attention(model: Any, chart: AbstractChart, ends: np.ndarray, cells: int) -> float:
    r"""The width of attention in cells: $1/\sqrt{\beta}\,h$ for $e^{\beta\cos}$; infinite where scores do not bend.

    From the second differences of the scores in the key.
    """
    if depends_on_time(model.attention):
        return np.inf
    at = faces(ends, cells)
    queries, keys = chart.points(at[:-1][:: max(1, cells // QUERIES)]), chart.points(centres(at))
    bend = 0.0
    for head in heads_of(model.attention):
        s = _scores(head.score, queries, keys)
        s = np.concatenate([s, s[:, :2]], axis=1) if chart.periodic else s
        bend = max(bend, float(np.max(2 * s[:, 1:-1] - s[:, 2:] - s[:, :-2])))
    return float(1 / np.sqrt(bend)) if bend > 1e-12 else np.inf


def _scores(score: AbstractScore, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """All scores, in the precision of the solve."""
    dtype = jnp.result_type(float)
    return np.asarray(_compiled_scores(score, jnp.asarray(queries, dtype), jnp.asarray(keys, dtype)))


@eqx.filter_jit
def _compiled_scores(score: AbstractScore, queries: Array, keys: Array) -> Array:
    return score.logits(score.project(queries, keys))
