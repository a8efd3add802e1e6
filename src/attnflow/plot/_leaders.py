"""Hardmax layers in the plane: leaders, whom the others follow, and the half-space beyond a token."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon

from ..checks import square_matrix
from ..errors import InputError, shown
from ._data import whole_numbers
from ._marks import limits
from ._polytope import _around
from ._style import FAINT, INK, PALETTE, axes_for, new_figure, style

LEADER, RIM, HULL = PALETTE["vermillion"], PALETTE["orange"], PALETTE["green"]
TOKEN = PALETTE["blue"]
TIES = 1e-12  # a tie on paper is one in the picture, in units of the largest score


def hardmax_layers(
    runs: Any, *, layers: Sequence[int] = (0, 1, 2, 5, 30), names: Sequence[str] | None = None
) -> Figure:
    """Draw tokens of hardmax layers in the plane, a row for every run and a column for every layer.

    Stars are leaders, and their hull is shaded. A rim marks a token that is no leader and that some other token
    follows. Lines lead from a token to where it goes.

    - `runs`: one run of `HardmaxLayers`, several, or a mapping from names to runs; d = 2.
    - `layers`: saved layers; `names`: of the rows.
    """
    if isinstance(runs, Mapping):
        names, runs = list(runs) if names is None else names, list(runs.values())
    rows = list(runs) if isinstance(runs, (list, tuple)) else [runs]
    names = [""] * len(rows) if names is None else names
    layers = whole_numbers("layers", layers)
    if isinstance(names, str) or not np.iterable(names) or not all(isinstance(name, str) for name in names):
        raise InputError(f"names = {shown(names)} are no names; give a text for every run.")
    if not rows or len(names) != len(rows):
        raise InputError(f"{len(rows)} runs and {len(names)} names; give at least one run, and a name for each.")
    with style():
        figure = new_figure(0.5 + 2.05 * len(layers), 0.55 + 2.1 * len(rows))
        grid = figure.subplots(len(rows), len(layers), squeeze=False)
        for row, run, name in zip(grid, rows, names, strict=True):
            for ax, layer in zip(row, layers, strict=True):
                _panel(ax, run, layer)
                ax.set(xticks=(), yticks=())
                for spine in ax.spines.values():
                    spine.set(visible=True, color=FAINT)
            row[0].set_ylabel(name)
        for ax, layer in zip(grid[0], layers, strict=True):
            ax.set_title(f"layer {layer}")
        figure.legend(handles=_legend(), loc="outside lower center", ncols=5, columnspacing=1.6, handletextpad=0.4)
    return figure


def half_space(run: Any, token: int, *, at: int = 0, ax: Axes | None = None) -> Figure:
    r"""Draw the half-space beyond a token, $x_i^\top B(y - x_i) > 0$: what attracts it lies there.

    The token follows the farthest of the others in the direction $B^\top x_i$, and is a leader if the half-space is
    empty. `at` is the index of a saved layer; d = 2.
    """
    z, B, weight = _plane(run, at)
    competes = weight > 0
    if isinstance(token, bool) or not isinstance(token, (int, np.integer)) or not 0 <= token < len(z):
        raise InputError(f"token = {shown(token)} is none of {len(z)} tokens; give an index from 0 to {len(z) - 1}.")
    layer = int(np.asarray(run.ts)[at])
    direction = B.T @ z[token]
    scores = z @ direction
    followed = _tied(scores[None], competes)[0] & ~(z == z[token]).all(axis=1)
    seen = competes | (np.arange(len(z)) == token)
    box = _square(np.vstack([z[seen], np.zeros(2)]))
    with style():
        own = ax is None
        ax = axes_for(ax, 4.6, 4.5)
        beyond = _clipped(box, direction, float(direction @ z[token]))
        if len(beyond) > 2:
            ax.add_patch(Polygon(beyond, facecolor=PALETTE["sky"], alpha=0.22, lw=0, label="beyond the token"))
            edge = beyond[np.abs(beyond @ direction - direction @ z[token]) <= 1e-9 * (np.abs(scores).max() or 1)]
            if len(edge) > 1:
                ax.plot(*edge[[0, -1]].T, color=PALETTE["blue"], lw=1.2)
        ax.plot(*z[seen & ~followed].T, "o", ms=5, color="#8A949E", mec="white", mew=0.5, label="other tokens")
        if followed.any():
            mean = weight[followed] @ z[followed] / weight[followed].sum()
            ax.plot(*z[followed].T, "o", ms=7, color="white", mec=RIM, mew=2, label="the farthest: followed")
            ax.annotate("", mean, z[token], arrowprops={"arrowstyle": "->", "color": INK, "shrinkA": 6, "shrinkB": 5})
        marker = {"marker": "o", "ms": 8} if followed.any() else {"marker": "*", "ms": 14}
        ax.plot(*z[token], ls="", color=LEADER, mec="white", mew=0.6, zorder=4, label=f"token {token}", **marker)
        ax.plot(0, 0, "+", color=INK, ms=8, label="origin")
        ax.set(xlim=box[0], ylim=box[1], aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
        ax.set_title(f"layer {layer}: token {token} {'follows' if followed.any() else 'leads'}")
        ax.grid()
        if own:
            ax.figure.legend(loc="outside lower center", ncols=3, columnspacing=1.4, handletextpad=0.4)  # pyright: ignore[reportAttributeAccessIssue]
    return ax.get_figure(root=True)  # pyright: ignore[reportReturnType]


def _panel(ax: Axes, run: Any, layer: int) -> None:
    _check_run(run)
    kept = np.asarray(run.ts)
    if layer not in kept:
        raise InputError(f"layer {layer} was not kept; choose among {kept[0]:g}, ..., {kept[-1]:g}, or keep it.")
    at = int(np.flatnonzero(kept == layer)[0])
    z, B, weight = _plane(run, at)
    competes = weight > 0
    began = np.asarray(run.info["leader_layer"])
    leads = (began >= 0) & (began <= layer)
    tied = _tied(z @ B @ z.T, competes)
    moves = competes & ~leads
    others = tied & ~(z[:, None] == z[None]).all(axis=2)
    followed = others[moves].any(axis=0) & ~leads
    shares = tied * weight
    targets = shares @ z / shares.sum(axis=1)[:, None]
    for i in np.flatnonzero(moves):
        ax.plot(*np.stack([z[i], targets[i]]).T, color=FAINT, lw=0.7, zorder=1)
    if leads.any():
        ax.add_patch(Polygon(corners(z[leads]), facecolor=(*_rgb(HULL), 0.14), edgecolor=HULL, lw=1.0, zorder=0.5))
    ax.plot(*z[moves & ~followed].T, "o", ms=4.5, color=TOKEN, mec="white", mew=0.4, zorder=2)
    ax.plot(*z[followed].T, "o", ms=5.5, color=TOKEN, mec=RIM, mew=1.8, zorder=3)
    ax.plot(*z[leads].T, "*", ms=11, color=LEADER, mec="white", mew=0.5, zorder=4)
    x, y = _square(_plane(run, 0)[0])  # hulls never grow: the first one holds all
    ax.set(xlim=x, ylim=y, aspect="equal")


def _legend() -> list[Any]:
    dot: Any = {"ls": "", "marker": "o", "color": TOKEN}
    return [
        Line2D([], [], ls="", marker="*", ms=11, color=LEADER, mec="white", label="leader"),
        Line2D([], [], ms=6, mec=RIM, mew=1.8, label="followed, no leader", **dot),
        Line2D([], [], ms=5, mec="white", mew=0.4, label="other token", **dot),
        Line2D([], [], color=FAINT, lw=1, label="where it goes"),
        Patch(facecolor=(*_rgb(HULL), 0.14), edgecolor=HULL, label="hull of the leaders"),
    ]


def _check_run(run: Any) -> None:
    if "leader_layer" not in getattr(run, "info", {}):
        raise InputError("this picture is for runs of HardmaxLayers; see af.plot.leaders for other attention.")


def _plane(run: Any, at: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens at a saved layer, B, and the weights with which they compete, for runs of hardmax layers in the plane."""
    _check_run(run)
    xs = np.asarray(run.single().xs, float)
    if xs.shape[2] != 2:
        raise InputError(f"tokens have dimension {xs.shape[2]}; this picture is for the plane.")
    if isinstance(at, bool) or not isinstance(at, (int, np.integer)) or not -len(xs) <= at < len(xs):
        raise InputError(f"at = {shown(at)} is none of the {len(xs)} saved layers; give an index of one.")
    gone = np.asarray(run.info["absorbed_layer"])
    weight = np.ones(len(gone)) if run.weights is None else np.asarray(run.weights, float)
    weight = np.where((gone < 0) | (gone > float(run.ts[at])), weight, 0.0)
    B = run.model.B
    return xs[at], np.eye(2) if B is None else square_matrix("B", B, 2), weight


