"""The figure of `switching`."""

from typing import Any

from ... import Results
from .claims import PIECES, errors, in_turn


def errors_of_switching(results: Results) -> Any:
    """Errors against the number of pieces: one random neuron at a time (circles; dots are single draws), with the
    fluctuation that is predicted (line, slope −1/2), and all neurons in turn (squares). A field of 64 neurons in each
    of 16 parts of the time.
    """
    import numpy as np

    from attnflow import plot

    n = np.array(PIECES)
    with plot.style():
        figure = plot.new_figure(5.4, 3.8)
        axes = figure.subplots()
        for cell, data in results.where(part="random"):
            single = np.sqrt(data["square"].values)
            axes.loglog(np.full(len(single), cell["pieces"]), single, ".", ms=3, color="#B8BEC4", zorder=1)
        axes.loglog(n, errors(results), "o", ms=6, color=plot.PALETTE["blue"], label="random switching")
        predicted = float(results.select(part="field")["fluctuation"])
        axes.loglog(n, predicted / np.sqrt(n), color=plot.PALETTE["blue"], lw=1.2, label="predicted")
        axes.loglog(n, in_turn(results), "s-", ms=5, lw=1.0, color=plot.PALETTE["vermillion"], label="neurons in turn")
        axes.set_xticks(n, [str(k) for k in n])
        axes.set_xticks([], minor=True)
        axes.set(xlabel="pieces", ylabel="RMS error")
        axes.grid()
        axes.legend()
    return figure
