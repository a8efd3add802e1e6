r"""Isolate, cluster, reverse: one measure after the other becomes a point, all others stay (Lemma 3.3).

For the measure j with the direction $\hat m$ of its barycentre: pieces $V = \alpha\alpha^\top$ with $\alpha$ running
over an orthonormal basis of $\hat m^\perp$. Measure j rests, since $\langle\alpha, m\rangle = 0$; all others tend to
$\pm\alpha$. A gate on a cap around $\hat m$ that contains measure j alone moves it to $\hat m$. The attention pieces,
reversed, bring the others back. That is $2(d - 1) + 1$ pieces for a measure. The barycentres must have different
directions.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import whole
from ...errors import InputError
from ...spaces import Count, Number
from ._checked import duration, positive
from ._measure import Side, measures
from .boost import rank_one_attention
from .cap_gate import amount_to_reach, cap_gate
from .piece import TransformerPiece
from .schedule import TransformerSchedule

TIMES = (4.0, 6.0, 8.0, 11.0, 14.0, 17.0, 20.0)  # of an attention piece; a measure at rest stays to 1e-16 e^t
GAP = 0.8  # between <x, m> of the measure and of all others, from which on the gate is placed
ALIKE = 1e-5  # the least angle between barycentres


def isolate(
    clouds: Sequence[Any], j: Count, *, T: Number | None = None, diameter: Number = 1e-12
) -> list[TransformerPiece]:
    """The $2(d - 1) + 1$ pieces that make a point of cloud j and leave all others where they are; none for a point.

    **Arguments:** `clouds`, arrays `(n, d)` or pairs of them and weights, best after `gather_orthant`; `T`, the time of
    an attention piece, by default long enough; `diameter` of cloud j in the end.
    """
    side = Side.of(measures("clouds", clouds))
    j = whole("j", j, least=0, most=len(side.starts) - 1)
    return isolated(side, j, positive("diameter", diameter), None if T is None else duration(T))


def isolating(side: Side, diameter: float = 1e-12) -> list[TransformerPiece]:
    """The pieces for all measures, one after the other."""
    pieces: list[TransformerPiece] = []
    for j in range(len(side.starts)):
        block = isolated(side, j, diameter)
        pieces += block
        side = TransformerSchedule(block).moved(side) if block else side
    return pieces


def isolated(side: Side, j: int, diameter: float = 1e-12, T: float | None = None) -> list[TransformerPiece]:
    """Make a point of measure j: attention, gate, attention reversed. `T` is the time of a piece, by default enough."""
    direction = _direction(side, j)
    if np.max(np.linalg.norm(side.x[side.owner == j] - direction, axis=1)) <= diameter / 2:
        return []
    basis = np.linalg.svd(direction[None])[2][1:]
    tried = []
    for time in TIMES if T is None else (T,):
        away = [rank_one_attention(alpha, time) for alpha in basis]
        moved = TransformerSchedule(away).moved(side)
        inner, own = moved.x @ direction, moved.owner == j
        rim, others = float(inner[own].min()), float(inner[~own].max(initial=-1.0))
        tried.append((rim - others, away, rim, others))
        if rim - others > GAP:
            break
    gap, away, rim, others = max(tried, key=lambda one: one[0])
    if not gap > 0:
        raise InputError(
            f"measure {j} cannot be isolated: after its attention pieces other measures reach {others:.3g} along its "
            f"barycentre, and its own atoms begin at {rim:.3g}; gather all measures before, or take another method."
        )
    level = max((rim + others) / 2, -0.9)
    amount = amount_to_reach(level, rim - level, diameter / 2)
    gate = cap_gate(direction, level, amount, role="cluster")
    return [*away, gate, *(piece.reversed("separate") for piece in reversed(away))]


def _direction(side: Side, j: int) -> np.ndarray:
    """The direction of the barycentre of measure j, if it is no other's."""
    means = np.stack([one.w @ one.x for one in side.split()])
    length = np.linalg.norm(means, axis=1)
    if length[j] < ALIKE:
        raise InputError(f"measure {j} has the barycentre {length[j]:.2g}, which has no direction; move it before.")
    unit = means / np.maximum(length, 1e-300)[:, None]
    alike = np.minimum(np.linalg.norm(unit - unit[j], axis=1), np.linalg.norm(unit + unit[j], axis=1))
    alike[j] = np.inf
    if alike.min(initial=np.inf) < ALIKE:
        k = int(np.argmin(alike))
        raise InputError(
            f"the barycentres of measures {min(j, k)} and {max(j, k)} cannot be told apart: their directions differ by "
            f"{alike[k]:.2g}; take method='generic', or a piece of attention before."
        )
    return unit[j]
