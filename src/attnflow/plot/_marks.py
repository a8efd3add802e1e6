"""The marks all views share: tokens as discs, trails that darken with time, and the bar that says so."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PathCollection
from matplotlib.colors import Normalize
from matplotlib.path import Path

from ._data import Frames
from ._style import PALETTE, TIME

TOKEN: dict[str, Any] = {"color": PALETTE["vermillion"], "edgecolor": "white", "label": "tokens"}
SHADES = TIME(np.linspace(0, 1, 64))
START: dict[str, Any] = {"s": 5, "color": "#8A949E", "linewidth": 0, "label": "start"}


def trail_width(n: int) -> float:
    """Thinner lines for more tokens."""
    return float(np.clip(14 / np.sqrt(n), 0.4, 1.4))


def segments(paths: np.ndarray) -> np.ndarray:
    """Pieces `(n * (T - 1), 2, d)` of the paths `(T, n, d)`, token after token."""
    pieces = np.stack([paths[:-1], paths[1:]], axis=2)  # (T - 1, n, 2, d)
    return pieces.swapaxes(0, 1).reshape(-1, 2, paths.shape[2])


def shades(frames: Frames, at: int) -> np.ndarray:
    """For each of `segments(frames.xs[: at + 1])` the row of `SHADES` for the time in its middle."""
    middles = (frames.ts[:at] + frames.ts[1 : at + 1]) / 2
    return np.tile(np.rint(_norm(frames)(middles) * (len(SHADES) - 1)).astype(int), frames.n)


def time_share(frames: Frames, at: int) -> float:
    """Where a saved time lies on the bar of times, between 0 and 1."""
    return float(_norm(frames)(frames.ts[at]))


def strokes(pieces: np.ndarray, which: np.ndarray, colours: np.ndarray = SHADES, **options: Any) -> PathCollection:
    """Line pieces `(k, 2, 2)`, each in the colour of row `which`; those of one colour are one path: that draws fast."""
    order = np.argsort(which, kind="stable")
    shown, starts = np.unique(which[order], return_index=True)
    paths = []
    for group in np.split(order, starts[1:]):
        ends = pieces[group].reshape(-1, 2)
        paths.append(Path(ends, np.tile([Path.MOVETO, Path.LINETO], len(ends) // 2)))
    return PathCollection(paths if len(shown) else [], facecolors="none", edgecolors=colours[shown], **options)


def time_bar(ax: Axes, frames: Frames, pad: float = 0.04) -> None:
    """The scale of the trails' colours beside the axes."""
    bar = ax.figure.colorbar(ScalarMappable(_norm(frames), TIME), ax=ax, shrink=0.62, aspect=28, pad=pad)
    bar.set_label(frames.time_label)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    bar.ax.tick_params(length=2.5)


def limits(values: np.ndarray) -> tuple[float, float]:
    """Room around all finite values of the whole run, so that the axes stand still in an animation."""
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (-1.0, 1.0)
    room = 0.06 * (high - low) or 0.5
    return float(low - room), float(high + room)


def pale(colours: np.ndarray) -> np.ndarray:
    """RGBA rows faded for what is behind: mixed with light grey, not transparent, as many tokens lie on one spot."""
    faded = colours.copy()
    faded[:, :3] = 0.3 * colours[:, :3] + 0.7 * 0.94
    return faded


def _norm(frames: Frames) -> Normalize:
    first, last = frames.ts[0], frames.ts[-1]
    return Normalize(first, last if last > first else first + 1)
