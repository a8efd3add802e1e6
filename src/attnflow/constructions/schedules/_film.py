"""A schedule as a film: points, and the density that they are drawn from, side by side.

Neurons of a `ShearProfile` are shown together, growing: one after another the steep ones would throw points far away
and bring them back. All other neurons run one by one, in their own time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, PowerNorm

from ...plot import HEAT, PALETTE
from .monotone_pl import MonotonePL
from .piece import AbstractPiece
from .relu_piece import ReluPiece, ReluPieces
from .shear_profile import ShearProfile

BEGAN = LinearSegmentedColormap.from_list("attnflow-began", ["#0072B2", "#7A6FA5", "#CC79A7", "#E08A4A", "#E69F00"])
LINE = {"color": "#333333", "lw": 1.0, "zorder": 2.5}
GRID = 240  # cells of a density along each axis


@dataclass(frozen=True)
class Moment:
    """A time, the blocks that are over, the part of the next one, and what runs: a neuron, or the profile of a shear.

    `on_the_way`: inside of a `MonotonePL`, whose slopes are not yet what they will be beyond the running knot.
    """

    t: float
    over: tuple[AbstractPiece, ...]
    part: tuple[AbstractPiece, ...]
    running: ReluPiece | ShearProfile
    on_the_way: bool


def moments(schedule: Any, frames: int) -> list[Moment]:
    """`frames` equispaced times from 0 to the end."""
    ends = np.cumsum([piece.duration for piece in schedule.blocks])
    found = []
    for t in np.linspace(0, ends[-1], frames):
        k = min(int(np.searchsorted(ends, t)), len(ends) - 1)
        piece, since = schedule.blocks[k], float(t - (ends[k - 1] if k else 0.0))
        inside = isinstance(piece, MonotonePL) and 0 < since < piece.duration
        part = _part(piece, min(since, piece.duration))
        found.append(Moment(float(t), schedule.blocks[:k], part, _running(piece, since), inside))
    return found


def _part(piece: AbstractPiece, since: float) -> tuple[AbstractPiece, ...]:
    if since <= 0:
        return ()
    if since >= piece.duration:
        return (piece,)
    if not isinstance(piece, ShearProfile):
        return piece.until(since)
    share = since / piece.duration
    slopes = {"left_slope": share * piece.left_slope, "right_slope": share * piece.right_slope}
    return (ShearProfile(piece.a, piece.w, piece.knots, share * piece.values, **slopes),)


def _running(piece: AbstractPiece, since: float) -> ReluPiece | ShearProfile:
    if isinstance(piece, ReluPiece | ShearProfile):
        return piece
    if isinstance(piece, ReluPieces):
        k = min(int(np.searchsorted(np.cumsum(piece.t), since, side="right")), piece.count - 1)
        return ReluPiece(piece.W[k], piece.A[k], piece.b[k], piece.t[k])
    neurons = piece.expand()
    return neurons[min(int(since), len(neurons) - 1)]


def along_way(found: Sequence[Moment], x: np.ndarray) -> np.ndarray:
    """The points at every moment, `(frames, n, d)`; blocks that are over are run once."""
    rows, over = [], 0
    for moment in found:
        x, over = _through(moment.over[over:], x), len(moment.over)
        rows.append(_through(moment.part, x))
    return np.stack(rows)


def _through(pieces: Sequence[AbstractPiece], x: np.ndarray) -> np.ndarray:
    for piece in pieces:
        x = piece.forward(x)
    return x


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


def box_of(found: Sequence[Moment], xs: np.ndarray) -> np.ndarray:
    """The smallest square (of the line: interval) with nearly all points at nearly all times."""
    seen = xs[[not moment.on_the_way for moment in found]]
    low, high = np.quantile(seen.reshape(-1, xs.shape[2]), [0.002, 0.998], axis=0)
    half = np.full(len(low), 0.57 * max((high - low).max(), 1e-6))
    return np.stack([(low + high) / 2 - half, (low + high) / 2 + half], axis=1)


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
