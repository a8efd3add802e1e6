"""A run as a film."""

import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.animation import FFMpegWriter
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from PIL import Image

from ..errors import InputError
from ..files import write_atomically
from ._data import Camera, read
from ._marks import TOKEN, pale
from ._style import new_figure, style
from ._tokens import size, view_of


def animate(
    run: Any,
    path: str | os.PathLike,
    fps: int = 25,
    trails: bool = True,
    camera: Camera | None = None,
    dpi: float | int = 110,
    max_frames: int = 300,
) -> Path:
    """Write the run as an MP4 (needs ffmpeg) or a GIF, by the path's ending.

    One frame per saved time, or `max_frames` of them evenly spread in time when there are more.
    """
    path = Path(path)
    film = _choose(path)
    frames = read(run)
    view = view_of(frames)(frames, trails, camera)
    with style():
        figure = new_figure(*size(frames))
        figure.set_dpi(dpi)
        canvas = FigureCanvasAgg(figure)
        pictures = _pictures(canvas, view, _spread(frames.ts, max_frames))
        return write_atomically(path, film(canvas, pictures, fps))


def _choose(path: Path):
    match path.suffix.lower():
        case ".gif":
            return _gif
        case ".mp4" if FFMpegWriter.isAvailable():
            return _mp4
        case ".mp4":
            raise InputError(f"{path.name!r} needs ffmpeg, which is not installed; end the name with .gif instead.")
    raise InputError(f"cannot animate to {path.name!r}; end the name with .mp4 or .gif.")


def _spread(ts: np.ndarray, most: int) -> list[int]:
    """Indices of the saved times nearest to evenly spaced ones."""
    if len(ts) <= most:
        return list(range(len(ts)))
    wanted = np.linspace(ts[0], ts[-1], most)
    return np.unique(np.abs(ts[:, None] - wanted).argmin(axis=0)).tolist()


def _pictures(canvas: FigureCanvasAgg, view: Any, chosen: list[int]) -> Iterator[None]:
    """Draw one time after the other into the canvas: what stands still once, and over it only what moves."""
    figure = canvas.figure
    ax = figure.add_subplot(projection="3d" if view.in_space else None)
    view.stage(ax)
    still = set(ax.get_children())
    view.actors(ax, chosen[-1])  # the layout makes room for the longest title
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    moving: list[Artist] = [a for a in ax.get_children() if a not in still]
    # What stands still but above the lowest of what moves (half of the globe's grid) is drawn again with it.
    lowest = min(a.zorder for a in moving)
    above: list[Artist] = [a for a in (*ax.collections, *ax.lines, *ax.patches, *ax.texts) if a.zorder > lowest]
    above = [ax.title, *(a for a in above if a in still)]
    for artist in above:
        artist.set_animated(True)
    for artist in moving:
        artist.remove()
    canvas.draw()
    background = canvas.copy_from_bbox(figure.bbox)
    for at in chosen:
        view.actors(ax, at)
        moving = [a for a in ax.get_children() if a not in still]
        canvas.restore_region(background)
        for artist in sorted([*moving, *above], key=lambda a: a.zorder):
            if view.in_space and hasattr(artist, "do_3d_projection"):
                artist.do_3d_projection()  # pyright: ignore[reportAttributeAccessIssue]
            ax.draw_artist(artist)
        yield
        for artist in moving:
            artist.remove()


class _Writer(FFMpegWriter):
    """Takes the canvas as it is, where matplotlib would draw everything again."""

    def grab_frame(self, **options: Any) -> None:
        self._proc.stdin.write(self.fig.canvas.buffer_rgba())  # pyright: ignore


def _mp4(canvas: FigureCanvasAgg, pictures: Iterator[None], fps: int) -> bytes:
    writer = _Writer(fps=fps)
    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder) / "film.mp4"
        with writer.saving(canvas.figure, str(film), canvas.figure.dpi):
            for _ in pictures:
                writer.grab_frame()
        return film.read_bytes()


def _gif(canvas: FigureCanvasAgg, pictures: Iterator[None], fps: int) -> bytes:
    shots = [Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB") for _ in pictures]
    palette = _common_palette(shots)
    first, *others = (_reduced(shot, palette) for shot in shots)
    data = io.BytesIO()
    first.save(data, "GIF", save_all=True, append_images=others, duration=round(1000 / fps), loop=0)
    return data.getvalue()


def _certain() -> np.ndarray:
    """Colours that a film must have: white, and the tokens' own, whose few pixels would not win them."""
    token = np.array([to_rgba(TOKEN["color"])])
    return np.rint(255 * np.concatenate([[[1, 1, 1, 1]], token, pale(token)])[:, :3]).astype(np.uint8)


def _common_palette(shots: list[Image.Image]) -> Image.Image:
    """256 colours for the whole film, the last of them certain."""
    width, height = shots[0].size
    sample = Image.new("RGB", (width, 3 * height))
    for row, shot in enumerate((shots[0], shots[len(shots) // 2], shots[-1])):
        sample.paste(shot, (0, row * height))
    certain = _certain()
    room = 256 - len(certain)
    palette = sample.quantize(room)
    found = (palette.getpalette() or [])[: 3 * room]
    palette.putpalette([*found, *[0] * (3 * room - len(found)), *certain.ravel().tolist()])
    return palette


def _reduced(shot: Image.Image, palette: Image.Image) -> Image.Image:
    """The picture in the palette's colours; Pillow finds the nearest coarsely, and white would become light grey."""
    reduced = shot.quantize(palette=palette, dither=Image.Dither.NONE)
    places = np.array(reduced)
    places[np.asarray(shot).min(axis=-1) == 255] = 256 - len(_certain())  # white is the first that is certain
    exact = Image.fromarray(places)
    exact.putpalette(palette.getpalette() or [])
    return exact
