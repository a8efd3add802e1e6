"""The panels of a film of a schedule, chosen and written."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...checks import number, whole
from ...errors import InputError
from ...files import path_of
from ...plot import PALETTE
from ...plot.film import Panel, film, film_for
from ...spaces import Number, Numbers, check_weights
from ._film_line import Curve, Paths
from ._film_plane import Density, Points
from ._moments import Moment, along_way, box_of, moments
from .checked import points
from .densities import log_density_of

CERTAIN = (PALETTE["vermillion"], PALETTE["blue"], PALETTE["orange"], "#333333")  # few pixels of a film have them


def animate(
    schedule: Any,
    path: str | os.PathLike,
    x: Numbers,
    base: Any,
    weights: Numbers | None,
    frames: int,
    fps: Number,
    dpi: Number,
) -> Path:
    path = path_of(path)
    film_for(path)  # an ending that is none is refused before anything is computed
    frames, rate, dots = whole("frames", frames, 2), number("fps", fps, 0.1), number("dpi", dpi, 10)
    x, d = points("x", x, schedule.d), schedule.d
    if d > 2 and base is not None:
        raise InputError(f"a density in R^{d} has no picture; drop base, and the first two coordinates are shown.")
    given = check_weights(weights, len(x))
    masses = np.full(len(x), 1 / len(x)) if given is None else np.asarray(given, float)
    panels = _panels(moments(schedule, frames), x, masses, _density(schedule, base))
    size = (4.3 if d == 1 else 4.0) * len(panels), 3.6 if d == 1 else 4.3
    shown = [*range(frames), *[frames - 1] * round(rate)]  # it rests for a second at the end
    return film(path, panels, shown, size, fps=rate, dpi=dots, certain=CERTAIN)


def _panels(found: Sequence[Moment], x: np.ndarray, masses: np.ndarray, density: Any) -> list[Panel]:
    xs = along_way(found, x)[:, :, :2]
    box = box_of(found, xs)
    if x.shape[1] == 1:
        return [Paths(found, xs, box), *([] if density is None else [Curve(found, box, density)])]
    return [Points(found, xs, box, masses), *([] if density is None else [Density(found, box, density)])]


def _density(schedule: Any, base: Any) -> Callable[[Moment, np.ndarray], np.ndarray] | None:
    """The log density at points, at a moment."""
    if base is None:
        return None

    def log_density(moment: Moment, y: np.ndarray) -> np.ndarray:
        pieces = moment.over + moment.part
        return type(schedule)(pieces).log_density(y, base) if pieces else log_density_of(base, y)

    return log_density
