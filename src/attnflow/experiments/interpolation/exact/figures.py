"""The figures of `exact`."""

from typing import Any

from ... import Results
from .claims import MODES, TABLE

NAMES = ("blue", "vermillion", "green")
TITLES = {
    "input": "(a) inputs",
    "projection": "(b) projection",
    "separation": "(c) after the rounds",
    "selection": "(d) selection",
    "collapse": "(e) collapse",
    "placement": "(f) placement",
}


def states_after_each_step(results: Results) -> Any:
    """Three sequences of nine tokens in the plane, of which the network makes three points, one and two. (a) Inputs.
    (b) They are projected on a line, where they overlap; (c) rounds of attention move them to intervals of their own;
    (d) the largest token of each stays on the line, chosen others go to a circle (the last one is marked, x₂ > 0, and
    follows); (e) attention collapses every sequence; (f) neurons place the points, rings are the desired outputs.
    """
    import numpy as np

    from attnflow import plot

    data = results.select(part="states")["x"]
    with plot.style():
        figure = plot.new_figure(9.2, 5.4)
        for axes, (step, title) in zip(figure.subplots(2, 3).ravel(), TITLES.items(), strict=True):
            x = data.sel(step=step).values
            line = step in ("projection", "separation")
            for j, (colour, marker) in enumerate(zip(NAMES, "osD", strict=True)):
                height = np.full(x.shape[1], j + 1) if line else x[j, :, 1]
                style = {"color": plot.PALETTE[colour], "ms": 5, "alpha": 0.85, "mec": "white", "mew": 0.5}
                axes.plot(x[j, :, 0], height, marker, label=f"sequence {j + 1}", **style)
            if step in ("selection", "collapse"):
                radius = x[..., 0].max()
                angle = np.linspace(np.pi, 1.5 * np.pi, 100)
                axes.plot(radius * np.cos(angle), radius * np.sin(angle), color="#B8BEC4", lw=1.0, zorder=0)
            if step == "placement":
                wanted = results.select(part="states")["wanted"].values
                axes.plot(*wanted.T, "o", ms=11, mfc="none", mec="#333333", mew=1.0, zorder=0)
                axes.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2))
            axes.set(title=title, xlabel="position $a$" if line else "$x_1$", ylabel="sequence" if line else "$x_2$")
            if line:
                axes.set(yticks=[1, 2, 3], ylim=(0.4, 3.6))
            if step != "input" and not line:
                axes.axhline(0, color="#E4E7EA", lw=0.8, zorder=0)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def blocks_against_the_bound(results: Results) -> Any:
    """Blocks of the networks built, against the published number 2M + 2N + 1 (line), every row of the table. The
    lengths of the sequences, up to 1000 tokens, do not matter.
    """
    import numpy as np

    from attnflow import plot

    marks = {"code": ("o", "blue", "one block of codes"), "rounds": ("s", "vermillion", "rounds")}
    with plot.style():
        figure = plot.new_figure(4.8, 3.8)
        axes = figure.subplots()
        for mode in MODES:
            rows = [(TABLE[c["row"]].bound, float(d["blocks"])) for c, d in results.where(part="table", mode=mode)]
            marker, colour, label = marks[mode]
            axes.loglog(*np.array(rows).T, marker, color=plot.PALETTE[colour], label=label, mec="white", mew=0.6)
        ends = np.array([min(row.bound for row in TABLE.values()), max(row.bound for row in TABLE.values())])
        axes.loglog(ends, ends, color="#333333", lw=1.1, label="$L = 2M + 2N + 1$")
        axes.set(xlabel="published number of blocks, $2M + 2N + 1$", ylabel="blocks $L$ of the network")
        axes.grid()
        axes.legend()
    return figure


def softmax_against_hardmax(results: Results) -> Any:
    """The error of the same blocks with softmax attention, against β: six sequences of eight tokens, nine outputs. It
    drops to rounding error as soon as errors of attention stay within the plateaus of the last blocks.
    Dotted: the β that suffices by the margins of the network.
    """
    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(5.4, 3.6)
        axes = figure.subplots()
        for mode, colour, marker in zip(MODES, ("blue", "vermillion"), "os", strict=True):
            data = results.select(part="softmax", mode=mode)
            label = {"code": "codes", "rounds": "rounds"}[mode]
            axes.loglog(
                data["beta"], data["error"], f"{marker}-", ms=3, color=plot.PALETTE[colour], lw=1.1, label=label
            )
            axes.axvline(float(data["sufficient"]), color=plot.PALETTE[colour], ls=":", lw=1.3)
        axes.axvline(1e-9, color="#8A949E", ls=":", lw=1.3, label="sufficient by the margins")
        axes.set(xlim=(0.04, 500), ylim=(1e-17, 30))
        axes.set(xlabel=r"inverse temperature $\beta$", ylabel="largest error / largest output")
        axes.grid()
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure
