"""A schedule as a picture: which neuron is on when, what it does, and for how many points."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap, SymLogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ...plot import PALETTE, new_figure, style
from ...spaces import Numbers
from ._report import effects
from .checked import masses, points
from .relu_pieces import ReluPieces
from .shear_profile import ShearProfile

COLOURS = {
    "translation": PALETTE["orange"],
    "shear": PALETTE["green"],
    "expansion": PALETTE["vermillion"],
    "compression": PALETTE["blue"],
}
SIGNED = LinearSegmentedColormap.from_list(
    "attnflow-signed", ["#0B4B4B", "#4C9A94", "#BFDDD9", "#F7F8F8", "#E6CFE4", "#B271AC", "#6A1B66"]
)
FEW = 30  # pieces that have a number each, and a gap between them


def timeline(schedule: Any, x: Numbers | None, weights: Numbers | None) -> Figure:
    neurons: ReluPieces = schedule.neurons
    edges = np.concatenate([[0.0], np.cumsum(neurons.t)])
    share = None if x is None else _share_on(schedule, x, weights)
    rows = 2 * schedule.d + 1
    heights = [1.5, max(1.0, 0.22 * rows)] + ([0.9] if share is not None else [])
    with style():
        figure = new_figure(7.2, 1.3 + sum(heights))
        panels = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
        _strengths(panels[0], neurons, edges)
        _weights(panels[1], neurons, edges)
        if share is not None:
            _shares(panels[2], share, edges)
        panels[-1].set(xlabel="time $t$", xlim=(0, edges[-1]))
        figure.align_ylabels(panels)
    return figure


def _strengths(ax: Axes, neurons: ReluPieces, edges: np.ndarray) -> None:
    """One bar for each neuron, in the colour of what it does; its area is what it does in all."""
    size = np.linalg.norm(neurons.A, axis=1)
    force = np.linalg.norm(neurons.W, axis=1) * np.where(size > 0, size, np.maximum(neurons.b, 0))
    named = effects(neurons)
    known = force[force > 0]
    steep = known.size > 0 and known.max() > 1e3 * np.quantile(known, 0.1)
    floor = known.min() / 3 if steep else 0.0
    gap = 0.06 if len(force) <= FEW else 0.0
    for name, colour in COLOURS.items():
        which = np.flatnonzero(named == name)
        wide = np.diff(edges)[which]
        left, right = edges[which] + gap * wide, edges[which + 1] - gap * wide
        top, low = np.maximum(force[which], floor), np.full(len(which), floor)
        bars = np.stack([np.stack(pair, axis=-1) for pair in ((left, low), (left, top), (right, top), (right, low))], 1)
        colours = {"facecolors": colour, "edgecolors": colour, "linewidths": 0.0 if gap else 0.3}
        ax.add_collection(PolyCollection(list(bars), **colours))
    highest = known.max() if known.size else 1.0
    ax.set(ylabel=r"$|w|\,|a|$", ylim=(floor, highest * (3 if steep else 1.18)))
    if steep:
        ax.set_yscale("log")
    if len(force) <= FEW:
        for k, (at, height) in enumerate(zip((edges[1:] + edges[:-1]) / 2, np.maximum(force, floor), strict=True)):
            ax.annotate(f"{k + 1}", (at, height), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=7.5)
    ax.set_title(f"{len(force)} piece{'s' * (len(force) > 1)}, {len(force) - 1} switches", loc="left", pad=24)
    shown = [name for name in COLOURS if (named == name).any()]
    ax.legend(
        handles=[Patch(color=COLOURS[name], label=f"{name}, {(named == name).sum()}") for name in shown],
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=len(shown), handlelength=1.0, columnspacing=1.4,
        borderaxespad=0.1,
    )  # fmt: skip


def _weights(ax: Axes, neurons: ReluPieces, edges: np.ndarray) -> None:
    """The weights as colours, with |a| = 1: each of the groups w, a, b by its own largest entry."""
    size = np.linalg.norm(neurons.A, axis=1)
    size = np.where(size > 0, size, 1.0)
    groups = (neurons.W * size[:, None], neurons.A / size[:, None], (neurons.b / size)[:, None])
    table = np.concatenate([group / (abs(group).max() or 1.0) for group in groups], axis=1).T
    d = neurons.d
    names = [*(f"$w_{{{j + 1}}}$" for j in range(d)), *(f"$a_{{{j + 1}}}$" for j in range(d)), "$b$"]
    if d == 1:
        names = ["$w$", "$a$", "$b$"]
    norm = SymLogNorm(linthresh=0.03, linscale=0.5, vmin=-1, vmax=1)
    mesh = ax.pcolormesh(edges, np.arange(2 * d + 2), table, cmap=SIGNED, norm=norm, rasterized=True)
    for row in (d, 2 * d):
        ax.axhline(row, color="white", lw=3)
    ax.set_yticks(np.arange(2 * d + 1) + 0.5, names)
    ax.set_ylim(2 * d + 1, 0)
    ax.tick_params(left=False)
    for side in ax.spines.values():
        side.set_visible(False)
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.015, aspect=9, ticks=[-1, -0.1, 0, 0.1, 1], format="%g")
    bar.set_label("of the largest", fontsize=8)
    bar.ax.tick_params(length=2, labelsize=7.5)
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]


def _shares(ax: Axes, share: np.ndarray, edges: np.ndarray) -> None:
    ax.stairs(share, edges, fill=True, color=PALETTE["sky"], alpha=0.55)
    ax.stairs(share, edges, color=PALETTE["blue"], lw=0.9 if len(share) <= 200 else 0.4)
    ax.set(ylabel="mass on", ylim=(0, 1.02), yticks=(0, 0.5, 1))
    ax.grid(axis="y")


def _share_on(schedule: Any, x: Numbers, weights: Numbers | None) -> np.ndarray:
    r"""The mass of the points with $\langle a, x\rangle + b > 0$ when each neuron runs."""
    here = points("x", x, schedule.d)
    mass = np.full(len(here), 1 / len(here)) if weights is None else masses(weights, len(here))
    shares = []
    for piece in schedule.blocks:
        neurons = piece if isinstance(piece, ReluPieces) else ReluPieces.of(*piece.expand())
        start = here
        for a, b, step in zip(neurons.A, neurons.b, neurons.steps, strict=True):
            s = start @ a + b
            shares.append(mass[s > 0].sum())
            if not isinstance(piece, ShearProfile):  # there no neuron changes what another one reads
                start = start + np.maximum(s, 0)[:, None] * step
        here = piece.forward(here)
    return np.array(shares) / mass.sum()
