r"""Unresolved features of a law on a grid, in sentences, each with a number that shows it.

- *Peaks* narrower than four cells: `unresolved`, in `result`.
- *Details.* From cells of twice the width the masses of the cells are predicted by a polynomial of degree four, exact
  for the averages of five such cells (Harten's multiresolution). What is misplaced is resolved by this grid alone, and
  it is an upper bound of what a finer one would add, as long as the law is smooth.
- *Attention* narrower than a cell.
- *Tails.* A query reads a law tilted by its score. If tails that hold a part of $10^{-10}$ of the mass decide the
  velocity, so do the ends of the interval, where a density is cut off: past the blow-up of a Gaussian that is all.

Reference: docs/theory/mean-field.md, What is resolved.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...models.schedules import at_time, depends_on_time
from ._chart import AbstractChart, centres, faces
from ._field import cells_of_attention
from ._reconstruction import quadrature_weights, with_ghosts

MUCH = 0.01  # of the mass, or of a velocity: as much is worth a word
TAIL = 1e-10  # of the mass
ROWS, QUERIES = 33, 256  # at most so many times, and queries, are looked at


def details(masses: Float[np.ndarray, "T cells"], periodic: bool) -> Float[np.ndarray, " T"]:
    """The part of the mass that half as many cells would misplace."""
    padded = with_ghosts(masses, 5, periodic)
    count = masses.shape[-1]

    def pair(k: int) -> np.ndarray:
        """The masses of two cells together, the first of them 2k cells to the right."""
        return padded[..., 5 + 2 * k : 5 + 2 * k + count] + padded[..., 6 + 2 * k : 6 + 2 * k + count]

    predicted = pair(0) / 2 - (22 * (pair(1) - pair(-1)) - 3 * (pair(2) - pair(-2))) / 256
    misplaced = np.abs(masses - predicted)
    return np.sum(misplaced if periodic else misplaced[..., :-1], axis=-1)


def narrow_attention(model: Any, chart: AbstractChart, ts: np.ndarray, ends: np.ndarray, cells: int) -> str | None:
    """A sentence, if attention is narrower than a cell at one of these times."""
    changes = depends_on_time(model.attention) or not chart.periodic
    for k in some(len(ts) if changes else min(1, len(ts))):
        width = cells_of_attention(at_time(model, ts[k]), chart, ends[k], cells)
        if width < 1:
            return (
                f"At t = {ts[k]:.4g} attention is {width:.2g} cells wide, so that cells hardly see their neighbours: "
                f"take cells >= {int(np.ceil(2 * cells / width))}."
            )
    return None


def deciding_tails(
    model: Any, chart: AbstractChart, ts: np.ndarray, ends: np.ndarray, masses: np.ndarray
) -> str | None:
    """A sentence, if the tails of a law on the line decide its velocity."""
    if chart.periodic:
        return None
    dtype = jnp.result_type(float)
    for k in some(len(ts)):
        m = masses[k]
        points = chart.points(centres(faces(ends[k], m.size)))
        w = quadrature_weights(m, chart.periodic)
        tail = (np.cumsum(m) < TAIL) | (np.cumsum(m[::-1])[::-1] < TAIL)
        at = slice(None, None, max(1, m.size // QUERIES))
        attention = at_time(model.attention, ts[k])
        laws = ((points[at], points, weights) for weights in (w, np.where(tail, 0, w)))
        both = [_velocity(attention, *(jnp.asarray(a, dtype) for a in one)) for one in laws]
        whole, cut = (np.asarray(v, float)[:, 0] for v in both)
        if np.sum(m[at] * (whole - cut) ** 2) > MUCH**2 * np.sum(m[at] * whole**2):
            return (
                f"From t = {ts[k]:.4g} on tails with less than {TAIL:g} of the mass decide the velocity, and so do the "
                "ends of the interval: a density cut off there, as a Gaussian is, moves otherwise than the whole one."
            )
    return None


def some(count: int) -> Any:
    """Some of so many rows, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, ROWS)).round().astype(int)) if count else ()


@eqx.filter_jit
def _velocity(attention: Any, queries: Array, keys: Array, w: Array) -> Array:
    return attention(queries, keys, w)
