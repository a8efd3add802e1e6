"""Which tokens attend to which at one time: the attention matrix, and the attention that tokens receive."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..checks import flag
from ._data import Frames, index, read
from ._style import FAINT, HEAT, PALETTE, axes_for, style

LISTED = 24  # so many bars are readable


def attention(
    run: Any, *, at: int = -1, head: int | None = None, by_cluster: bool | None = None, ax: Axes | None = None
) -> Figure:
    """Draw the attention matrix at the saved time of index `at`: row by row what each token reads.

    With `by_cluster` tokens are put in order of their clusters, numbered by mass, so that clusters are blocks; without,
    they stand in their own order. By default only causal models keep theirs. `head` chooses one of a multi-head map.
    """
    from ..diagnostics import attention_matrix, clusters

    frames = read(run)
    at = index(at, frames)
    matrix = np.asarray(attention_matrix(run, at=at, head=head), float)
    by_cluster = not run.model.pairs.ordered if by_cluster is None else flag("by_cluster", by_cluster)
    groups = clusters(run, at=at) if by_cluster else None
    order = np.arange(frames.n) if groups is None else np.argsort(groups.labels, kind="stable")
    with style():
        ax = axes_for(ax, 4.7, 3.9)
        low, high = min(0.0, matrix.min()), matrix.max()
        image = ax.imshow(
            matrix[np.ix_(order, order)], cmap=HEAT, vmin=low, vmax=high, interpolation="nearest", origin="upper"
        )
        where = "" if groups is None else ", by cluster"
        ax.set(xlabel=f"key token{where}", ylabel=f"query token{where}", title=_caption(frames, at, head))
        if groups is None:
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_locator(MaxNLocator(6, integer=True))
        else:
            _blocks(ax, groups.sizes)
        ax.tick_params(length=2.5)
        for spine in ax.spines.values():
            spine.set_visible(False)
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, aspect=24, pad=0.03)
        bar.set_label("attention $A_{ij}$")
        bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    return ax.get_figure(root=True)  # pyright: ignore[reportReturnType]


def _blocks(ax: Axes, sizes: np.ndarray) -> None:
    """Lines between the clusters and their numbers beside them, if the blocks are distinct."""
    ends = np.cumsum(sizes)
    if len(sizes) > ends[-1] / 2:
        ax.set(xticks=(), yticks=())
        return
    for edge in ends[:-1]:
        ax.axhline(edge - 0.5, color=FAINT, lw=0.6)
        ax.axvline(edge - 0.5, color=FAINT, lw=0.6)
    wide = [k for k, size in enumerate(sizes) if size > 0.04 * ends[-1]]
    middles, names = [ends[k] - sizes[k] / 2 - 0.5 for k in wide], [str(k) for k in wide]
    ax.set_xticks(middles, names)
    ax.set_yticks(middles, names)


def leaders(run: Any, *, at: int = -1, head: int | None = None, ax: Axes | None = None) -> Figure:
    """Draw the attention that tokens receive at the saved time of index `at`, the most first.

    Dark bars are tokens that some other token attends to most; the line across a bar is the token's own weight, what it
    would receive if attention were uniform.
    """
    from ..diagnostics import leaders as measure

    frames = read(run)
    at = index(at, frames)
    measured = measure(run, at=at, head=head)
    received, follows = np.asarray(measured.received, float), np.asarray(measured.follows)
    followed = np.isin(np.arange(frames.n), follows[follows != np.arange(frames.n)])
    shown = np.argsort(-received, kind="stable")[:LISTED]
    with style():
        ax = axes_for(ax, 5.6, 3.2)
        place = np.arange(len(shown))
        for some, colour, label in (
            (followed[shown], PALETTE["blue"], "attended to most by others"),
            (~followed[shown], PALETTE["sky"], "by none, or itself"),
        ):
            if some.any():
                ax.bar(place[some], received[shown][some], color=colour, width=0.8, label=label)
        ax.hlines(
            frames.weights[shown], place - 0.4, place + 0.4, color=PALETTE["vermillion"], lw=1.4, label="own weight"
        )
        ax.set_xticks(place, [str(j) for j in shown], fontsize=9 if len(shown) <= 16 else 7.5)
        rest = f" ({len(shown)} of {frames.n})" if frames.n > len(shown) else ""
        ax.set(xlabel=f"token{rest}", ylabel=r"attention received $\sum_i w_i A_{ij}$")
        ax.set_title(_caption(frames, at, head))
        ax.set_ylim(min(0.0, 1.05 * received.min()), 1.18 * max(received.max(), frames.weights.max()))
        ax.legend(loc="upper right", ncols=3, columnspacing=1.0, handlelength=1.2)
        ax.grid(axis="y")
    return ax.get_figure(root=True)  # pyright: ignore[reportReturnType]


def _caption(frames: Frames, at: int, head: int | None) -> str:
    return frames.caption(at) + ("" if head is None else f", head {head}")
