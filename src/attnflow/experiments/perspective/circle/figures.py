"""The figures of `circle`."""

from typing import Any

from ... import Results
from .claims import REFERENCE


def snapshots(results: Results) -> Any:
    """The same 32 uniform tokens at three times, above at β = 4 and below at β = 9. The area of a disc is the number of
    tokens there. The draw was chosen for the most frequent numbers of clusters, two and three.
    """
    import numpy as np

    from attnflow import plot

    data = results.select(part="snapshots")
    times = [float(t) for t in data["time"].values if t > 0]
    with plot.style():
        figure = plot.new_figure(2.3 * len(times) + 0.6, 2.45 * data.sizes["beta"])
        grid = figure.subplots(data.sizes["beta"], len(times), squeeze=False)
        turn = np.linspace(0, 2 * np.pi, 361)
        for row, beta in zip(grid, data["beta"].values, strict=True):
            for axes, t in zip(row, times, strict=True):
                places, tokens = _together(data["x"].sel(beta=beta, time=t).values)
                axes.plot(np.cos(turn), np.sin(turn), color="#9AA5B0", lw=1, zorder=1)
                disc = {"color": plot.PALETTE["blue"], "alpha": 0.85, "edgecolor": "white", "lw": 0.6, "zorder": 2}
                axes.scatter(*places.T, s=14 * tokens, **disc)
                axes.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal")
                axes.set_axis_off()
            name = {"ha": "right", "va": "center", "size": 12, "transform": row[0].transAxes}
            row[0].text(-0.08, 0.5, rf"$\beta = {beta:g}$", **name)
        for axes, t in zip(grid[0], times, strict=True):
            axes.set_title(f"$t = {t:g}$")
    return figure


def _together(x: Any) -> tuple[Any, Any]:
    """Groups of tokens closer than 0.01 to their neighbours: mean positions and numbers of tokens."""
    import numpy as np

    order = np.argsort(np.arctan2(x[:, 1], x[:, 0]))
    x = x[order]
    apart = np.linalg.norm(x - np.roll(x, 1, axis=0), axis=1) > 1e-2
    if not apart.any():
        return x.mean(axis=0, keepdims=True), np.array([len(x)])
    group = (np.cumsum(apart) - 1) % int(apart.sum())  # tokens before the first gap belong to the last group
    tokens = np.bincount(group)
    return np.stack([np.bincount(group, c) / tokens for c in x.T], axis=1), tokens


def number_of_clusters(results: Results) -> Any:
    """How many clusters 32 uniform tokens on the circle have formed: fraction of the draws, with two binomial standard
    errors on each side. White circles are an independent computation, with two standard errors as well.
    """
    import numpy as np

    from attnflow import plot

    draws = results.select(part="counts")["draws"]
    colours = (plot.PALETTE["sky"], plot.PALETTE["blue"])
    with plot.style():
        figure = plot.new_figure(8.4, 3.5)
        panels = figure.subplots(1, draws.sizes["beta"], sharey=True, squeeze=False)[0]
        for axes, beta in zip(panels, draws["beta"].values, strict=True):
            for place, t, colour in zip((-0.2, 0.2), draws["time"].values, colours, strict=True):
                counts = draws.sel(beta=beta, time=t)
                total, clusters = int(counts.sum()), counts["clusters"].values[:5]
                law, size = REFERENCE.get((float(beta), float(t)), ({}, 1))
                p, q = counts.values[:5] / total, np.array([law.get(int(k), 0.0) for k in clusters])
                bar = {"color": colour, "label": f"$t = {t:g}$", "ecolor": plot.PALETTE["black"], "capsize": 3}
                axes.bar(clusters + place - 0.06, p, 0.36, yerr=_two_errors(p, total), **bar)
                mark = {"fmt": "o", "mfc": "white", "ms": 4, "lw": 1.2, "color": plot.PALETTE["vermillion"]}
                there, error = q > 0, _two_errors(q[q > 0], size)
                name = "reference" if t == draws["time"][-1] else None
                axes.errorbar(clusters[there] + place + 0.06, q[there], yerr=error, label=name, clip_on=False, **mark)
            axes.set(title=rf"$\beta = {beta:g}$", xlabel="number of clusters", xticks=range(1, 6), ylim=(0, 1.0))
            axes.grid(axis="y")
        figure.axes[0].set_ylabel("fraction of draws")
        figure.axes[0].legend(loc="upper right")
    return figure


def _two_errors(p: Any, draws: int) -> Any:
    """Two binomial standard errors, not below zero."""
    import numpy as np

    error = 2 * np.sqrt(p * (1 - p) / draws)
    return np.stack([np.minimum(error, p), error])
