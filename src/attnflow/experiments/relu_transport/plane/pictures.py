"""Densities on a raster of the plane."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray

SIDE, PIXELS = 3.0, 256  # a multiple of 32: no centre of a pixel lies on an edge of the grid that is drawn


def density(log_density: Callable[[np.ndarray], np.ndarray]) -> "xarray.Dataset":
    """The density on a square around the origin."""
    import xarray

    side = np.linspace(-SIDE, SIDE, PIXELS + 1)
    middle = (side[1:] + side[:-1]) / 2
    y = np.stack(np.meshgrid(middle, middle), axis=-1).reshape(-1, 2)
    values = np.exp(log_density(y)).reshape(PIXELS, PIXELS)
    return xarray.Dataset({"density": (("y2", "y1"), values)}, coords={"y1": middle, "y2": middle})
