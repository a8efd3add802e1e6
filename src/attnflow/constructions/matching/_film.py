"""A matching as a film: all measures on one sphere, each in its own colour, piece after piece."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from matplotlib.axes import Axes

from ...checks import number, whole
from ...files import path_of
from ...plot.film import film, film_for
from ...plot.globe import eye_of
from ...spaces import Count, Number
from ._pictures import FAMILIES, Camera, actors, check_in_space, facing, middle_of_band, stage

if TYPE_CHECKING:
    from .matching import MeasureMatching

WORDS = {
    "gather": "gather",
    "separate": "attention",
    "cluster": "cluster",
    "match": "a band for one atom",
    "merge": "merge",
    "undo": "attention, undone",
    "other": "",
}
LONG = {"separate", "cluster", "undo", "gather"}  # pieces that move everything take more frames
REST = 12  # frames at the end


class Families:
    """The measures at some times, as a panel of a film."""

    in_space: ClassVar[bool] = False

    def __init__(self, matching: "MeasureMatching", frames: int, camera: Camera | None):
        self.matching = matching
        self.eye = eye_of(*(facing(matching) if camera is None else camera))
        self.clouds: list[list[np.ndarray]] = []
        self.titles: list[str] = []
        self.circles: list[np.ndarray | None] = []
        pieces = matching.schedule.pieces
        clouds = [(one.x, one.w) for one in matching.sources]
        self._add([x for x, _ in clouds], None, f"{len(clouds)} measures, one transformer of {len(pieces)} pieces")
        for k, piece in enumerate(pieces):
            count = 4 * frames if piece.role in LONG else frames
            one, circle = type(matching.schedule)([piece]), middle_of_band(piece)
            _, xs = one.trace(clouds, count)
            for at in range(1, count + 1):
                self._add([x[at] for x in xs], circle, f"piece {k + 1} of {len(pieces)}: {WORDS[piece.role]}")
            clouds = [(x[-1], w) for x, (_, w) in zip(xs, clouds, strict=True)]

    def _add(self, clouds: list[np.ndarray], circle: np.ndarray | None, title: str) -> None:
        self.clouds.append(clouds)
        self.circles.append(circle)
        self.titles.append(title)

    def stage(self, ax: Axes) -> None:
        stage(ax, self.matching, self.eye)

    def actors(self, ax: Axes, at: int) -> None:
        actors(ax, self.clouds[at], self.eye, self.circles[at])
        ax.set_title(self.titles[at])


def animate(
    matching: "MeasureMatching", path: str | os.PathLike, frames: Count, fps: Number, dpi: Number, camera: Camera | None
) -> Path:
    path = path_of(path)
    film_for(path)  # an ending that is none is refused before anything is computed
    check_in_space(matching)
    panel = Families(matching, whole("frames", frames), camera)
    rate, dots = number("fps", fps, 0.1), number("dpi", dpi, 10)
    shown = [*range(len(panel.clouds)), *[len(panel.clouds) - 1] * REST]
    return film(path, [panel], shown, (4.4, 4.7), fps=rate, dpi=dots, certain=(*FAMILIES, "#333333"))
