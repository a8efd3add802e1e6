"""The figures of `two_tokens`."""

from typing import Any

from ... import Results
from .claims import ENDS, antipodal, collapse


def paths_to_two_ends(results: Results) -> Any:
    """Forty-eight paths of q = ⟨x₁, x₂⟩ from orthogonal tokens under random layers, β = 2, in dimension 2 (left) and 6
    (right), against limit time. Colours show where a path is at time 16 and 48. In the plane about half of the pairs
    become opposite; in dimension 6 all collapse, some after a visit to the other side.
    """
    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(9.0, 3.3)
        for axes, d in zip(figure.subplots(1, 2, sharey=True), (2, 6), strict=True):
            data = results.select(part="paths", d=d)
            t = data["time"].values
            for q in data["q"].values:
                end = "blue" if q[-1] > 0.95 else "vermillion" if q[-1] < -0.95 else "black"
                axes.plot(t, q, color=plot.PALETTE[end], lw=0.7, alpha=0.6)
            for end, label in (
                ("blue", "ends near $1$"),
                ("vermillion", "ends near $-1$"),
                ("black", "in between"),
            ):
                axes.plot([], [], color=plot.PALETTE[end], label=label)
            axes.set(xlabel="limit time $t$", title=f"$d = {d}$", xlim=(0, 16), ylim=(-1.05, 1.05))
        figure.axes[0].set_ylabel(r"$q = \langle x_1, x_2\rangle$")
        figure.axes[1].legend(loc="lower right", framealpha=0.9, frameon=True)
    return figure


def exponents(results: Results) -> Any:
    """Rates of log(1 - q) from nearly equal tokens and of log(1 + q) from nearly opposite ones, β = 2, against the
    dimension; bars of two standard errors are smaller than the points. Lines: the exponents in closed form. Below zero
    the end attracts: opposite tokens do so in dimensions 2 and 3 only.
    """
    import numpy as np

    from attnflow import plot

    d = np.linspace(2, 6.4, 200)
    with plot.style():
        figure = plot.new_figure(5.2, 3.5)
        axes = figure.subplots()
        for side, formula, colour, marker, label in (
            (1, collapse, "blue", "o", r"$\log(1-q)$, $-(d-1)/d$"),
            (-1, antipodal, "vermillion", "s", r"$\log(1+q)$, $\Lambda_-$"),
        ):
            axes.plot(d, formula(d), color=plot.PALETTE[colour], lw=1)
            for k, dimension in enumerate(d_ for d_ in ENDS if len(results.where(part="exponents", d=d_))):
                data = results.select(part="exponents", d=dimension, side=side)
                axes.errorbar(
                    dimension,
                    float(data["rate"]),
                    2 * float(data["stderr"]),
                    fmt=marker,
                    color=plot.PALETTE[colour],
                    label=label if k == 0 else None,
                )
        axes.axhline(0, color=plot.PALETTE["black"], lw=0.8, ls=":")
        axes.set(xlabel="dimension $d$", ylabel="rate per limit time", xticks=[2, 3, 4, 5, 6])
        axes.legend(loc="lower right")
        axes.grid()
    return figure
