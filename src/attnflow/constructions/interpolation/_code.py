r"""Step A: one block that sends sequences with different codes to disjoint intervals.

The code of a sequence is its largest $\langle x, v\rangle$. Attention with $Q = K = v^\top$ lets every token read it,
after a shift along $v$ that makes all queries positive. $V = \Lambda p v^\top$ adds it along $p = u/|u|^2$: in the
projection on $u$ two sequences move apart by $\Lambda$ times the gap of their codes, at least by $\frac32D$.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ._blocks import Attention, Block, neurons
from ._draft import Draft
from ._fixed_order import linear

DRAWS = 32
LARGEST = 10**9  # of kappa


def spread_codes(draft: Draft, u: np.ndarray, relative_gap: Any, rng: np.random.Generator) -> None:
    """Add the block where it helps and the arithmetic can hold what it does; otherwise nothing.

    `kappa`, the range of the codes over their smallest gap, says how far positions grow. Where not all codes differ,
    rounds must still separate tokens afterwards, so `kappa` must leave them their digits.
    """
    arithmetic, cloud = draft.arithmetic, draft.cloud
    drawn = [_drawn(draft, arithmetic.direction(rng, draft.d)) for _ in range(DRAWS)]
    different, kappa, v = min(drawn, key=lambda one: (-one[0], one[1]))
    if different < 2 or kappa > LARGEST or (different < len(cloud.starts) and not kappa < relative_gap * 2**40):
        return
    along = linear(cloud.x, v)
    square = (v * v).sum()
    shift = ((along.max() - along.min()) / 10 - along.min()) / square
    lift = neurons(arithmetic, draft.d, 1, (v * 0, abs(shift), v if shift >= 0 else -v))
    lifted = cloud.moved(lift(cloud.x))
    one = arithmetic.array(1)[()]
    asking = Attention(rho=one, Q=v[None], K=v[None], multiple=one * 0, left=u, right=v)
    codes = np.unique(asking.reading(lifted).means)
    if len(codes) < 2:
        return
    strength = 3 * draft.span / (2 * np.diff(codes).min())
    draft.kappa = kappa
    draft.add(Block("code", lift, replace(asking, left=u / (u * u).sum() * strength)))


def _drawn(draft: Draft, v: np.ndarray) -> tuple[int, Any, np.ndarray]:
    """How many codes differ along `v`, and kappa."""
    along = linear(draft.cloud.x, v)
    codes = np.unique(np.maximum.reduceat(along, draft.cloud.starts))
    if len(codes) < 2:
        return 1, np.inf, v
    return len(codes), 11 * (codes[-1] - along.min()) / (10 * np.diff(codes).min()), v
