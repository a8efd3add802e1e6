"""The figures of `dynamics`."""

from typing import Any

from ... import Results
from .claims import SLOPES


def four_blocks(results: Results) -> Any:
    """Angles of 64 tokens against time, β = λ = 1: blocks of sixteen start around four angles, and every token sees
    only those before it. The first block contracts to its first token, which never moves; the other blocks follow
    earlier tokens, and all end at the first token (up to full turns).
    """
    import numpy as np

    from attnflow import plot

    data = results.select(part="blocks")
    t, angle, block = data["time"].values, data["angle"].values, data["block"].values
    # Every path starts in (0, 2π) and is not wrapped.
    angle = angle - 2 * np.pi * np.floor(angle[:1] / (2 * np.pi))
    with plot.style():
        figure = plot.new_figure(6.2, 3.8)
        axes = figure.subplots()
        for k, colour in enumerate(("vermillion", "orange", "green", "blue")):
            axes.plot(t, angle[:, block == k], color=plot.PALETTE[colour], lw=0.9, alpha=0.85)
            axes.plot([], [], color=plot.PALETTE[colour], label=f"tokens {16 * k} to {16 * k + 15}")
        low, high = angle.min(), angle.max()
        ticks = np.arange(np.floor(low / np.pi), np.ceil(high / np.pi) + 1)
        names = {0: "0", 1: r"$\pi$", -1: r"$-\pi$"}
        axes.set_yticks(ticks * np.pi, [names.get(int(k), rf"${int(k)}\pi$") for k in ticks])
        axes.set(
            xlabel=r"$t$ ($\beta$-USA)", ylabel="angle of the token", xlim=(0, t[-1]), ylim=(low - 0.3, high + 0.3)
        )
        axes.grid(axis="y")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


def weights_of_the_past(results: Results) -> Any:
    """Positional weights: how a token shares its attention among those before it. Left: the matrix w of 40 tokens for
    λ = 0, 1, 4; rows sum to one. Right: N times the last row of 1000 tokens, and its continuum limit, dashed.
    """
    import numpy as np
    from matplotlib.colors import LogNorm

    from attnflow import plot

    data = results.select(part="weights")
    colours = ("blue", "vermillion", "green")
    with plot.style():
        figure = plot.new_figure(9.6, 2.9)
        *panels, right = figure.subplots(1, 4, width_ratios=(1, 1, 1, 1.5))
        scale: Any = {"norm": LogNorm(5e-3, 1), "cmap": "viridis", "interpolation": "nearest"}
        for axes, slope in zip(panels, SLOPES, strict=True):
            w = data["small"].sel(slope=slope).values
            axes.imshow(np.where(w > 0, w, np.nan), **scale)
            axes.set(xlabel="key $k$", title=rf"$\lambda = {slope:g}$", xticks=(0, 20, 39), yticks=(0, 20, 39))
        panels[0].set_ylabel("query $j$")
        figure.colorbar(panels[0].images[0], ax=panels, shrink=0.85, label="$w_{jk}$", extend="min")
        for slope, colour in zip(SLOPES, colours, strict=True):
            row = data.sel(slope=slope)
            right.plot(row["r"], row["last"], color=plot.PALETTE[colour], label=rf"$\lambda = {slope:g}$")
            right.plot(row["r"], row["limit"], color="#333333", ls=(0, (4, 4)), lw=0.9)
        right.set(xlabel="position $r$ of the key", ylabel=r"$N\,w$ of the last token", xlim=(0, 1), ylim=(0, None))
        right.legend(loc="upper left")
        right.grid()
    return figure
