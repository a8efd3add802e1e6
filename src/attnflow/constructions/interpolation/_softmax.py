r"""From which $\beta$ on softmax attention does the same: a sufficient bound, and the place by bisection.

Let $g$ be the smallest gap between the best score and the next at an attention layer, $\delta$ the spread of what is
read times the gain of $V$, $n$ the length. There $|\text{soft} - \text{hard}| \le (n - 1)\,\delta e^{-\beta g}$. After
it, errors pass to the position $a$ and stay as they are, until the plateau of a placement block removes them. They do
no harm if no token crosses a kink of a later layer and no later gap shrinks to less than half. With A attention layers
and $\mu$ the smallest such margin after the layer,

$$ \beta \ge \max_{\text{layers}} \frac2g \log\frac{(n - 1)\,\delta\,A}{\mu} $$

is enough.
"""

import math
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ._blocks import Block
from ._cloud import Cloud
from ._fixed_order import linear
from ._reading import score_gaps
from ._report import largest_distance

STEP = 1.01  # to which factor the place is found


@dataclass(frozen=True, repr=False)
class SoftmaxThreshold:
    """`sufficient`: a bound from the margins of the network. `threshold`: found by bisection below it; the relative
    error is at most `tol` there (`error`) and larger at 0.99 times it. Between the two, errors were looked at only
    where the bisection went. `smallest_gap`: of scores.
    """

    sufficient: float
    threshold: float
    error: float
    smallest_gap: float
    tol: float

    def __repr__(self) -> str:
        return (
            f"softmax interpolates to {self.tol:.1g} at beta = {self.threshold:.4g} (bisection); "
            f"beta = {self.sufficient:.4g} is enough by the margins."
        )


def softmax_threshold(blocks: list[Block], cloud: Cloud, wanted: list[np.ndarray], tol: float) -> SoftmaxThreshold:
    """The thresholds of a network on the data `cloud`; `tol` is relative to the largest entry of the outputs."""
    if not isinstance(tol, (int, float)) or not 0 < tol < 1:
        raise InputError(f"tol = {tol!r}; take a number between 0 and 1.")
    size = max(float(abs(y).max()) for y in wanted) or 1.0

    def error(beta: float) -> float:
        state = cloud
        for block in blocks:
            state = block(state, beta)
        return float(largest_distance(state, wanted)) / size

    sufficient, smallest = sufficient_beta(blocks, cloud)
    if sufficient == 0:  # every sequence has one token
        return SoftmaxThreshold(0.0, 0.0, error(0.0), smallest, tol)
    high = sufficient
    if not error(high) <= tol:
        raise InputError(f"softmax has the relative error {error(high):.1g} at beta = {high:.3g}; raise tol = {tol}.")
    low = high / 2
    while error(low) <= tol and low > 1e-9 * sufficient:
        low, high = low / 2, low
    while high > STEP * low:
        middle = math.sqrt(low) * math.sqrt(high)  # the product of extreme numbers is none
        low, high = (low, middle) if error(middle) <= tol else (middle, high)
    return SoftmaxThreshold(sufficient, high, error(high), smallest, tol)


def sufficient_beta(blocks: list[Block], cloud: Cloud) -> tuple[float, float]:
    """The bound of this module's text, and the smallest score gap."""
    gaps, spreads, margins = [], [], []  # one per attention layer; margins collects (blocks before, margin)
    others = max(int(np.bincount(cloud.segment, weights=cloud.count).max()) - 1, 1)
    scale = 1.0  # of positions: the first placement block changes it
    for number, block in enumerate(blocks):
        layer = block.feed_forward
        if block.role == "place" and scale == 1.0:
            scale = float(layer.U[0, 0])
        margins.append((len(gaps), _kinks(block, cloud) / scale))
        cloud = cloud.moved(layer(cloud.x))
        if block.attention is not None:
            q, k = block.attention.scores(cloud)
            gap = float(score_gaps(cloud, q, k).min())
            if block.role == "collapse":  # keys are positions here, and may have been moved a little
                margins.append((len(gaps), gap / (9 * float(abs(cloud.x).max()))))
            gaps.append(gap)
            spreads.append(_spread(block, blocks[number + 1].feed_forward.U[0], cloud))
            cloud = cloud.moved(block.attention(cloud))
            cloud = cloud.merged() if block.attention.rho == 0 else cloud
    beta = 0.0
    for layer, (gap, spread) in enumerate(zip(gaps, spreads, strict=True)):
        if gap < math.inf and spread > 0:
            margin = min(value for before, value in margins if before > layer)
            beta = max(beta, 2 / gap * math.log(max(others * spread * len(gaps) / margin, math.e)))
    return beta, min(gaps)


def _kinks(block: Block, cloud: Cloud) -> float:
    """How far the position of any token is from a kink of the layer; marks (x_2) are exact and do not count."""
    layer = block.feed_forward
    distances = [np.abs(linear(cloud.x, u) + b).min() for u, b in zip(layer.U, layer.b, strict=True) if u[0] != 0]
    return float(min(distances, default=np.inf))


def _spread(block: Block, after: np.ndarray, cloud: Cloud) -> float:
    """The largest difference, in position, of what two tokens of a sequence would give a reader.

    A rank-one V adds to the position <u, left> times what it reads, `after` being the u of the next layer.
    """
    attention = block.attention
    assert attention is not None
    if attention.left is None or attention.right is None:
        columns, gain = list(cloud.x[:, :2].T), float(attention.multiple)
    else:
        columns, gain = [linear(cloud.x, attention.right)], float(abs(linear(attention.left[None], after)[0]))
    ranges = [np.maximum.reduceat(c, cloud.starts) - np.minimum.reduceat(c, cloud.starts) for c in columns]
    return gain * float(max(r.max() for r in ranges))
