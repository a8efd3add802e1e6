"""Views of one and two dimensions: a line over time, the circle, the plane."""

from typing import ClassVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Circle as Disc

from ._data import Camera, Frames
from ._marks import START, TOKEN, limits, segments, shades, strokes, time_bar, trail_width
from ._style import FAINT, INK, PALETTE

_INNER = 0.3  # radius at which the trails of the circle begin


class Line:
    """x_i(t) against t; the tokens stand at the chosen time."""

    in_space: ClassVar[bool] = False

    def __init__(self, frames: Frames, trails: bool, camera: Camera | None = None):
        self.frames, self.trails = frames, trails

    def stage(self, ax: Axes) -> None:
        frames = self.frames
        if frames.ts[-1] > frames.ts[0]:
            ax.set_xlim(frames.ts[0], frames.ts[-1])
        ax.set_ylim(*limits(frames.xs[:, :, 0]))
        ax.set(xlabel=frames.time_label, ylabel="token $x_i(t)$")
        ax.grid(axis="y")

    def actors(self, ax: Axes, at: int) -> None:
        frames, x = self.frames, self.frames.xs[:, :, 0]
        if self.trails:
            ts = np.broadcast_to(frames.ts[: at + 1], (frames.n, at + 1))
            paths = np.stack([ts, x[: at + 1].T], axis=-1)
            lines = LineCollection(list(paths), colors=PALETTE["blue"], linewidths=trail_width(frames.n), alpha=0.6)
            ax.add_collection(lines, autolim=False)
        now = np.full(frames.n, frames.ts[at])
        ax.scatter(now, x[at], s=frames.sizes, linewidth=frames.edges, zorder=3, clip_on=False, **TOKEN)
        ax.set_title(frames.caption(at))


class Circle:
    """Tokens on the unit circle; inside, each trail runs outwards from the initial time to the chosen one."""

    in_space: ClassVar[bool] = False

    def __init__(self, frames: Frames, trails: bool, camera: Camera | None = None):
        self.frames, self.trails = frames, trails

    def stage(self, ax: Axes) -> None:
        ax.add_patch(Disc((0, 0), 1, fill=False, ec=INK, lw=1))
        ax.set(xlim=(-1.12, 1.12), ylim=(-1.12, 1.12), aspect="equal", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
        ax.set(xlabel="$x_1$", ylabel="$x_2$")

    def actors(self, ax: Axes, at: int) -> None:
        frames = self.frames
        if self.trails and at > 0:
            elapsed = (frames.ts[: at + 1] - frames.ts[0]) / ((frames.ts[at] - frames.ts[0]) or 1.0)
            radius = _INNER + (1 - _INNER) * elapsed
            ax.add_patch(Disc((0, 0), _INNER, fill=False, ec=FAINT, lw=0.8, ls=(0, (3, 3))))
            ax.text(0, 0, frames.time(0), ha="center", va="center", fontsize=9, color="#6B7580")
            paths = frames.xs[: at + 1] * radius[:, None, None]
            lines = strokes(segments(paths), shades(frames, at), linewidths=trail_width(frames.n), capstyle="round")
            ax.add_collection(lines, autolim=False)
        ax.scatter(*frames.xs[at].T, s=frames.sizes, linewidth=frames.edges, zorder=3, **TOKEN)
        ax.set_title(frames.caption(at) + (" (inside: time runs outwards)" if self.trails else ""))


class Plane:
    """Tokens in the plane, with both axes on one scale."""

    in_space: ClassVar[bool] = False

    def __init__(self, frames: Frames, trails: bool, camera: Camera | None = None):
        self.frames, self.trails = frames, trails

    def stage(self, ax: Axes) -> None:
        frames = self.frames
        if self.trails:
            time_bar(ax, frames)
        ax.set(xlim=limits(frames.xs[..., 0]), ylim=limits(frames.xs[..., 1]), aspect="equal")
        ax.set(xlabel="$x_1$", ylabel="$x_2$")
        ax.grid()

    def actors(self, ax: Axes, at: int) -> None:
        frames = self.frames
        if self.trails and at > 0:
            pieces = segments(frames.xs[: at + 1])
            lines = strokes(pieces, shades(frames, at), linewidths=trail_width(frames.n), capstyle="round")
            ax.add_collection(lines, autolim=False)
            ax.scatter(*frames.xs[0].T, zorder=2, **START)
        ax.scatter(*frames.xs[at].T, s=frames.sizes, linewidth=frames.edges, zorder=3, **TOKEN)
        ax.set_title(frames.caption(at))
