"""Tokens on the unit sphere of R^3; see `globe` for how it is drawn."""

from typing import Any, ClassVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

from ._data import Camera, Frames
from ._marks import SHADES, START, TOKEN, segments, shades, time_bar, trail_width
from .globe import draw_discs, draw_globe, draw_lines, draw_triad, eye_of


class Sphere:
    """Tokens and trails on S^2."""

    in_space: ClassVar[bool] = False

    def __init__(self, frames: Frames, trails: bool, camera: Camera | None = None):
        self.frames, self.trails = frames, trails
        self.eye = eye_of(*(camera or _facing(frames)))

    def stage(self, ax: Axes) -> None:
        draw_globe(ax, self.eye)
        draw_triad(ax, self.eye)
        if self.trails:
            time_bar(ax, self.frames)
        ax.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), aspect="equal")
        ax.set_axis_off()

    def actors(self, ax: Axes, at: int) -> None:
        frames = self.frames
        if self.trails and at > 0:
            pieces = segments(frames.xs[: at + 1]) @ self.eye.T
            draw_lines(ax, pieces, shades(frames, at), SHADES, trail_width(frames.n))
            _marks(ax, frames.xs[0] @ self.eye.T, np.full(frames.n, START["s"]), np.zeros(frames.n), 2.5, START)
        _marks(ax, frames.xs[at] @ self.eye.T, frames.sizes, frames.edges, 3, TOKEN)
        ax.set_title(frames.caption(at, " on the sphere"))


def _facing(frames: Frames) -> Camera:
    """Elevation and azimuth from which most of the tokens' last places are well in front."""
    cameras = [(up, float(turn)) for up in (20.0, 35.0, 5.0, -15.0, -35.0) for turn in range(-180, 180, 15)]
    last = np.nan_to_num(frames.xs[-1])
    seen = [frames.weights @ np.tanh(4 * (last @ eye_of(*camera)[2] - 0.2)) for camera in cameras]
    return cameras[int(np.argmax(np.round(seen, 6)))]


def _marks(
    ax: Axes, seen: np.ndarray, sizes: np.ndarray, edges: np.ndarray, zorder: float | int, marks: dict[str, Any]
) -> None:
    """Discs of one kind."""
    colours = np.tile(to_rgba(marks["color"]), (len(seen), 1))
    draw_discs(ax, seen, sizes, edges, colours, zorder, marks.get("edgecolor"), marks.get("label"))
