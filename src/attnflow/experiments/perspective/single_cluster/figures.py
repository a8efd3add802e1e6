"""The figures of `single_cluster`."""

from typing import Any

from ... import Results


def cones(results: Results) -> Any:
    """Tokens in a hemisphere do not approach its rim: the least of ⟨xᵢ(t), v⟩, one line for each draw, never
    falls; the lighter a line, the nearer to the rim its tokens start. Left: 8 tokens in dimension 8, where independent
    tokens always have such a v. Right: 32 tokens drawn in a hemisphere of S², where clusters merge one after the other.
    """
    from attnflow import plot
    from attnflow.plot import TIME

    names = {"independent": "$n = d = 8$", "hemisphere": "$n = 32$, $d = 3$"}
    with plot.style():
        figure = plot.new_figure(9.2, 3.6)
        for axes, (start, name) in zip(figure.subplots(1, 2, sharey=True), names.items(), strict=True):
            ((cell, data),) = results.where(part="cone", start=start)
            order = data["least"].isel(time=0).argsort().values
            shown = order[:: max(1, len(order) // 32)]
            colours = TIME([0.25 + 0.75 * k / len(shown) for k in range(len(shown))])
            for draw, colour in zip(shown, colours, strict=True):
                axes.plot(data["time"], data["least"].isel(draw=int(draw)), color=colour, lw=1.0)
            axes.set(title=rf"{name}, $\beta = {cell['beta']:g}$", xlabel="time $t$", xlim=(0, 15), ylim=(0, 1.02))
            axes.grid()
        figure.axes[0].set_ylabel(r"$\min_i\,\langle x_i(t), v\rangle$")
    return figure


def late_rates(results: Results) -> Any:
    """The spread of 8 uniform tokens in dimension 8, one line for each draw, and the slopes that the theory gives near
    consensus (dashed): e⁻ᵗ with softmax attention, left, and e to the power −e^β t without the denominator, right.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(9.2, 3.6)
        colours = {"SA": plot.PALETTE["blue"], "USA": plot.PALETTE["vermillion"]}
        laws = {"SA": "$e^{-t}$", "USA": r"$e^{-e^\beta t}$"}
        for axes, kind in zip(figure.subplots(1, 2, sharey=True), laws, strict=True):
            ((cell, data),) = results.where(part="rate", kind=kind)
            rate = 1.0 if kind == "SA" else float(np.exp(cell["beta"]))
            spread, ts = data["spread"].values, data["time"].values
            for line in spread[:32]:
                axes.plot(ts, line, color=colours[kind], lw=0.8, alpha=0.45)
            start = 2.0 / rate
            ahead = ts[(ts >= start) & (ts <= start + 19 / rate)]
            axes.plot(ahead, 300 * np.exp(-rate * (ahead - start)), color="black", lw=1.6, ls="--", label=laws[kind])
            axes.set_yscale("log")
            axes.set(title=rf"{kind}, $\beta = {cell['beta']:g}$", xlabel="time $t$")
            axes.set(xlim=(0, 25 / rate), ylim=(1e-9, 1e3))
            axes.grid()
            axes.legend(loc="upper right")
        figure.axes[0].set_ylabel(r"spread $(\sum_i |x_i - \bar x|^2)^{1/2}$")
    return figure
