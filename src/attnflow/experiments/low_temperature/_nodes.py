r"""Nodes and weights that stand for a density on the circle, refined where tokens leave last.

At low temperature the law thins out near the exceptional set $\theta = \pm\pi/2$ exponentially in time; nodes there are
spaced geometrically, so that some are left at every time (docs/theory/low-temperature.md, Nodes on the circle).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy

COARSE = 0.3  # the refined part ends here; in radians from the exceptional set


def refined_nodes(
    n: int, l_min: float, density: "Callable[[numpy.ndarray], numpy.ndarray]"
) -> "tuple[numpy.ndarray, numpy.ndarray]":
    r"""Points `(n, 2)` and weights `(n,)` for a density on the circle; `n` is a multiple of 4.

    A quarter has offsets $s$ from $\pm\pi/2$, half of them geometric from `l_min` to 0.3 and the rest equispaced up to
    $\pi/2$; a node has the weight of its cell, which ends halfway to its neighbours.
    """
    import numpy as np

    quarter = n // 4
    s = np.concatenate(
        [
            np.geomspace(l_min, COARSE, quarter // 2, endpoint=False),
            np.linspace(COARSE, np.pi / 2, quarter - quarter // 2),
        ]
    )
    ends = np.concatenate([[0.0], (s[1:] + s[:-1]) / 2, [np.pi / 2]])
    theta = np.concatenate([np.pi / 2 + s, np.pi / 2 - s, -np.pi / 2 + s, -np.pi / 2 - s])
    weights = density(theta) * np.tile(np.diff(ends), 4)
    # sin of the offset and not cos of the angle: close to the exceptional set digits would be lost.
    small, large = np.sin(s), np.cos(s)
    points = np.stack([np.concatenate([-small, small, small, -small]), np.concatenate([large, large, -large, -large])])
    return points.T, weights / weights.sum()


def asymmetric(theta: "numpy.ndarray") -> "numpy.ndarray":
    r"""$1 + 0.4\cos(\theta - 0.7) + 0.2\sin(2\theta + 0.3)$: positive, smooth, without a symmetry."""
    import numpy as np

    return 1 + 0.4 * np.cos(theta - 0.7) + 0.2 * np.sin(2 * theta + 0.3)


def uniform(theta: "numpy.ndarray") -> "numpy.ndarray":
    """The uniform density, up to a factor."""
    import numpy as np

    return np.ones_like(theta)
