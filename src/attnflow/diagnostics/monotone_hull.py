r"""Hulls that never grow: for $V = I$ the hull of the rescaled tokens at a time contains that at all later times.

With $\dot z_i = \sum_j P_{ij}(z_j - z_i)$ every token moves towards a point of the hull. The largest amount by which a
later token stands out of an earlier hull is a number that should be zero up to the error of integration.
"""

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..flows import Run
from ..spaces import order_one
from ._clouds import Tokens
from ._final import real_numbers
from .hulls import distance_to_hull, hull

ALLOWED = 1e-10  # in units of the largest token


@dataclass(frozen=True, eq=False, repr=False)
class MonotoneHull:
    """The largest distance of later tokens from earlier hulls; printed, it is a sentence.

    - `violation`: the largest distance, at least 0; `scale`: the length of the largest token at the first time.
    - `pair`: the indices (earlier, later) of the times where it occurs, `None` if nothing stands out.
    """

    violation: float
    scale: float
    pair: tuple[int, int] | None

    @property
    def holds(self) -> bool:
        """Whether the hull never grows, up to 1e-10 of the scale."""
        return self.violation <= ALLOWED * self.scale

    @property
    def verdict(self) -> str:
        if self.pair is None:
            return "The hull never grows."
        where = f"from saved time {self.pair[0]} to {self.pair[1]}"
        if self.holds:
            return f"The hull never grows, up to {self.violation:.1g} ({where})."
        return f"The hull grows: a token stands out of it by {self.violation:.3g} {where}."

    def __repr__(self) -> str:
        return self.verdict


def hull_nonincreasing(zs: Tokens) -> MonotoneHull:
    """Compare the hull of tokens at every saved time with all later tokens.

    **Arguments:** `zs`, tokens `(T, n, d)` along time, or a run (of `rescaled` tokens, for the theorem).

    In more than six dimensions hulls have too many facets to list; then every time is compared with the next one and
    with the last.
    """
    if "log_scale" in getattr(zs, "info", {}):
        raise InputError("the growth of these tokens is stored apart (log_scale); give rescaled(run), or run.xs.")
    zs = zs.single().xs if isinstance(zs, Run) else getattr(zs, "xs", zs)
    zs = real_numbers(zs, "tokens", "give (T, n, d), tokens along time, or a run")
    if zs.ndim != 3 or 0 in zs.shape:
        raise InputError(f"tokens along time have shape {zs.shape}; give (T, n, d), or a run.")
    if not np.isfinite(zs).all():
        first = np.argwhere(~np.isfinite(zs))[0, 0]
        raise InputError(f"tokens at saved time {first} are not finite; end the run before it overflows.")
    unit = order_one(zs)
    zs = zs * unit
    scale = float(np.linalg.norm(zs[0], axis=1).max())
    worst, pair = 0.0, None
    for s in range(len(zs) - 1):
        out, t = _stands_out(zs[s], zs[s + 1 :])
        if out > worst:
            worst, pair = out, (s, s + 1 + t)
    return MonotoneHull(worst / unit, scale / unit, pair)


def _stands_out(z: np.ndarray, later: np.ndarray) -> tuple[float, int]:
    """The largest distance of later tokens `(T, n, d)` to the hull of `z (n, d)`, and the index of its time."""
    first_hull = hull(z)
    if first_hull.normals is not None:
        out = np.maximum(first_hull.excess(later), first_hull.off_span(later)).max(axis=1)
        return float(out.max()), int(out.argmax())
    corners, last = first_hull.corners, len(later) - 1
    out = {t: max(distance_to_hull(corners, x) for x in later[t]) for t in {0, last}}
    t = max(out, key=lambda t: out[t])
    return out[t], t
