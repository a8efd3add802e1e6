"""Views in space: three dimensions as they are, or three principal components of more."""

from typing import Any, ClassVar

import numpy as np
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from ._data import Camera, Frames
from ._marks import SHADES, START, TOKEN, limits, segments, shades, time_bar, trail_width


class Space:
    """Tokens in R^3."""

    in_space: ClassVar[bool] = True

    def __init__(self, frames: Frames, trails: bool, camera: Camera | None = None):
        self.frames, self.trails, self.camera = frames, trails, camera

    def stage(self, ax: Any) -> None:
        _room(ax, self.frames, self.frames.xs, self.trails, self.camera)
        ax.set(xlabel="$x_1$", ylabel="$x_2$", zlabel="$x_3$")

    def actors(self, ax: Any, at: int) -> None:
        _draw(ax, self.frames, self.frames.xs, at, self.trails)
        ax.set_title(self.frames.caption(at))


class Projection:
    """The three principal components of the whole run; the title says so, and how much of the variance they keep."""

    in_space: ClassVar[bool] = True

    def __init__(self, frames: Frames, trails: bool, camera: Camera | None = None):
        self.frames, self.trails, self.camera = frames, trails, camera
        self.paths, self.shares = principal(frames)

    def stage(self, ax: Any) -> None:
        _room(ax, self.frames, self.paths, self.trails, self.camera)
        ax.set(**{f"{axis}label": f"PC {k + 1} ({self.shares[k]:.0%})" for k, axis in enumerate("xyz")})

    def actors(self, ax: Any, at: int) -> None:
        _draw(ax, self.frames, self.paths, at, self.trails)
        kept = f"PCA projection to 3 ({self.shares.sum():.0%} of the variance)"
        ax.set_title(f"{self.frames.caption(at, f' in dimension {self.frames.d}')}\n{kept}")


def principal(frames: Frames) -> tuple[np.ndarray, np.ndarray]:
    """Paths `(T, n, 3)` in the first three principal directions of all times together, and their shares of variance."""
    mean = np.einsum("i,tid->d", frames.weights, frames.xs) / len(frames.ts)
    centred = frames.xs - mean
    covariance = np.einsum("i,tid,tie->de", frames.weights, centred, centred) / len(frames.ts)
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    total = values.sum()
    return centred @ vectors[:, :3], np.clip(values[:3] / total, 0, 1) if total > 0 else np.zeros(3)


def _room(ax: Any, frames: Frames, paths: np.ndarray, trails: bool, camera: Camera | None) -> None:
    ax.computed_zorder = False  # tokens above trails, whatever their depth
    if trails:
        time_bar(ax, frames, pad=0.12)
    for axis, values in zip((ax.xaxis, ax.yaxis, ax.zaxis), np.moveaxis(paths, -1, 0), strict=True):
        getattr(ax, f"set_{axis.axis_name}lim")(*limits(values))
        axis.set_pane_color((0.97, 0.975, 0.98, 1.0))
        axis.set_major_locator(MaxNLocator(4))
    ax.set_box_aspect(np.maximum(np.ptp(paths, axis=(0, 1)), 1e-12), zoom=0.9)
    ax.view_init(*(camera or (22, -58)))


def _draw(ax: Any, frames: Frames, paths: np.ndarray, at: int, trails: bool) -> None:
    if trails and at > 0:
        pieces = list(segments(paths[: at + 1]))
        lines = Line3DCollection(pieces, colors=SHADES[shades(frames, at)], lw=trail_width(frames.n), zorder=2)
        ax.add_collection3d(lines, autolim=False)
        ax.scatter(*paths[0].T, depthshade=True, zorder=2, **START)
    ax.scatter(*paths[at].T, s=frames.sizes, linewidth=frames.edges, depthshade=True, zorder=3, **TOKEN)
