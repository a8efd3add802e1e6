"""A run as a film."""

import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.animation import FFMpegWriter
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from PIL import Image

from ..errors import InputError
from ..files import write_atomically
from ._data import Camera, read
from ._marks import TOKEN, pale
from ._style import new_figure, style
from ._tokens import draw, size


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
    with style():
        figure = new_figure(*size(frames))
        figure.set_dpi(dpi)
        FigureCanvasAgg(figure)
        pictures = _pictures(figure, frames, _spread(frames.ts, max_frames), trails, camera)
        return write_atomically(path, film(figure, pictures, fps))


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


def _pictures(figure: Figure, frames, chosen: list[int], trails: bool, camera: Camera | None) -> Iterator[None]:
    """Draw one time after the other, all in the places that the layout found for the first, so that nothing jumps."""
    places = []
    for at in chosen:
        figure.clear()
        draw(figure, frames, at, trails, camera)
        if not places:
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            places = [ax.get_position(original=True) for ax in figure.axes]
        for ax, place in zip(figure.axes, places, strict=True):
            ax.set_position(place)
        yield


def _mp4(figure: Figure, pictures: Iterator[None], fps: int) -> bytes:
    writer = FFMpegWriter(fps=fps)
    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder) / "film.mp4"
        with writer.saving(figure, str(film), figure.dpi):
            for _ in pictures:
                writer.grab_frame()
        return film.read_bytes()


def _gif(figure: Figure, pictures: Iterator[None], fps: int) -> bytes:
    shots = []
    for _ in pictures:
        figure.canvas.draw()
        shots.append(Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB"))  # pyright: ignore
    palette = _common_palette(shots)
    first, *others = (shot.quantize(palette=palette, dither=Image.Dither.NONE) for shot in shots)
    data = io.BytesIO()
    first.save(data, "GIF", save_all=True, append_images=others, duration=round(1000 / fps), loop=0)
    return data.getvalue()


def _common_palette(shots: list[Image.Image]) -> Image.Image:
    """256 colours for the whole film, white and the tokens' own among them: their few pixels would not win them."""
    width, height = shots[0].size
    sample = Image.new("RGB", (width, 3 * height))
    for row, shot in enumerate((shots[0], shots[len(shots) // 2], shots[-1])):
        sample.paste(shot, (0, row * height))
    palette = sample.quantize(253)
    token = np.array([to_rgba(TOKEN["color"])])
    certain = np.concatenate([[[1, 1, 1, 1]], token, pale(token)])[:, :3]
    found = (palette.getpalette() or [])[: 3 * 253]
    palette.putpalette([*found, *[0] * (3 * 253 - len(found)), *np.rint(255 * certain).astype(int).ravel().tolist()])
    return palette
