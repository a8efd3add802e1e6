r"""Nodes and weights for a density on the circle, refined where tokens leave last.

At low temperature the law thins out near the exceptional set $\theta = \pm\pi/2$ exponentially in time; nodes there are
spaced geometrically, so that some are left at every time (docs/theory/low-temperature.md, Nodes on the circle).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy


def refined_nodes(
    n: int, l_min: float, density: "Callable[[numpy.ndarray], numpy.ndarray]"
) -> "tuple[numpy.ndarray, numpy.ndarray]":
    r"""Points `(n, 2)` and weights `(n,)` for a density on the circle, refined at $\pm\pi/2$; `n` a multiple of 4."""
    import numpy as np

    import attnflow as af

    points, weights = af.sphere.circle_nodes(n, density=density, finest=l_min)
    return np.asarray(points), np.asarray(weights)


def asymmetric(theta: "numpy.ndarray") -> "numpy.ndarray":
    r"""$1 + 0.4\cos(\theta - 0.7) + 0.2\sin(2\theta + 0.3)$: positive, smooth, without a symmetry."""
    import numpy as np

    return 1 + 0.4 * np.cos(theta - 0.7) + 0.2 * np.sin(2 * theta + 0.3)


def uniform(theta: "numpy.ndarray") -> "numpy.ndarray":
    """The uniform density, up to a factor."""
    import numpy as np

    return np.ones_like(theta)
