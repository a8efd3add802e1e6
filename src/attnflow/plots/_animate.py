"""A run as a film."""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.animation import AbstractMovieWriter, FFMpegWriter, PillowWriter
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ..errors import InputError
from ..files import write_atomically
from ._data import Camera, read
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
    writer = _writer(path, fps)
    frames = read(run)
    with style(), tempfile.TemporaryDirectory() as folder:
        figure = new_figure(*size(frames))
        FigureCanvasAgg(figure)
        film = Path(folder) / f"film{path.suffix.lower()}"
        with writer.saving(figure, str(film), dpi):
            for at in _chosen(frames.ts, max_frames):
                figure.clear()
                draw(figure, frames, int(at), trails, camera)
                writer.grab_frame()
        return write_atomically(path, film.read_bytes())


def _writer(path: Path, fps: int) -> AbstractMovieWriter:
    match path.suffix.lower():
        case ".gif":
            return PillowWriter(fps=fps)
        case ".mp4" if FFMpegWriter.isAvailable():
            return FFMpegWriter(fps=fps)
        case ".mp4":
            raise InputError(f"{path.name!r} needs ffmpeg, which is not installed; end the name with .gif instead.")
    raise InputError(f"cannot animate to {path.name!r}; end the name with .mp4 or .gif.")


def _chosen(ts: np.ndarray, most: int) -> np.ndarray:
    """Indices of the saved times nearest to evenly spaced ones."""
    if len(ts) <= most:
        return np.arange(len(ts))
    wanted = np.linspace(ts[0], ts[-1], most)
    return np.unique(np.abs(ts[:, None] - wanted).argmin(axis=0))
