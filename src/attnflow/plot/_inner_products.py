"""The law of inner products of pairs of tokens."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._data import index, read, whole_numbers
from ._style import PALETTE, TIME, axes_for, style


def inner_products(
    run: Any, *, at: int | Sequence[int] = -1, bins: int = 60, normalized: bool = False, ax: Axes | None = None
) -> Figure:
    """Draw the histogram of the inner products of different tokens at a saved time, or at several, late ones darker.

    `normalized=True` takes cosines.
    """
    from ..diagnostics import inner_products as measure

    frames = read(run)
    chosen = [index(i, frames) for i in (whole_numbers("at", at) if np.iterable(at) else [at])]
    rows = np.array(chosen)
    info = {name: (dims, run.info[name][rows]) for name, dims in run.info_dims.items() if dims[:1] == ("time",)}
    some = dataclasses.replace(run, ts=run.ts[rows], xs=run.xs[rows], labels=None, log_ts=None, info=info)
    law = measure(some, bins=bins, normalized=normalized)
    edges, density = np.asarray(law.edges), np.asarray(law.density)
    with style():
        ax = axes_for(ax, 4.8, 3.2)
        if len(chosen) == 1:
            ax.stairs(density[0], edges, fill=True, color=PALETTE["sky"], alpha=0.55)
            ax.stairs(density[0], edges, color=PALETTE["blue"], lw=1.1)
            ax.set_title(frames.caption(chosen[0]))
        else:
            for k, (i, row) in enumerate(zip(chosen, density, strict=True)):
                shade = TIME(0.15 + 0.85 * k / (len(chosen) - 1))
                ax.stairs(row, edges, color=shade, lw=1.4, label=f"$t = {frames.ts[i]:.4g}$")
            ax.legend()
        what = r"\langle x_i, x_j\rangle / |x_i||x_j|" if normalized else r"\langle x_i, x_j\rangle"
        ax.set(xlabel=f"${what}$, $i \\neq j$", ylabel="density", xlim=(edges[0], edges[-1]))
        ax.set_ylim(0, 1.06 * density.max() or 1.0)
        ax.grid()
    return ax.get_figure(root=True)  # pyright: ignore[reportReturnType]
