"""The figures of `gaussian`."""

from typing import Any

from ... import Results
from .claims import mean


def density_and_modes(results: Results) -> Any:
    """The density estimate of one draw, n = 10,000 and β = 100, with its modes; above the density, below its logarithm,
    which shows the modes of the tails. Shaded: the belt in which the theorem expects them.
    """
    import numpy as np

    from attnflow import plot

    data = results.select(part="picture")
    t, log_density = data["t"].values, data["log_density"].values
    here, height = data["location"].values[0], data["log_height"].values
    with plot.style():
        figure = plot.new_figure(7.0, 4.6)
        for axes, logarithmic in zip(figure.subplots(2, 1, sharex=True), (False, True), strict=True):
            _shade(axes, data["belt"].values)
            y, peak = (log_density, height) if logarithmic else (np.exp(log_density), np.exp(height))
            if logarithmic:
                y, peak = y / np.log(10), peak / np.log(10)
            axes.plot(t, y, color=plot.PALETTE["blue"], lw=1.2, label="density estimate")
            mark = {"ls": "none", "marker": "v", "ms": 5, "color": plot.PALETTE["vermillion"]}
            axes.plot(here, peak, label="modes", clip_on=False, **mark)
            axes.set(ylabel=r"$\log_{10}$ density" if logarithmic else "density")
        figure.axes[1].set(xlabel="$t$", xlim=(-5, 5), ylim=(-8, 0))
        figure.axes[0].set_ylim(0, None)
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def where_modes_are(results: Results) -> Any:
    """The positions of the modes of 80 draws, n = 10,000 and β = 100: modes per draw and unit length, and the formula
    of Kac and Rice, which is dashed where it does not hold, past the belt. The peak in the middle is the one mode of
    the bulk.
    """
    import numpy as np

    from attnflow import plot

    data = results.select(part="picture")
    places = data["location"].values
    edges = np.linspace(-5, 5, 81)
    counts, _ = np.histogram(places[np.isfinite(places)], edges)
    t, formula, end = data["t"].values, data["kac_rice"].values, float(data["belt"][1])
    with plot.style():
        figure = plot.new_figure(7.0, 3.6)
        axes = figure.add_subplot()
        _shade(axes, data["belt"].values)
        bars = {"color": plot.PALETTE["sky"], "edgecolor": "white", "lw": 0.4}
        axes.stairs(counts / (np.diff(edges) * len(places)), edges, fill=True, label=f"{len(places)} draws", **bars)
        inside = np.abs(t) <= end
        axes.plot(t[inside], formula[inside], color=plot.PALETTE["vermillion"], label="Kac–Rice")
        for side in (t < -end, t > end):
            axes.plot(t[side], formula[side], color=plot.PALETTE["vermillion"], lw=1, ls=(0, (4, 3)))
        axes.set(xlabel="$t$", ylabel="modes per unit length", xlim=(-5, 5), ylim=(0, None))
        figure.legend(loc="outside upper center", ncols=3)
    return figure


def growth(results: Results) -> Any:
    """The mean number of modes of 10,000 tokens against β, in all and up to the end t₊ of the belt, with two standard
    errors (where they are wider than the mark); the formula of Kac and Rice up to t₊, and the leading order.
    """
    import numpy as np

    import attnflow as af
    from attnflow import plot

    betas = np.array(sorted(cell["beta"] for cell, _ in results.where(part="counts", n=10_000)))
    fine = np.geomspace(betas[0], betas[-1], 200)
    with plot.style():
        figure = plot.new_figure(5.6, 3.9)
        axes = figure.add_subplot()
        for variable, name, colour, marker in (
            ("modes", "all", "blue", "o"),
            ("inside", r"$|t| \leq t_+$", "sky", "s"),
        ):
            value, error = np.array([mean(results, variable, 10_000, b) for b in betas]).T
            mark = {"fmt": marker, "ms": 5, "color": plot.PALETTE[colour], "capsize": 3}
            axes.errorbar(betas, value, yerr=2 * error, label=f"counted, {name}", zorder=3, **mark)
        line = np.asarray(af.reductions.expected_modes_line(n=10_000, beta=fine))
        axes.plot(fine, line, color=plot.PALETTE["vermillion"], label=r"Kac–Rice, $|t| \leq t_+$")
        law = np.asarray(af.reductions.belt_modes(n=10_000, beta=fine))
        axes.plot(fine, law, color=plot.PALETTE["black"], lw=1.1, ls=(0, (4, 3)), label="leading order")
        axes.set(xscale="log", yscale="log", xlabel=r"$\beta$", ylabel="number of modes", ylim=(0.8, None))
        axes.grid()
        axes.legend(loc="upper left")
    return figure


def _shade(axes: Any, belt: Any) -> None:
    """The belt on both sides of zero."""
    low, high = belt
    for side, name in ((1, "belt"), (-1, None)):
        axes.axvspan(side * low, side * high, color="#EEF1F3", lw=0, zorder=0, label=name)
