"""The panels of a film in the plane: points, and the density they are drawn from."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, PowerNorm

from ...plot import HEAT, PALETTE
from ._moments import Moment
from .relu_piece import ReluPiece
from .shear_profile import ShearProfile

GRID = 240  # cells of a density along each axis
LINE = {"color": "#333333", "lw": 1.0, "zorder": 2.5}
BEGAN = LinearSegmentedColormap.from_list("attnflow-began", ["#0072B2", "#7A6FA5", "#CC79A7", "#E08A4A", "#E69F00"])


class Points:
    """Points of the plane, in the colour of where they began, and the line beyond which the neuron is on."""

    in_space: ClassVar[bool] = False

    def __init__(self, found: Sequence[Moment], xs: np.ndarray, box: np.ndarray, weights: np.ndarray):
        self.found, self.xs, self.box = found, xs, box
        rank = np.argsort(np.argsort(xs[0, :, 0] + 1e-3 * xs[0, :, 1])) / max(len(weights) - 1, 1)
        self.colours = BEGAN(rank)
        self.sizes = np.maximum(np.clip(4000 / len(weights), 2.5, 26) * len(weights) * weights, 1.0)

    def stage(self, ax: Axes) -> None:
        _plane(ax, self.box)

    def actors(self, ax: Axes, at: int) -> None:
        shown = self.xs[at]
        ax.scatter(shown[:, 0], shown[:, 1], s=self.sizes, c=self.colours, linewidth=0, zorder=2)
        _edge(ax, self.found[at].running, self.box)
        ax.set_title(f"$t = {self.found[at].t:.2f}$")


class Density:
    """The exact density in the plane, dark where there is much."""

    in_space: ClassVar[bool] = False

    def __init__(self, found: Sequence[Moment], box: np.ndarray, log_density: Any):
        self.found, self.box, self.log_density = found, box, log_density

    @cached_property
    def _cells(self) -> np.ndarray:
        axes = [np.linspace(low, high, 2 * GRID + 1)[1::2] for low, high in self.box]
        return np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)

    def _values(self, at: int) -> np.ndarray:
        values = np.exp(self.log_density(self.found[at], self._cells))
        return values.reshape(GRID, GRID)

    def stage(self, ax: Axes) -> None:
        _plane(ax, self.box)
        ends = [self._values(at)[np.newaxis] for at in (0, len(self.found) - 1)]
        self.norm = PowerNorm(0.6, vmin=0, vmax=max(np.quantile(v[v > 0], 0.995) if (v > 0).any() else 1 for v in ends))

    def actors(self, ax: Axes, at: int) -> None:
        (left, right), (low, high) = self.box.tolist()
        place = {"origin": "lower", "extent": (left, right, low, high), "interpolation": "bilinear", "zorder": 0.5}
        ax.imshow(self._values(at), cmap=HEAT, norm=self.norm, **place)
        _edge(ax, self.found[at].running, self.box)
        ax.set_title("density")


def _plane(ax: Axes, box: np.ndarray) -> None:
    ax.set(xlim=box[0], ylim=box[1], aspect="equal", xlabel="$x_1$", ylabel="$x_2$")


def _edge(ax: Axes, running: ReluPiece | ShearProfile, box: np.ndarray) -> None:
    """The line where the neuron is switched on, and where it pushes to; of a shear the kinks of its profile."""
    if not running.a.any():
        return
    offsets = -running.knots if isinstance(running, ShearProfile) else np.array([running.b])
    unit = running.a / np.linalg.norm(running.a)
    reach = np.hypot(*(box[:, 1] - box[:, 0]))
    tangent = np.array([-unit[1], unit[0]])
    middle = box.mean(axis=1)
    lines = []
    for b in offsets:
        foot = middle - (running.a @ middle + b) / (running.a @ running.a) * running.a
        lines.append([foot - reach * tangent, foot + reach * tangent])
    faint = {"alpha": float(np.clip(6 / len(lines), 0.15, 1))}
    ax.add_collection(LineCollection(lines, colors=LINE["color"], linewidths=0.9, zorder=2.5, **faint), autolim=False)
    if isinstance(running, ReluPiece) and running.w.any():
        inside = box.T + 0.08 * reach * np.array([[1], [-1]])
        start = np.clip(np.mean(lines[0], axis=0) + 0.03 * reach * unit, *inside)
        push = 0.09 * reach * running.w / np.linalg.norm(running.w)
        ax.annotate(
            "", start + push, start, zorder=3, annotation_clip=False,
            arrowprops={"arrowstyle": "-|>", "color": PALETTE["vermillion"], "lw": 1.6, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
