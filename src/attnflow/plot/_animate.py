"""A run as a film."""

import io
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.animation import FFMpegWriter
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from PIL import Image

from ..checks import flag, number, whole
from ..errors import InputError, shown
from ..files import path_of, write_atomically
from ._data import Camera, Frames, camera_of, read, resolution
from ._marks import TOKEN, pale
from ._style import new_figure, style
from ._tokens import size, view_of


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
    film = _choose(path)
    fps, dpi, max_frames = number("fps", fps, 0.1), resolution(dpi), whole("max_frames", max_frames)
    frames = read(run)
    if frames.logarithmic:
        frames = _paced(frames, max_frames)
    views = [view_of(frames)(frames, flag("trails", trails), camera_of(camera)), *_beside(beside, run, frames)]
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


class _Writer(FFMpegWriter):
    """Takes the canvas as it is, where matplotlib would draw everything again."""

    def grab_frame(self, **options: Any) -> None:
        self._proc.stdin.write(self.fig.canvas.buffer_rgba())  # pyright: ignore


def _mp4(canvas: FigureCanvasAgg, pictures: Iterator[None], fps: float) -> bytes:
    writer = _Writer(fps=fps)  # pyright: ignore[reportArgumentType]  (ffmpeg takes fractions, too)
    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder) / "film.mp4"
        with writer.saving(canvas.figure, str(film), canvas.figure.dpi):
            for _ in pictures:
                writer.grab_frame()
        return film.read_bytes()


def _gif(canvas: FigureCanvasAgg, pictures: Iterator[None], fps: float) -> bytes:
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
    colours = (palette.getpalette() or [])[: 3 * room]
    palette.putpalette([*colours, *[0] * (3 * room - len(colours)), *certain.ravel().tolist()])
    return palette


def _reduced(shot: Image.Image, palette: Image.Image) -> Image.Image:
    """The picture in the palette's colours; Pillow finds the nearest coarsely, and white would become light grey."""
    reduced = shot.quantize(palette=palette, dither=Image.Dither.NONE)
    places = np.array(reduced)
    places[np.asarray(shot).min(axis=-1) == 255] = 256 - len(_certain())  # white is the first that is certain
    exact = Image.fromarray(places)
    exact.putpalette(palette.getpalette() or [])
    return exact
