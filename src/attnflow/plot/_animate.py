"""A run as a film."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.colors import to_rgba

from ..checks import flag, number, whole
from ..errors import InputError, shown
from ..files import path_of
from ._data import Camera, Frames, camera_of, read, resolution
from ._marks import TOKEN, pale
from ._tokens import size, view_of
from .film import film, film_for


def animate(
    run: Any,
    path: str | os.PathLike,
    *,
    fps: float | int = 25,
    trails: bool = True,
    camera: Camera | None = None,
    dpi: float | int = 110,
    max_frames: int = 300,
    beside: Literal["staircase"] | None = None,
) -> Path:
    """Write the run as an MP4 (needs ffmpeg) or a GIF, by the path's ending.

    - One frame per saved time, or `max_frames` of them evenly spread in time when there are more. Of a run of
      `long_time` half of the frames follow the logarithm of time, in which clusters wait, and half the motion.
    - `beside="staircase"` draws the energy against the logarithm of time next to the tokens, with its plateaus.
    """
    path = path_of(path)
    film_for(path)  # before anything is computed
    fps, dpi, max_frames = number("fps", fps, 0.1), resolution(dpi), whole("max_frames", max_frames)
    frames = read(run)
    if frames.logarithmic:
        frames = _paced(frames, max_frames)
    views = [view_of(frames)(frames, flag("trails", trails), camera_of(camera)), *_beside(beside, run, frames)]
    width, height = size(frames)
    colours = (TOKEN["color"], *pale(np.array([to_rgba(TOKEN["color"])])))
    shape = width + 4.6 * (len(views) - 1), height
    return film(path, views, _spread(frames.ts, max_frames), shape, fps=fps, dpi=dpi, certain=colours)


def _beside(name: str | None, run: Any, frames: Frames) -> list[Any]:
    if name is None:
        return []
    if name != "staircase":
        raise InputError(f"beside = {shown(name)} is unknown; give 'staircase' or nothing.")
    from ._staircase import Climb

    return [Climb(run, frames)]


def _paced(frames: Frames, most: int) -> Frames:
    """Frames of a long run, half of the pace from the logarithm of time and half from the rows, which follow the path.

    Time goes on evenly between rows, while tokens are shown at the nearest one: on a plateau they hardly move.
    """
    rows = np.linspace(0, 1, len(frames.ts))
    decades = (frames.ts - frames.ts[0]) / ((frames.ts[-1] - frames.ts[0]) or 1.0)
    place = np.interp(np.linspace(0, 1, most), (rows + decades) / 2, np.arange(len(rows)))
    ts = np.interp(place, np.arange(len(rows)), frames.ts)
    return replace(frames, ts=ts, xs=frames.xs[np.rint(place).astype(int)])


def _spread(ts: np.ndarray, most: int) -> list[int]:
    """Indices of the saved times nearest to evenly spaced ones."""
    if len(ts) <= most:
        return list(range(len(ts)))
    targets = np.linspace(ts[0], ts[-1], most)
    return np.unique(np.abs(ts[:, None] - targets).argmin(axis=0)).tolist()
