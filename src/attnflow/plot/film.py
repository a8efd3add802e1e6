"""Frames of a canvas as a film: MP4 by ffmpeg, or GIF."""

import io
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from matplotlib.animation import FFMpegWriter
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from PIL import Image

from ..errors import InputError
from ..files import write_atomically
from ._style import new_figure, style

Film = Callable[[FigureCanvasAgg, Iterable[None], float], bytes]


@runtime_checkable
class Panel(Protocol):
    """One part of a film: what stands still is drawn once by `stage`, what moves for every frame by `actors`."""

    in_space: ClassVar[bool]

    def stage(self, ax: Axes) -> None: ...

    def actors(self, ax: Axes, at: int) -> None: ...


def film(
    path: Path,
    panels: Sequence[Panel],
    chosen: Sequence[int],
    size: tuple[float, float],
    *,
    fps: float,
    dpi: float,
    certain: Sequence[Any] = (),
) -> Path:
    """Write the panels, side by side, at the `chosen` indices, as a film of that `size` in inches."""
    made = film_for(path, certain)
    with style():
        figure = new_figure(*size)
        figure.set_dpi(dpi)
        canvas = FigureCanvasAgg(figure)
        return write_atomically(path, made(canvas, _pictures(canvas, panels, chosen), fps))


def film_for(path: Path, certain: Sequence[Any] = ()) -> Film:
    """What makes a film of the kind that the path's ending names: `film(canvas, pictures, fps) -> bytes`.

    `pictures` draws one frame after the other into the canvas. A GIF has 256 colours; white and the `certain` ones are
    among them.
    """
    match path.suffix.lower():
        case ".gif":
            colours = np.array([to_rgba("white"), *map(to_rgba, certain)])
            bytes_of = np.rint(255 * colours[:, :3]).astype(np.uint8)
            return lambda canvas, pictures, fps: _gif(canvas, pictures, fps, bytes_of)
        case ".mp4" if FFMpegWriter.isAvailable():
            return _mp4
        case ".mp4":
            raise InputError(f"{path.name!r} needs ffmpeg, which is not installed; end the name with .gif instead.")
    raise InputError(f"cannot animate to {path.name!r}; end the name with .mp4 or .gif.")


def _pictures(canvas: FigureCanvasAgg, views: Sequence[Panel], chosen: Sequence[int]) -> Iterator[None]:
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


class _Writer(FFMpegWriter):
    """Takes the canvas as it is, where matplotlib would draw everything again."""

    def grab_frame(self, **options: Any) -> None:
        self._proc.stdin.write(self.fig.canvas.buffer_rgba())  # pyright: ignore


def _mp4(canvas: FigureCanvasAgg, pictures: Iterable[None], fps: float) -> bytes:
    writer = _Writer(fps=fps)  # pyright: ignore[reportArgumentType]  (ffmpeg takes fractions, too)
    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder) / "film.mp4"
        with writer.saving(canvas.figure, str(film), canvas.figure.dpi):
            for _ in pictures:
                writer.grab_frame()
        return film.read_bytes()


def _gif(canvas: FigureCanvasAgg, pictures: Iterable[None], fps: float, certain: np.ndarray) -> bytes:
    shots = [Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB") for _ in pictures]
    palette = _common_palette(shots, certain)
    first, *others = (_reduced(shot, palette, 256 - len(certain)) for shot in shots)
    data = io.BytesIO()
    first.save(data, "GIF", save_all=True, append_images=others, duration=round(1000 / fps), loop=0)
    return data.getvalue()


def _common_palette(shots: list[Image.Image], certain: np.ndarray) -> Image.Image:
    """256 colours for the whole film, the last of them certain."""
    width, height = shots[0].size
    sample = Image.new("RGB", (width, 3 * height))
    for row, shot in enumerate((shots[0], shots[len(shots) // 2], shots[-1])):
        sample.paste(shot, (0, row * height))
    room = 256 - len(certain)
    palette = sample.quantize(room)
    colours = (palette.getpalette() or [])[: 3 * room]
    palette.putpalette([*colours, *[0] * (3 * room - len(colours)), *certain.ravel().tolist()])
    return palette


def _reduced(shot: Image.Image, palette: Image.Image, white: int) -> Image.Image:
    """The picture in the palette's colours; Pillow finds the nearest coarsely, and white would become light grey."""
    reduced = shot.quantize(palette=palette, dither=Image.Dither.NONE)
    places = np.array(reduced)
    places[np.asarray(shot).min(axis=-1) == 255] = white  # the first that is certain
    exact = Image.fromarray(places)
    exact.putpalette(palette.getpalette() or [])
    return exact
