r"""The parts of a picture of the unit sphere of R^3, in orthographic projection: a ball, and discs and lines by depth.

Matplotlib's own axes in space cannot hide a line behind a surface. Here each piece of a line and each disc knows its
depth along the line of sight, so that what is behind the sphere is drawn faintly, below the shaded ball, and what is
in front crisply above it.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from ._marks import pale, segments, strokes
from ._style import INK


def eye_of(elevation: float | int, azimuth: float | int) -> np.ndarray:
    """Rows: the directions to the right, upwards and towards the viewer."""
    e, a = np.radians([elevation, azimuth])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    return np.stack([right, np.cross(towards, right), towards])


def draw_globe(ax: Axes, eye: np.ndarray) -> None:
    """A softly lit ball with meridians and parallels."""
    u = np.linspace(-1, 1, 257)
    right, up = np.meshgrid(u, u)
    depth = np.sqrt(np.clip(1 - right**2 - up**2, 0, 1))
    light = np.clip(-0.35 * right + 0.45 * up + 0.82 * depth, 0, 1)
    grey = 0.84 + 0.15 * light
    ball = np.stack([grey, grey + 0.004, grey + 0.01, np.where(right**2 + up**2 <= 1, 0.75, 0.0)], axis=-1)
    rim = Circle((0, 0), 1, fill=False, ec="#9AA5B0", lw=0.9, zorder=1.6)
    ax.imshow(np.clip(ball, 0, 1), extent=(-1, 1, -1, 1), origin="lower", zorder=1.2, interpolation="bilinear")
    ax.add_patch(rim)

    t = np.linspace(0, 2 * np.pi, 91)
    turns = np.radians(np.arange(0, 180, 30))
    heights = np.radians([-60, -30, 0, 30, 60])
    meridians = [np.stack([np.cos(t) * np.cos(p), np.cos(t) * np.sin(p), np.sin(t)], 1) for p in turns]
    parallels = [np.stack([np.cos(h) * np.cos(t), np.cos(h) * np.sin(t), np.sin(h) + 0 * t], 1) for h in heights]
    lines = segments(np.stack([*meridians, *parallels], axis=1)) @ eye.T
    draw_lines(ax, lines, np.zeros(len(lines), int), np.array([[0.62, 0.66, 0.70, 0.55]]), 0.5, above=1.4)


def draw_triad(ax: Axes, eye: np.ndarray) -> None:
    """The directions of the three axes, small in the lower left corner."""
    corner = np.array([-1.0, -1.0])
    for k in np.argsort(eye[2]):  # the nearest last
        tip, label = corner + 0.15 * eye[:2, k], corner + 0.215 * eye[:2, k]
        if np.linalg.norm(eye[:2, k]) < 0.25:  # pointing at the viewer: no length to stand beside
            label = corner + np.array([0.06, 0.06])
        ax.plot(*np.stack([corner, tip]).T, color=INK, lw=0.9, alpha=0.9 if eye[2, k] >= 0 else 0.45)
        ax.text(label[0], label[1], f"$x_{k + 1}$", fontsize=8.5, ha="center", va="center")


def draw_lines(
    ax: Axes, pieces: np.ndarray, which: np.ndarray, colours: np.ndarray, width: float, above: float = 2.0
) -> None:
    """Line pieces (right, up, depth), each in a row of the colours: in front above the ball, behind pale."""
    front = pieces[:, :, 2].mean(axis=1) >= 0
    for chosen, colour, zorder in ((~front, pale(colours), 1.3), (front, colours, above)):
        some = pieces[chosen, :, :2], which[chosen], colour
        lines = strokes(*some, linewidths=width, zorder=zorder, capstyle="round")
        ax.add_collection(lines, autolim=False)


def draw_discs(
    ax: Axes, seen: np.ndarray, sizes: np.ndarray, edges: np.ndarray, colours: np.ndarray, zorder: float | int,
    edgecolor: str | None = None, label: str | None = None,
) -> None:  # fmt: skip
    """A disc per token `(right, up, depth)`, in its own row of `colours`: those behind pale and below what is in front,
    large ones below small ones.
    """
    others: dict[str, Any] = {} if edgecolor is None else {"edgecolor": edgecolor}
    for behind, shades, level in ((True, pale(colours), 1.5), (False, colours, zorder)):
        order = [i for i in np.argsort(-sizes, kind="stable") if (seen[i, 2] < 0) == behind]
        x, y = seen[order, :2].T
        ax.scatter(x, y, s=sizes[order], linewidth=edges[order], color=shades[order], zorder=level, label=label,
                   **others)  # fmt: skip
