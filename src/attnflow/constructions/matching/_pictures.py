"""A matching as pictures: its pieces and distances against time, and its measures on the sphere at some times."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ...errors import InputError
from ...plot import PALETTE, new_figure, style
from ...plot.globe import draw_discs, draw_globe, draw_lines, eye_of
from ._report import distance
from .piece import TransformerPiece

if TYPE_CHECKING:
    from .matching import MeasureMatching

COLOURS = {
    "gather": PALETTE["yellow"],
    "separate": PALETTE["blue"],
    "cluster": PALETTE["purple"],
    "match": PALETTE["green"],
    "merge": PALETTE["orange"],
    "undo": PALETTE["sky"],
    "other": "#8A949E",
}
FAMILIES = [PALETTE[name] for name in ("blue", "vermillion", "green", "purple", "orange", "sky")]
TIMES = 60  # at which distances are measured, at most
Camera = tuple[float | int, float | int]


def timeline(matching: "MeasureMatching") -> Figure:
    """One bar for each piece, as high as its velocity, and the distances of all measures."""
    with style():
        figure = new_figure(7.6, 4.6)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1.15))
        _bars(above, matching)
        _distances(below, matching)
        figure.align_ylabels([above, below])
    return figure


def _bars(ax: Axes, matching: "MeasureMatching") -> None:
    schedule = matching.schedule
    edges = np.concatenate([[0.0], np.cumsum([piece.T for piece in schedule])])
    speeds = np.array([piece.speed for piece in schedule])
    low = speeds[speeds > 0].min(initial=1.0) / 3
    colours = [COLOURS[piece.role] for piece in schedule]
    ax.bar(edges[:-1], np.maximum(speeds, low) - low, np.diff(edges), low, align="edge", color=colours, linewidth=0)
    ax.set_yscale("log")
    ax.set(ylabel=r"$\max(|V|, |W|)$", ylim=(low, 3 * max(speeds.max(), low)))
    handles = [Patch(color=COLOURS[role], label=f"{role}, {count}") for role, count in schedule.counts.items()]
    ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(handles), handlelength=1.0)
    ax.set_title(f"{len(schedule)} pieces", loc="left", pad=24)


def _distances(ax: Axes, matching: "MeasureMatching") -> None:
    ts, xs = matching.schedule.trace([(one.x, one.w) for one in matching.sources])
    chosen = np.unique(np.linspace(0, len(ts) - 1, min(TIMES, len(ts))).round().astype(int))
    for j, (path, source, target) in enumerate(zip(xs, matching.sources, matching.targets, strict=True)):
        away = [max(distance(path[k], source.w, target), 1e-16) for k in chosen]
        ax.semilogy(ts[chosen], away, color=FAMILIES[j % len(FAMILIES)], lw=1.2)
    ax.axhline(matching.eps, color="#8A949E", lw=0.9, ls=(0, (4, 3)))
    ax.annotate(r"$\varepsilon$", (ts[-1], matching.eps), xytext=(3, -3), textcoords="offset points", fontsize=9)
    ax.set(xlabel="time $t$", ylabel="$W_2$ to the target", xlim=(0, ts[-1]))
    ax.grid()


def stages(matching: "MeasureMatching", camera: Camera | None) -> Figure:
    """The measures at the start, after each kind of piece, and at the end."""
    check_in_space(matching)
    moments, titles = _moments(matching)
    eye = eye_of(*(facing(matching) if camera is None else camera))
    _, xs = matching.schedule.trace([(one.x, one.w) for one in matching.sources])
    with style():
        figure = new_figure(2.9 * len(moments), 3.4)
        for ax, at, title in zip(np.atleast_1d(figure.subplots(1, len(moments))), moments, titles, strict=True):
            stage(ax, matching, eye)
            actors(ax, [x[at] for x in xs], eye)
            ax.set_title(title)
    return figure


def _moments(matching: "MeasureMatching") -> tuple[list[int], list[str]]:
    roles = [piece.role for piece in matching.schedule]
    ends = [k + 1 for k in range(len(roles)) if k + 1 == len(roles) or roles[k + 1] != roles[k]]
    if "match" in roles and roles.count("match") > 3:  # half of the bands, too
        first, last = roles.index("match"), len(roles) - roles[::-1].index("match")
        ends = sorted({*ends, (first + last) // 2})
    words = {"match": "atoms walk", "separate": "attention", "cluster": "points", "gather": "gathered",
             "merge": "merged", "undo": "attention undone", "other": "moved"}  # fmt: skip
    few = ends if len(ends) <= 4 else [ends[int(k)] for k in np.linspace(0, len(ends) - 1, 4).round()]
    return [0, *few], ["sources", *(f"{words[roles[k - 1]]}: {k} piece{'s' if k > 1 else ''}" for k in few)]


def check_in_space(matching: "MeasureMatching") -> None:
    if matching.problem.d != 3:
        raise InputError(f"a sphere in R^{matching.problem.d} has no picture; this one is for d = 3.")


def facing(matching: "MeasureMatching") -> Camera:
    """The direction from which most of the targets are well in front."""
    last = np.concatenate([target.x for target in matching.targets])
    cameras = [(up, float(turn)) for up in (20.0, 0.0, -20.0) for turn in range(-180, 180, 15)]
    seen = [np.mean(np.tanh(4 * (last @ eye_of(*camera)[2] - 0.2))) for camera in cameras]
    return cameras[int(np.argmax(np.round(seen, 6)))]


def stage(ax: Axes, matching: "MeasureMatching", eye: np.ndarray) -> None:
    """The ball, and where the targets are."""
    draw_globe(ax, eye)
    for j, target in enumerate(matching.targets):
        seen = target.x @ eye.T
        right, up = seen[seen[:, 2] >= 0, :2].T
        ax.plot(right, up, "o", mfc="none", mec=FAMILIES[j % len(FAMILIES)], mew=0.7, ms=5.2, alpha=0.7, zorder=2.2)
    ax.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), aspect="equal")
    ax.set_axis_off()


def middle_of_band(piece: TransformerPiece) -> np.ndarray | None:
    """The great circle of a band, as line pieces `(k, 2, 3)`."""
    if piece.role != "match":
        return None
    across, up = np.linalg.svd(piece.U[:1])[2][1:]
    turn = np.linspace(0, 2 * np.pi, 121)
    circle = np.cos(turn)[:, None] * across + np.sin(turn)[:, None] * up
    return np.stack([circle[:-1], circle[1:]], axis=1)


def actors(ax: Axes, clouds: list[np.ndarray], eye: np.ndarray, circle: np.ndarray | None = None) -> None:
    """The tokens, each in the colour of its measure; of several at one place the sizes differ."""
    if circle is not None:
        draw_lines(ax, circle @ eye.T, np.zeros(len(circle), int), np.array([[0.2, 0.2, 0.2, 0.9]]), 0.9, 2.5)
    few = np.clip(900 / max(1, sum(len(x) for x in clouds)), 5, 22)
    for j, x in enumerate(clouds):
        size = np.full(len(x), few * (1 + 1.2 * (len(clouds) - 1 - j) / max(1, len(clouds) - 1)))
        colours = np.tile(to_rgba(FAMILIES[j % len(FAMILIES)]), (len(x), 1))
        draw_discs(ax, x @ eye.T, size, np.full(len(x), 0.3), colours, 3 + 0.01 * j, "white")
