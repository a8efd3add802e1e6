"""Tokens at one time and the way they came; the view follows the dimension."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..checks import flag
from . import _flat, _solid, _sphere
from ._data import Camera, Frames, camera_of, index, read
from ._style import axes_for, style


def tokens(
    run: Any,
    *,
    at: int = -1,
    trails: bool = True,
    ax: Axes | None = None,
    camera: Camera | None = None,
) -> Figure:
    """Draw the tokens of a run at the saved time of index `at`, with their trails until then.

    - d = 1: a line per token over time. d = 2: the circle (with time running outwards along the trails) or the plane.
      d = 3: the sphere, seen from the side where the tokens end, or space. d > 3: the three principal components of
      the whole run, and the title says so.
    - The area of a token is its weight; trails darken with time; what is behind the sphere is faint.
    - `camera` is (elevation, azimuth) in degrees, for the views in space.
    - `ax` draws into given axes (three-dimensional ones for d >= 3 outside the sphere) instead of a new figure.
    """
    frames = read(run)
    at = index(at, frames)
    view = view_of(frames)(frames, flag("trails", trails), camera_of(camera))
    with style():
        ax = axes_for(ax, *size(frames), in_space=view.in_space)
        view.stage(ax)
        view.actors(ax, at)
    return ax.get_figure(root=True)  # pyright: ignore[reportReturnType]


def size(frames: Frames) -> tuple[float, float]:
    """Width and height of a figure for these tokens, in inches."""
    return (5.4, 3.4) if frames.d == 1 else (4.4, 4.4) if view_of(frames) is _flat.Circle else (5.2, 4.4)


def view_of(frames: Frames) -> Any:
    """The view of these tokens: a class with `stage(ax)`, what stands still, and `actors(ax, at)`, the rest."""
    sphere = frames.space == "sphere"
    match frames.d:
        case 1:
            return _flat.Line
        case 2:
            return _flat.Circle if sphere else _flat.Plane
        case 3:
            return _sphere.Sphere if sphere else _solid.Space
        case _:
            return _solid.Projection
