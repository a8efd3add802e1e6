"""Tokens at one time and the way they came; the view follows the dimension."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import _flat, _solid, _sphere
from ._data import Camera, Frames, index, read
from ._style import new_figure, style


def tokens(
    run: Any,
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
    if ax is None:
        return draw(new_figure(*size(frames)), frames, at, trails, camera)
    with style():
        _view(frames)(ax, frames, at, trails, camera)
    return ax.get_figure(root=True)  # pyright: ignore[reportReturnType]


def draw(figure: Figure, frames: Frames, at: int, trails: bool, camera: Camera | None) -> Figure:
    """The view in new axes that fill the figure."""
    view = _view(frames)
    with style():
        solid = view in (_solid.space, _solid.projection)
        view(figure.add_subplot(projection="3d" if solid else None), frames, at, trails, camera)
    return figure


def size(frames: Frames) -> tuple[float, float]:
    """Width and height of a figure for these tokens, in inches."""
    return (5.4, 3.4) if frames.d == 1 else (4.4, 4.4) if _view(frames) is _flat.circle else (5.2, 4.4)


def _view(frames: Frames):
    sphere = frames.space == "sphere"
    match frames.d:
        case 1:
            return _flat.line
        case 2:
            return _flat.circle if sphere else _flat.plane
        case 3:
            return _sphere.sphere if sphere else _solid.space
        case _:
            return _solid.projection

