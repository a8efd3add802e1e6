"""The panels of a film on the line: the ways of points, and the density they are drawn from."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from ...plot import PALETTE
from ._film_plane import BEGAN, LINE
from ._moments import Moment
from .relu_piece import ReluPiece


class Paths:
    """Points of the line against time."""

    in_space: ClassVar[bool] = False

    def __init__(self, found: Sequence[Moment], xs: np.ndarray, box: np.ndarray):
        self.ts, self.xs, self.box = np.array([moment.t for moment in found]), xs[:, :, 0], box
        rank = np.argsort(np.argsort(self.xs[0])) / max(self.xs.shape[1] - 1, 1)
        self.colours = BEGAN(rank)

    def stage(self, ax: Axes) -> None:
        ax.set(xlim=(0, self.ts[-1]), ylim=self.box[0], xlabel="time $t$", ylabel="$x$")

    def actors(self, ax: Axes, at: int) -> None:
        paths = [np.column_stack([self.ts[: at + 1], path]) for path in self.xs[: at + 1].T]
        width = float(np.clip(12 / np.sqrt(len(paths)), 0.3, 1.2))
        ax.add_collection(LineCollection(paths, colors=self.colours, linewidths=width), autolim=False)
        ax.set_title(f"$t = {self.ts[at]:.2f}$")


class Curve:
    """The exact density on the line, beside the one it began with."""

    in_space: ClassVar[bool] = False

    def __init__(self, found: Sequence[Moment], box: np.ndarray, log_density: Any):
        self.found, self.box, self.log_density = found, box, log_density
        self.x = np.linspace(box[0, 0], box[0, 1], 801)

    def _values(self, at: int) -> np.ndarray:
        return np.exp(self.log_density(self.found[at], self.x[:, None]))

    def stage(self, ax: Axes) -> None:
        first, last = self._values(0), self._values(len(self.found) - 1)
        ax.plot(first, self.x, color="#8A949E", lw=1.0, ls=(0, (4, 3)))
        ax.set(xlim=(0, 1.15 * max(first.max(), last.max())), ylim=self.box[0], xlabel="density", ylabel="$x$")

    def actors(self, ax: Axes, at: int) -> None:
        values = self._values(at)
        ax.fill_betweenx(self.x, values, color=PALETTE["sky"], alpha=0.4, lw=0)
        ax.plot(values, self.x, color=PALETTE["blue"], lw=1.4)
        running = self.found[at].running
        if isinstance(running, ReluPiece) and running.a[0] != 0:
            ax.axhline(-running.b / running.a[0], **LINE)
        ax.set_title("density")