def _tied(scores: np.ndarray, competes: np.ndarray) -> np.ndarray:
    """Which keys tie for the best score of each row `(r, n)`, up to rounding."""
    scale = np.abs(scores).max()
    scores = np.where(competes, scores, -np.inf)
    return scores >= scores.max(axis=1, keepdims=True) - TIES * scale


def _square(points: np.ndarray) -> np.ndarray:
    """Limits of both axes, of the same length, with some room."""
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    low, high = limits(np.array([0.0, np.ptp(points, axis=0).max()]))
    return middle[:, None] + np.array([-0.5, 0.5]) * (high - low)


def corners(points: np.ndarray) -> np.ndarray:
    from ..diagnostics.hulls import hull

    return _around(hull(points).corners)


def _clipped(box: np.ndarray, normal: np.ndarray, value: float) -> np.ndarray:
    """The part of a rectangle `(2, 2)` where <normal, y> >= value: a polygon, its cut edge first and last."""
    corners = np.array([(box[0, 0], box[1, 0]), (box[0, 1], box[1, 0]), (box[0, 1], box[1, 1]), (box[0, 0], box[1, 1])])
    depth = corners @ normal - value
    points = []
    for k in range(4):
        a, b = corners[k], corners[(k + 1) % 4]
        if depth[k] >= 0:
            points.append(a)
        if depth[k] * depth[(k + 1) % 4] < 0:
            points.append(a + depth[k] / (depth[k] - depth[(k + 1) % 4]) * (b - a))
    return np.array(points).reshape(-1, 2)


def _rgb(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)
