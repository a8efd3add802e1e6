"""The number of clusters against time, and the clusters that merge."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

from ._curves import along_time
from ._data import times
from ._style import HEAT, PALETTE, axes_for, new_figure, style


def clusters(run: Any, *, eps: float | None = None, ax: Axes | None = None) -> Figure:
    """Draw the number of clusters against time and, below it, how they merge.

    In the lower part a token is a band as high as its weight, tokens that end together are neighbours, and the colour
    is the mass of the token's cluster: bands run together where clusters meet. With `ax` the number alone is drawn.
    """
    from ..diagnostics import clusters as measure

    clustering = measure(run, eps=eps)
    with style():
        if ax is None:
            figure = new_figure(5.4, 4.6)
            upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1.6))
            _merging(lower, run, clustering)
            along_time(lower, run)
        else:
            upper = axes_for(ax, 5.4, 4.6)
            along_time(upper, run)
        _number(upper, run, clustering)
    return upper.get_figure(root=True)  # pyright: ignore[reportReturnType]


def _number(ax: Axes, run: Any, clustering: Any) -> None:
    ts, _ = times(run)
    count = np.where(clustering.count > 0, clustering.count, np.nan)  # times that were not reached are left empty
    eps = np.asarray(clustering.eps)[-1]
    ax.step(ts, count, where="post", color=PALETTE["blue"], label=f"linked within {eps:.3g}")
    ax.legend(loc="upper right")
    most = int(np.nanmax(count, initial=1))
    if most > 20:
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.set_ylim(0.9, 1.2 * most)
    else:
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_ylim(0, 1.08 * most)
    ax.set_ylabel("clusters")
    ax.set_title(_caption(clustering))
    ax.grid()


def _caption(clustering: Any) -> str:
    last = int(clustering.count[-1])
    what = f"{last} cluster{'' if last == 1 else 's'} at the end"
    state, time = str(np.asarray(clustering.state).reshape(-1)[-1]), np.asarray(clustering.time, float).reshape(-1)[-1]
    if state == "unknown":
        return what
    if state == "metastable" and np.isfinite(time):
        return f"{what}, metastable for a time of about {time:.2g}"
    return f"{what}, {'still moving' if state == 'moving' else state}"


def _merging(ax: Axes, run: Any, clustering: Any) -> None:
    ts, _ = times(run)
    n, weights = run.n, np.asarray(run.masses, float)
    order = np.lexsort(clustering.labels)  # by the last time, then by the one before, ...
    labels = clustering.labels[:, order]
    mass = np.take_along_axis(clustering.masses, np.maximum(labels, 0), axis=1)
    heights = np.concatenate([[0], np.cumsum(weights[order])])
    middles = (ts[1:] + ts[:-1]) / 2
    sides = np.concatenate([ts[:1], middles, ts[-1:]]) if len(ts) > 1 else ts[0] + np.array([-0.5, 0.5])
    image = ax.pcolormesh(sides, heights, mass.T, cmap=HEAT, norm=Normalize(0, 1), rasterized=True)
    # A line between neighbours as long as they are apart.
    apart = np.pad(labels[:, 1:] != labels[:, :-1], ((1, 1), (0, 0)))
    edge, start = np.nonzero((apart[1:] & ~apart[:-1]).T)
    end = np.nonzero((apart[:-1] & ~apart[1:]).T)[1]
    width = float(np.clip(25 / n, 0.1, 0.7))
    ax.hlines(heights[edge + 1], sides[start], sides[end], color="#5B6670", lw=width, rasterized=True)
    ax.set(ylabel="tokens, by weight", ylim=(0, heights[-1]))
    bar = ax.figure.colorbar(image, ax=ax, aspect=18, pad=0.02)
    bar.set_label("mass of the cluster")
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
