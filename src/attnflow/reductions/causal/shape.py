r"""The shape of a retrieval profile: its turning points, and whether it rises towards the last sources.

Turning points are roots of $S'$, which has a closed form, in $\log s$: the minimum may be far below any range that one
would plot (at small $t$ or large $\lambda$). Signs on a grid, of steps that shrink towards both ends, then Brent's
method.
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from ...checks import finite_array, number
from ...errors import AttnflowWarning, InputError
from ...spaces import Count, Number, Numbers
from ._checked import one_shape
from .retrieval import Head, check_heads, multi_head_profile, scaled_profile

# Steps of two decades, then a tenth of one, then equal ones.
GRID = np.concatenate([10.0 ** np.arange(-300, -12, 2), 10.0 ** np.arange(-12, -1.5, 0.1), np.linspace(0.035, 1, 250)])


class TurningPoints(NamedTuple):
    """Where a profile turns, from the first source on: positions, values, and which of them are minima."""

    s: np.ndarray
    value: np.ndarray
    minimum: np.ndarray


class Point(NamedTuple):
    """A point of a profile; not-a-number where there is none."""

    s: float
    value: float


def turning_points(
    t: Number,
    *,
    beta: Number | None = None,
    context_slope: Number | None = None,
    heads: Sequence[Head | Sequence[Number]] | None = None,
    classes: Number = 8,
    modes: Count = 20,
) -> TurningPoints:
    r"""Interior minima and maxima of $S_t$, to 10 digits, of one head (`beta`, `context_slope`) or of `heads`."""
    t = number("t", t, least=0)
    rows = _heads(beta, context_slope, heads)

    def rising(log_s: float) -> float:
        return float(_derivative(np.array([np.exp(log_s)]), t, rows, classes, modes)[0])

    sign = np.sign(_derivative(GRID, t, rows, classes, modes))
    kept = sign != 0  # a zero on the grid itself is between its neighbours
    grid, sign = np.log(GRID[kept]), sign[kept]
    at = np.flatnonzero(sign[1:] != sign[:-1])
    roots: list[Any] = [brentq(rising, grid[k], grid[k + 1], xtol=1e-14) for k in at]
    s = np.exp(np.array(roots, float))
    value = multi_head_profile(s, t, rows, classes=classes, modes=modes)
    return TurningPoints(s, value, sign[at] < 0)


def profile_minimum(t: Number, *, beta: Number, context_slope: Number, classes: Number = 8, modes: Count = 20) -> Point:
    """The source that is retrieved worst, if it is neither the first nor the last; else not-a-number.

    Not-a-number with a warning, too, where that source is nearer to the first than 1e-300.
    """
    s, value, minimum = turning_points(t, beta=beta, context_slope=context_slope, classes=classes, modes=modes)
    if not minimum.any():
        if profile_shape(t, beta=beta, context_slope=context_slope, classes=classes, modes=modes) == "one minimum":
            warnings.warn(
                f"the source retrieved worst is before s = {GRID[0]:g} at t = {t:g}, which is not resolved.",
                AttnflowWarning,
                stacklevel=2,
            )
        return Point(float("nan"), float("nan"))
    lowest = np.flatnonzero(minimum)[value[minimum].argmin()]
    return Point(float(s[lowest]), float(value[lowest]))


def profile_shape(
    t: Numbers, *, beta: Numbers, context_slope: Numbers, classes: Numbers = 8, modes: Count = 20
) -> np.ndarray:
    r"""Which shape each profile has, as text; the arguments are broadcast together.

    - `"one minimum"`: primacy and recency, the U-shape; so it is for all `t < critical_time`;
    - `"decreasing"`: primacy alone;
    - `"minimum and maximum"`: retrieved worst, then better, then worse again at the very end: only beyond the critical
      time, and for a large slope;
    - `"other"`: the flat profile at `t` = 0 or `beta` = 0; never observed otherwise.

    Signs of the derivative decide, which is computed relative to its size: no parameter overflows it. Rates that do,
    beyond $\beta \approx 700$, are refused.
    """
    arguments = {"t": t, "beta": beta, "context_slope": context_slope, "classes": classes}
    arrays = {name: finite_array(name, values) for name, values in arguments.items()}
    one_shape(**arrays)
    t, beta, slope, classes = (values[..., None] for values in arrays.values())
    _, change, size, _ = scaled_profile(GRID, t, beta, slope, classes, modes)
    moved = size[..., 0] > -np.inf
    # Every profile that is not flat falls at first; where it turns is below the grid if a t is tiny.
    first = np.where(moved, -1.0, 0.0)[..., None]
    sign = np.concatenate([first, np.where(moved[..., None], np.sign(change), 0.0)], axis=-1)
    turns = sign[..., 1:] * sign[..., :-1] < 0
    count, falls, rises = turns.sum(axis=-1), sign[..., 0] < 0, sign[..., -1] > 0
    known = [(count == 1) & rises & falls, (count == 0) & falls, (count == 2) & falls]
    return np.select(known, ["one minimum", "decreasing", "minimum and maximum"], "other")


def _heads(
    beta: Number | None, context_slope: Number | None, heads: Sequence[Head | Sequence[Number]] | None
) -> list[Head]:
    if (heads is None) == (beta is None and context_slope is None):
        raise InputError("give beta and context_slope of one head, or several heads as (weight, beta, context_slope).")
    if heads is not None:
        return check_heads(heads)
    beta, slope = (number(name, value, least=0) for name, value in (("beta", beta), ("context_slope", context_slope)))
    return [Head(1.0, beta, slope)]


def _derivative(s: np.ndarray, t: float, heads: list[Head], classes: Any, modes: Count) -> np.ndarray:
    """S' of all heads together, times a positive number that keeps it finite."""
    parts = [scaled_profile(s, t, head.beta, head.context_slope, classes, modes) for head in heads]
    sizes = [x + y for _, _, x, y in parts]
    largest = np.max(sizes, axis=0)
    still = largest == -np.inf  # no head has moved
    each = (
        head.weight * change * np.exp(size - np.where(still, 0, largest))
        for head, (_, change, *_), size in zip(heads, parts, sizes, strict=True)
    )
    return np.asarray(sum(each))
