"""The figures of `staircases`."""

from typing import Any

from ... import Results


def staircases_of_w32(results: Results) -> Any:
    """The energy of 32 tokens on the circle against the logarithm of time. Dashed: sums of squared masses of the
    clusters, one height for each plateau. The larger β, the more plateaus and the longer.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(8.6, 3.6)
        for axes, kind in zip(figure.subplots(1, 2, sharey=True), ("SA", "shifted USA"), strict=True):
            chosen = list(results.where(data="W32", kind=kind))
            heights = np.unique(np.round(np.concatenate([np.asarray(data["plateau"]) for _, data in chosen]), 9))
            for height in heights:
                axes.axhline(height, color="#B8BEC4", lw=0.8, ls=(0, (4, 3)), zorder=1)
            for (cell, data), colour in zip(chosen, colours(len(chosen)), strict=True):
                axes.plot(_decades(data), data["energy"], color=colour, label=rf"$\beta = {cell['beta']:g}$")
            axes.set(xlabel=rf"$\log_{{10}}\,t$ ({kind})", ylim=(0, 1.05), xlim=(-1, None), title=kind)
            axes.legend(loc="upper center", bbox_to_anchor=(0.72, 0.95))
        figure.axes[0].set_ylabel(r"energy $\widehat{E}$")
    return figure


def energy_approaches_steps(results: Results) -> Any:
    """Five tokens of the paper's figure at growing β, in three clocks: log t over β, the length of the path over log β
    (that of the figure), the time of the proof. Dashed: the heights 0.2, 0.28, 0.44, 0.52, 1. The steps steepen as β
    grows.
    """
    import numpy as np

    from attnflow import plot

    clocks = {
        r"$\log(t)\,/\,\beta$": None,
        r"length of the path $/\log\beta$": "arclength",
        r"time of the proof": "paper",
    }
    with plot.style():
        figure = plot.new_figure(9.6, 5.6)
        grid = figure.subplots(2, 3, sharey=True)
        for row, kind in zip(grid, ("shifted USA", "SA"), strict=True):
            chosen = list(results.where(data="figure", kind=kind))
            for axes, (label, clock) in zip(row, clocks.items(), strict=True):
                for height in (0.2, 0.28, 0.44, 0.52, 1.0):
                    axes.axhline(height, color="#B8BEC4", lw=0.8, ls=(0, (4, 3)), zorder=1)
                for (cell, data), colour in zip(chosen, colours(len(chosen)), strict=True):
                    tau = np.asarray(data["log_time"]) / cell["beta"] if clock is None else np.asarray(data[clock])
                    axes.plot(tau, data["energy"], color=colour, lw=1.3, label=rf"$\beta = {cell['beta']:g}$")
                axes.set(ylim=(0, 1.05), xlim=(0, None))
                if kind == "SA":
                    axes.set_xlabel(label)
            row[0].set_ylabel(rf"$\widehat{{E}}$, {kind}")
        grid[0, 0].legend(loc="upper center", fontsize=8, bbox_to_anchor=(0.45, 0.97))
    return figure


def saddle_to_saddle(results: Results) -> Any:
    """The angles of 32 tokens on the circle against the logarithm of time, SA at two β. A dot is a merge, its area the
    mass of the new cluster: the flow goes from one configuration of clusters to the next and waits there.
    """
    from attnflow import plot

    runs = list(results.where(data="W32", kind="SA").runs())
    runs = runs[1::2] or runs  # a moderate β and a large one
    with plot.style():
        figure = plot.new_figure(4.6 * len(runs), 4.0)
        for axes, (cell, run) in zip(figure.subplots(1, len(runs), sharey=True, squeeze=False)[0], runs, strict=True):
            plot.merges(run, ax=axes)
            axes.set_title(rf"$\beta = {cell['beta']:g}$")
        for axes in figure.axes[1:]:
            axes.set_ylabel("")
    return figure


def tree_on_the_sphere(results: Results) -> Any:
    """The tree of merges: 24 tokens on the sphere, SA at the largest β. The width of a branch grows with its mass."""
    from attnflow import plot

    *_, (_, run) = results.where(data="S2").runs()
    return plot.merges(run, view="tree")


def colours(count: int) -> list[Any]:
    """From dark to light, safe for colour-blind readers; not so light that a line vanishes."""
    import matplotlib as mpl
    import numpy as np

    return list(mpl.colormaps["viridis"](np.linspace(0, 0.85, count)))


def _decades(data: Any) -> Any:
    import numpy as np

    return np.asarray(data["log_time"]) / np.log(10)
