r"""A strip: the trapezoid of four neurons that is 1 near one token and exactly 0 at all others.

$$ \mathrm{trap}(a) = \frac1w\big(\mathrm{relu}(a - t + \tfrac32w) - \mathrm{relu}(a - t + \tfrac12w)
   - \mathrm{relu}(a - t - \tfrac12w) + \mathrm{relu}(a - t - \tfrac32w)\big) $$

is 1 for $|a - t| \le w/2$ and 0 for $|a - t| \ge 3w/2$. With $w$ a power of two and $t$ on a grid of spacing
$g \le w/64$ no sum of it rounds: the zeros above the strip are exact, too.
"""

from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError
from ._arithmetic import Arithmetic, floor_power
from ._cloud import Cloud

MARGIN = 64  # grid spacings in a width; 2 would do for exact sums, the rest is left for the rounding of positions


class Strip(NamedTuple):
    t: Any
    w: Any

    def neurons(self, along: np.ndarray, to: np.ndarray) -> list[tuple[Any, Any, Any]]:
        """The four of them, reading `along` and writing the trapezoid times `to`."""
        t, w = self
        steps = ((3, 1), (1, -1), (-1, -1), (-3, 1))
        return [(along, -t + half * w / 2, to * (sign / w)) for half, sign in steps]


def strip(arithmetic: Arithmetic, a: Any, isolation: Any, largest: Any) -> Strip:
    """Around the token at `a`, of which the next one is `isolation` away; all tokens are at most `largest`."""
    g = arithmetic.grid(largest)
    w = floor_power(3 * isolation / 5) if isolation > 0 else 0
    if not w >= MARGIN * g:
        raise Unseparated(
            f"a token that must be separated is {float(isolation):.2g} away from the next one, and positions up to "
            f"{float(largest):.2g} are held with a spacing of {float(g):.1g}; {arithmetic.remedy}."
        )
    return Strip(round(a / g) * g, w)


class Places(NamedTuple):
    """The distinct tokens of `grouped` sequences: `row` of one of each, `holders`, in how many sequences it is, and
    `isolation`, how far its first coordinate is from that of any other, at most `cap`; `of`: for every row, which."""

    row: np.ndarray
    holders: np.ndarray
    isolation: np.ndarray
    of: np.ndarray


def places(cloud: Cloud, group: np.ndarray, cap: Any) -> Places:
    """Tokens are others if they differ as points of the data or in the `group` of their sequence."""
    key = group[cloud.segment] * (cloud.ids.max() + 1) + cloud.ids
    _, row, of, holders = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    a = cloud.x[row, 0]
    order = np.argsort(a, kind="stable")
    step = np.diff(a[order])
    edge = np.full(1, cap, dtype=a.dtype)
    isolation = np.empty_like(a)
    isolation[order] = np.minimum(np.concatenate([edge, step]), np.concatenate([step, edge])).clip(max=cap)
    return Places(row, holders, isolation, of)


class Unseparated(InputError):
    """The tokens lie too close for the arithmetic."""
