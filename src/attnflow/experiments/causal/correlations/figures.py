"""The figures of `correlations`."""

from typing import Any

from ... import Results
from .claims import BIAS, bias_of


def two_times_and_equal_times(results: Results) -> Any:
    """β = λ = t = 1, mode 1. The correlation of the last token at depth t with the initial position of a source
    (two times), and with the position of that source at depth t (equal times). Rings: matrix forms of 500 tokens.
    """
    from attnflow import plot

    data = results.select(part="closed form")
    with plot.style():
        figure = plot.new_figure(5.6, 3.8)
        ax = figure.subplots()
        for name, curve, colour, label in (
            ("equal_time", "h", "vermillion", "equal times: both tokens at depth $t$"),
            ("two_time", "g", "blue", "two times: the source at depth 0"),
        ):
            ax.plot(data["s"], data[curve], color=plot.PALETTE[colour], label=label)
            points = results.select(part="matrix", n=500)[name]
            ax.plot(points["source"], points, "o", ms=8, mew=1.4, mfc="white", color=plot.PALETTE[colour])
        ax.plot([], [], "o", ms=8, mew=1.4, color="#555555", mfc="white", label="matrix form, $N = 500$")
        ax.set(xlabel=r"source position $\sigma_0$ (0: first token, 1: last)", ylabel="$N$ times the correlation")
        ax.set(xlim=(0, 1), ylim=(0.5, 2.6))
        ax.grid()
        ax.legend(loc="upper right")
    return figure


def finite_bias(results: Results) -> Any:
    """Simulation less the matrix form, mode 1, averaged over all sources, with two standard errors, against the number
    of tokens. Dashed: −1.2/N.
    """
    import numpy as np

    from attnflow import plot

    sizes = [n for n in BIAS if results.scale == "full" or n != 32]
    n, (bias, error) = np.array(sizes, float), np.transpose([bias_of(results, n) for n in sizes])
    with plot.style():
        figure = plot.new_figure(4.8, 3.4)
        ax = figure.subplots()
        ax.axhline(0, color="#8A949E", lw=0.8)
        dense = np.geomspace(12, 360, 100)
        ax.plot(dense, -1.2 / dense, ls=(0, (4, 3)), color="#8A949E", label="$-1.2/N$")
        ax.errorbar(
            n, bias, 2 * error, fmt="o", ms=5, capsize=3, color=plot.PALETTE["blue"],
            label="simulation less matrix form,\ntwo standard errors",
        )  # fmt: skip
        ax.set_xscale("log")
        ax.set_xticks(n, [f"{k:g}" for k in n])
        ax.minorticks_off()
        ax.set(xlabel="tokens $N$", ylabel="bias, mode 1")
        ax.grid()
        ax.legend(loc="lower right")
    return figure
