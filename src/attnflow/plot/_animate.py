"""A run as a film."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba

from ..checks import number, whole
from ..errors import InputError, shown
from ..files import path_of, write_atomically
from ._data import Camera, Frames, camera_of, read, resolution
from ._marks import TOKEN, pale
from ._style import new_figure, style
from ._tokens import size, view_of
from .film import film_for


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
    film = film_for(path, (TOKEN["color"], *pale(np.array([to_rgba(TOKEN["color"])]))))
    fps, dpi, max_frames = number("fps", fps, 0.1), resolution(dpi), whole("max_frames", max_frames)
    frames = read(run)
    if frames.logarithmic:
        frames = _paced(frames, max_frames)
    views = [view_of(frames)(frames, trails, camera_of(camera)), *_beside(beside, run, frames)]
    width, height = size(frames)
    with style():
        figure = new_figure(width + 4.6 * (len(views) - 1), height)
        figure.set_dpi(dpi)
        canvas = FigureCanvasAgg(figure)
        pictures = _pictures(canvas, views, _spread(frames.ts, max_frames))
        return write_atomically(path, film(canvas, pictures, fps))


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
    wanted = np.linspace(ts[0], ts[-1], most)
    return np.unique(np.abs(ts[:, None] - wanted).argmin(axis=0)).tolist()


def _pictures(canvas: FigureCanvasAgg, views: list[Any], chosen: list[int]) -> Iterator[None]:
    """Draw one time after the other into the canvas: what stands still once, and over it only what moves."""
    figure = canvas.figure
    panels = []
    for place, view in enumerate(views):
        ax = figure.add_subplot(1, len(views), place + 1, projection="3d" if view.in_space else None)
        view.stage(ax)
        panels.append((view, ax, set(ax.get_children())))
        view.actors(ax, chosen[-1])  # the layout makes room for the longest title
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    above = [_above(ax, still) for _, ax, still in panels]
    canvas.draw()
    background = canvas.copy_from_bbox(figure.bbox)
    for at in chosen:
        canvas.restore_region(background)
        for (view, ax, still), over in zip(panels, above, strict=True):
            view.actors(ax, at)
            moving: list[Artist] = [a for a in ax.get_children() if a not in still]
            for artist in sorted([*moving, *over], key=lambda a: a.zorder):
                if view.in_space and hasattr(artist, "do_3d_projection"):
                    artist.do_3d_projection()  # pyright: ignore[reportAttributeAccessIssue]
                ax.draw_artist(artist)
            for artist in moving:
                artist.remove()
        yield


def _above(ax: Any, still: set[Artist]) -> list[Artist]:
    """What stands still but above the lowest of what moves (half of the globe's grid), and the title: drawn again with
    every frame. What moves is taken away, so that the background can be drawn."""
    moving: list[Artist] = [a for a in ax.get_children() if a not in still]
    lowest = min(a.zorder for a in moving)
    above: list[Artist] = [a for a in (*ax.collections, *ax.lines, *ax.patches, *ax.texts) if a.zorder > lowest]
    above = [ax.title, *(a for a in above if a in still)]
    for artist in above:
        artist.set_animated(True)
    for artist in moving:
        artist.remove()
    return above
