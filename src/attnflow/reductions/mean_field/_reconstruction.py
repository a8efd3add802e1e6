r"""From masses of cells to the density at their faces, and to the weights of a quadrature.

**Faces.** Three parabolas, each with the right averages on three neighbouring cells, give a value at a face each. In a
smooth density they are combined to fifth order. Near a jump the weight goes to the parabola that does not see it
(WENO5, with the indicators of Jiang and Shu and the weights of Borges, Carmona, Costa and Don). Values below zero are
raised to zero.

**Quadrature.** The mass of a cell is not the density at its centre: they differ by $h^2\rho''/24$. So an integral
$\int g\,d\mu$ is $\sum_i w_i g(y_i) + O(h^4)$ with

$$ w_i = m_i - \frac{m_{i+1} - 2m_i + m_{i-1}}{24} = m_i - (c_{i+1/2} - c_{i-1/2}), \qquad
   c_{i+1/2} = \frac{m_{i+1} - m_i}{24}, $$

an exchange of mass between neighbours, which leaves its sum. No cell gives more than a quarter of what it has to
either neighbour, so that weights are not negative.

**Peaks.** A cluster shrinks below the width of a cell. It is then no density but atoms at centres, and is treated as
that: `in_peaks` finds the cells, which keep their masses as weights, and `_scheme` moves atoms with their own velocity.

Reference: docs/theory/mean-field.md, The scheme.
"""

import functools
import operator
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from ._chart import namespace

GHOSTS = 3
Numbers = Array | np.ndarray  # what comes in as one goes out as the same; leading axes are laws at several times


def with_ghosts(of_cells: Any, count: int, periodic: bool) -> Any:
    """Values of cells, with `count` more on both sides: those of the other side, or zeros."""
    widths = [(0, 0)] * (of_cells.ndim - 1) + [(count, count)]
    return namespace(of_cells).pad(of_cells, widths, mode="wrap" if periodic else "constant")


def at_faces(masses: Float[Numbers, "*T cells"], periodic: bool) -> tuple[Any, Any]:
    """The density at every face, times the width of a cell, as the cell on the left and the one on the right see it."""
    padded = with_ghosts(masses, GHOSTS, periodic)
    w = [padded[..., s : s + masses.shape[-1] + 1] for s in range(2 * GHOSTS)]
    return _edge(w[0], w[1], w[2], w[3], w[4]), _edge(w[5], w[4], w[3], w[2], w[1])


def quadrature_weights(masses: Float[Numbers, "*T cells"], periodic: bool) -> Any:
    """Masses at the centres that integrate smooth functions to fourth order, not negative, with the same sum."""
    xp = namespace(masses)
    padded = with_ghosts(masses, 1, periodic)
    left, right = padded[..., :-1], padded[..., 1:]
    most = xp.minimum(left, right) / 4
    exchange = xp.where(at_peaks(masses, periodic), 0, xp.clip((right - left) / 24, -most, most))
    return masses - (exchange[..., 1:] - exchange[..., :-1])


def in_peaks(masses: Float[Numbers, "*T cells"], periodic: bool) -> Any:
    """Cells of a peak that is narrower than four cells at half of its height: its top, and two on either side."""
    padded = with_ghosts(masses, 4, periodic)
    middle = padded[..., 2:-2]
    top = (middle > 2 * padded[..., :-4]) & (middle > 2 * padded[..., 4:])  # of the cells -2, …, N + 1
    return functools.reduce(operator.or_, [top[..., s : s + masses.shape[-1]] for s in range(5)])


def at_peaks(masses: Float[Numbers, "*T cells"], periodic: bool) -> Any:
    """Faces of such cells."""
    padded = with_ghosts(in_peaks(masses, periodic), 1, periodic)
    return padded[..., :-1] | padded[..., 1:]


def _edge(a: Numbers, b: Numbers, c: Numbers, d: Numbers, e: Numbers) -> Any:
    """The value at the right edge of the third of five cells."""
    xp = namespace(a)
    # Relative to the largest of the five: weights do not depend on units, and squares of small numbers do not vanish.
    size = xp.maximum(xp.maximum(xp.maximum(a, b), xp.maximum(c, d)), e)
    scale = xp.where(size > 0, size, 1)
    a, b, c, d, e = (v / scale for v in (a, b, c, d, e))
    values = (
        (2 * a - 7 * b + 11 * c) / 6,
        (-b + 5 * c + 2 * d) / 6,
        (2 * c + 5 * d - e) / 6,
    )
    roughness = (
        13 / 12 * (a - 2 * b + c) ** 2 + (a - 4 * b + 3 * c) ** 2 / 4,
        13 / 12 * (b - 2 * c + d) ** 2 + (b - d) ** 2 / 4,
        13 / 12 * (c - 2 * d + e) ** 2 + (3 * c - 4 * d + e) ** 2 / 4,
    )
    tiny = float(xp.finfo(a.dtype).eps) ** 2
    apart = xp.abs(roughness[0] - roughness[2])
    weights = [g * (1 + (apart / (r + tiny)) ** 2) for g, r in zip((0.1, 0.6, 0.3), roughness, strict=True)]
    mean = sum(g * v for g, v in zip(weights, values, strict=True)) / sum(weights)
    return scale * xp.maximum(mean, 0)
