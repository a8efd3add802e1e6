"""Long times: the staircase of the energy, and the path from saddle to saddle."""

from typing import Any, ClassVar, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from ..errors import InputError, shown
from ._data import Frames, read, times
from ._marks import TOKEN
from ._style import PALETTE, axes_for, style

DASH = {"color": "#8A949E", "lw": 0.9, "ls": (0, (4, 3)), "zorder": 1}


def staircase(run: Any, *, clock: Literal["log", "arclength", "paper"] = "log", ax: Axes | None = None) -> Figure:
    r"""Draw the energy $\\widehat E$ against one of the clocks of `attnflow.diagnostics.staircase`.

    Dashed: the heights $\\sum_k W_k^2$ of the plateaus, from the masses of the clusters alone.
    """
    from ..diagnostics import staircase as measure

    stairs = measure(run, clock)
    with style():
        ax = axes_for(ax, 5.4, 3.6)
        _levels(ax, stairs)
        ax.plot(stairs.tau, stairs.energy, color=PALETTE["blue"])
        ax.set(xlabel=stairs.label, ylabel=r"energy $\widehat{E}$", ylim=(0, 1.05))
        ax.set_xlim(stairs.tau[0], stairs.tau[-1] + 0.02 * (stairs.tau[-1] - stairs.tau[0]))
    return ax.get_figure(root=True)  # pyright: ignore[reportReturnType]


def merges(run: Any, *, view: Any = None, ax: Axes | None = None) -> Figure:
    """Draw the merges of clusters against the logarithm of time.

    - `"angles"` (tokens on the circle): the angle of each token. `"tree"`: tokens as leaves, in an order in which no
      branches cross. A dot is a merge, its area the mass of the new cluster.
    """
    frames = read(run)
    view = view if view is not None else ("angles" if frames.d == 2 and frames.space == "sphere" else "tree")
    if not isinstance(view, str) or view not in ("angles", "tree"):
        raise InputError(f"view {shown(view)} is unknown; choose 'angles' or 'tree'.")
    if view == "angles" and frames.d != 2:
        raise InputError(f"tokens in dimension {frames.d} have no single angle; take view='tree'.")
    if not getattr(run, "events", ()):
        raise InputError("this run has no merges; make it with attnflow.long_time.")
    with style():
        ax = axes_for(ax, 5.4, 4.0)
        (_angles if view == "angles" else _tree)(ax, run, frames)
        ax.set_xlabel(times(run)[1])
        ax.grid(axis="x")
    return ax.get_figure(root=True)  # pyright: ignore[reportReturnType]


class Climb:
    """The panel of a film beside the tokens: the energy against the logarithm of time, climbed as they move."""

    in_space: ClassVar[bool] = False

    def __init__(self, run: Any, frames: Frames):
        from ..diagnostics import staircase as measure

        self.stairs = measure(run)
        self.now = frames.ts if frames.logarithmic else np.log10(np.maximum(frames.ts, 10 ** self.stairs.tau[0]))

    def stage(self, ax: Axes) -> None:
        stairs = self.stairs
        _levels(ax, stairs)
        ax.plot(stairs.tau, stairs.energy, color="#C9D0D6", lw=1.2)
        ax.set(xlabel=stairs.label, ylabel=r"energy $\widehat{E}$", ylim=(0, 1.05))
        ax.set_xlim(stairs.tau[0], stairs.tau[-1])
        ax.set_box_aspect(0.75)

    def actors(self, ax: Axes, at: int) -> None:
        stairs, now = self.stairs, self.now[at]
        height = np.interp(now, stairs.tau, stairs.energy)
        past = stairs.tau < now
        ax.plot([*stairs.tau[past], now], [*stairs.energy[past], height], color=PALETTE["blue"], zorder=2.5)
        ax.plot([now], [height], "o", ms=6, mfc=TOKEN["color"], mec="white", zorder=3, clip_on=False)


def _levels(ax: Axes, stairs: Any) -> None:
    """Dashed lines at the heights that masses predict, each labelled once at the right if there is room."""
    labelled: list[float] = []
    for plateau in reversed(stairs.flat):
        ax.axhline(plateau.predicted, **DASH)
        if all(abs(plateau.predicted - other) > 0.05 for other in labelled):
            labelled.append(plateau.predicted)
            ax.annotate(
                f"{plateau.predicted:.3g}",
                (1.0, plateau.predicted),
                xycoords=("axes fraction", "data"),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color="#6B7580",
            )


def _angles(ax: Axes, run: Any, frames: Frames) -> None:
    angles = np.unwrap(np.arctan2(frames.xs[:, :, 1], frames.xs[:, :, 0]), axis=0)
    # Tokens that have met show the same angle: turns between them are taken away, looking back from the end.
    angles = angles - 2 * np.pi * np.rint((angles[-1] - np.median(angles[-1])) / (2 * np.pi))
    ax.plot(frames.ts, angles / np.pi, color=PALETTE["blue"], lw=0.9, alpha=0.8)
    for event in run.events:
        place = np.median(angles[event["index"], list(event["tokens"])]) / np.pi
        _dot(ax, event, place)
    ax.set_ylabel(r"angle $\theta_i / \pi$")
    ax.set_xlim(frames.ts[0], frames.ts[-1] + 0.02 * (frames.ts[-1] - frames.ts[0]))


def _tree(ax: Axes, run: Any, frames: Frames) -> None:
    start, end = frames.ts[0], frames.ts[-1]
    place = dict(zip(_order(run, frames.n), np.arange(frames.n, dtype=float), strict=True))
    since, group = dict.fromkeys(range(frames.n), start), {i: frozenset([i]) for i in range(frames.n)}
    mass = dict(enumerate(frames.weights))
    lines, widths = [], []
    for event in run.events:
        when = max(event["log_t"] / np.log(10), start)
        heads = sorted({min(group[i]) for i in event["tokens"]})
        for head in heads:
            lines.append([(since[head], place[head]), (when, place[head])])
            widths.append(0.6 + 4 * mass[head])
        heights = [place[head] for head in heads]
        lines.append([(when, min(heights)), (when, max(heights))])
        widths.append(0.8)
        joined = frozenset().union(*(group[head] for head in heads))
        first = min(joined)
        total = sum(mass[head] for head in heads)
        place[first] = float(sum(mass[head] * place[head] for head in heads) / total)
        mass[first], since[first] = total, when
        group |= dict.fromkeys(joined, joined)
        _dot(ax, event, place[first])
    for head in {min(g) for g in group.values()}:
        lines.append([(since[head], place[head]), (end + 0.02 * (end - start), place[head])])
        widths.append(0.6 + 4 * mass[head])
    ax.add_collection(LineCollection(lines, colors=PALETTE["blue"], linewidths=widths, capstyle="butt"))
    ax.set(ylabel="tokens", ylim=(-0.8, frames.n - 0.2), yticks=())
    ax.set_xlim(start, end + 0.02 * (end - start))


def _order(run: Any, n: int) -> list[int]:
    """Tokens such that those that meet stand side by side."""
    group = {i: (i,) for i in range(n)}
    for event in run.events:
        parts = dict.fromkeys(group[i] for i in event["tokens"])
        joined = tuple(i for part in parts for i in part)
        group |= dict.fromkeys(joined, joined)
    return [i for part in dict.fromkeys(group.values()) for i in part]


def _dot(ax: Axes, event: dict[str, Any], place: float) -> None:
    when = event["log_t"] / np.log(10)
    ax.scatter([when], [place], s=8 + 50 * event["mass"], color=TOKEN["color"], edgecolor="white", lw=0.5, zorder=3)
