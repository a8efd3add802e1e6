"""The figure of `shapes`."""

from typing import Any

from ... import Results

NAMES = {"rings": "two rings", "spiral": "a spiral", "board": "a chess board", "five": "dimension five"}


def shapes_and_copies(results: Results) -> Any:
    """New points of the shapes (above) and points of the schedules (below) that were built from 2000 samples, with 100
    switches for each dimension at most; of the law in dimension five the first two coordinates. KL is what the report
    estimates.
    """
    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(9.6, 5.2)
        panels = figure.subplots(2, len(NAMES))
        for (shape, name), column in zip(NAMES.items(), panels.T, strict=True):
            data = min((d for _, d in results.where(shape=shape)), key=lambda d: float(d["switches"]))
            for axes, variable, colour in zip(
                column, ("points", "copy"), ("#6B7580", plot.PALETTE["blue"]), strict=True
            ):
                axes.plot(*data[variable].values[:, :2].T, ".", ms=1.4, color=colour)
                reach = 5.5 if shape == "five" else 3.1
                axes.set(aspect="equal", xlim=(-reach, reach), ylim=(-reach, reach), xticks=[], yticks=[])
            column[0].set_title(name)
            column[1].set_title(f"{int(data['switches'])} switches, KL {float(data['kl']):.2f}", fontsize="small")
    return figure
