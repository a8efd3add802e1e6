"""Frames of a canvas as a film: MP4 by ffmpeg, or GIF."""

import io
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.animation import FFMpegWriter
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from PIL import Image

from ..errors import InputError

Film = Callable[[FigureCanvasAgg, Iterable[None], float], bytes]


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
