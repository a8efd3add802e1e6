"""Diffeomorphisms of the unit square and cube, of points as rows."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy


def swirl(x: "numpy.ndarray", amplitude: float = 2.5) -> "numpy.ndarray":
    """The first two coordinates turn about the centre, by an angle that falls to 0 at the distance 1/2; det = 1."""
    import numpy as np

    away = x[:, :2] - 0.5
    angle = amplitude * np.maximum(1 - np.hypot(*away.T) / 0.5, 0) ** 2
    c, s = np.cos(angle), np.sin(angle)
    turned = [0.5 + c * away[:, 0] - s * away[:, 1], 0.5 + s * away[:, 0] + c * away[:, 1]]
    return np.column_stack([*turned, x[:, 2:]])


def bent(x: "numpy.ndarray") -> "numpy.ndarray":
    """Volumes change by factors from 0.37 to 1.92, and then a swirl."""
    import numpy as np

    x1, x2 = x.T
    y1 = x1 + 0.12 * np.sin(2 * np.pi * x1) * np.cos(np.pi * x2) ** 2
    y2 = x2 + 0.1 * np.sin(2 * np.pi * x2) * np.sin(np.pi * x1)
    return swirl(np.column_stack([y1, y2]), 2.0)


def bent_determinant(x: "numpy.ndarray") -> "numpy.ndarray":
    """Of `bent`, by hand."""
    import numpy as np

    a, b = np.pi * x.T
    y1_x1 = 1 + 0.24 * np.pi * np.cos(2 * a) * np.cos(b) ** 2
    y1_x2 = -0.12 * np.pi * np.sin(2 * a) * np.sin(2 * b)
    y2_x1 = 0.1 * np.pi * np.sin(2 * b) * np.cos(a)
    y2_x2 = 1 + 0.2 * np.pi * np.cos(2 * b) * np.sin(a)
    return y1_x1 * y2_x2 - y1_x2 * y2_x1


def bent_in_space(x: "numpy.ndarray") -> "numpy.ndarray":
    """The same of a cube: all three coordinates are bent, and the first two turn."""
    import numpy as np

    s, c = np.sin(np.pi * x), np.cos(np.pi * x)
    twice = 0.1 * np.sin(2 * np.pi * x)
    more = [twice[:, 0] * c[:, 1] * s[:, 2], twice[:, 1] * s[:, 2], twice[:, 2] * s[:, 0]]
    return swirl(x + np.column_stack(more), 2.0)


def quarter_turn(x: "numpy.ndarray") -> "numpy.ndarray":
    """The square turns about its centre, counter-clockwise."""
    import numpy as np

    return np.column_stack([1 - x[:, 1], x[:, 0]])
