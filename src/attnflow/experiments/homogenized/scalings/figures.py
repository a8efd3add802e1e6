"""The figures of `scalings`."""

from typing import Any

from ... import Results
from .claims import DEPTHS, LAW, SETTINGS


def depth_and_heads(results: Results) -> Any:
    """Mean (left) and standard deviation (right) of q at time 1 from orthogonal tokens, d = 4, β = 1, for stacks of L
    layers of H heads with η² = H/L, and for the limit by its own steps. Bars are two standard errors; the line is the
    law of the limit. Depth and heads enter through Lη²/H alone.
    """
    from attnflow import plot

    rows = [
        (rf"$L={L}$" + "\n" + rf"$H={H}$", {"part": "layers", "v": 0.0, "layers": L, "heads": H})
        for L, H in DEPTHS
        if len(results.where(part="layers", beta=1.0, layers=L, heads=H))
    ]
    rows.append(("the\nlimit", {"part": "limit"}))
    with plot.style():
        figure = plot.new_figure(8.4, 3.2)
        for axes, name, label, expected in zip(
            figure.subplots(1, 2), ("mean", "sd"), ("mean of $q$", "standard deviation of $q$"), LAW[1.0], strict=True
        ):
            axes.axhline(expected, color=plot.PALETTE["vermillion"], label="law of the limit")
            for k, (_, params) in enumerate(rows):
                data = results.select(beta=1.0, **params)
                axes.errorbar(
                    k,
                    float(data[name]),
                    2 * float(data[f"{name}_stderr"]),
                    fmt="o",
                    capsize=4,
                    color=plot.PALETTE["blue"],
                )
            axes.set_xticks(range(len(rows)), [text for text, _ in rows])
            axes.set(ylabel=label, ylim=(expected - 0.05, expected + 0.05))
            axes.legend(loc="upper right")
            axes.grid(axis="y")
    return figure


def deviation_from_the_average(results: Results) -> Any:
    """Root mean square distance of four tokens on the sphere from the averaged flow at time 1, β = 2, V = I + noise,
    for one fixed start, against η/H. The line has slope 1/2: the law of large numbers over layers and heads.
    """
    import numpy as np

    from attnflow import plot

    data = results.select(part="deterministic")
    unit, deviation = data["unit"].values, data["deviation"].values
    with plot.style():
        figure = plot.new_figure(4.9, 3.4)
        axes = figure.subplots()
        line = np.geomspace(0.8 * unit.min(), 1.25 * unit.max(), 2)
        mean = np.mean(deviation / unit)
        axes.loglog(line**2, mean * line, color=plot.PALETTE["black"], lw=1, label=rf"${mean:.2f}\,\sqrt{{\eta/H}}$")
        for heads, colour, marker in ((1, "blue", "o"), (4, "vermillion", "s")):
            here = [k for k, (_, H) in enumerate(SETTINGS) if H == heads]
            axes.errorbar(
                unit[here] ** 2,
                deviation[here],
                2 * data["stderr"].values[here],
                fmt=marker,
                color=plot.PALETTE[colour],
                label=f"$H = {heads}$",
            )
        axes.set(xlabel=r"$\eta/H$", ylabel="rms distance from the averaged flow")
        axes.legend()
        axes.grid()
    return figure


def two_readings_of_the_noise(results: Results) -> Any:
    """The mean of q from -0.9, d = 4, β = 1. Lines: the backward equation with the noise interpreted by Itô, and by
    Stratonovich, which adds a drift because the covariance depends on the tokens. Points, with two standard errors:
    random layers and Euler's scheme follow the first, Heun's scheme the second.
    """
    import numpy as np

    from attnflow import plot

    data = results.select(part="integrators", q0=-0.9)
    t = np.append(0, data["time"].values)
    with plot.style():
        figure = plot.new_figure(5.4, 3.4)
        axes = figure.subplots()
        for name, colour, label in (("ito", "blue", "Itô"), ("stratonovich", "vermillion", "Stratonovich")):
            axes.plot(t, np.append(-0.9, data[name].values), color=plot.PALETTE[colour], label=label)
        for shift, (name, marker, colour, label) in enumerate(
            (
                ("layers", "o", "blue", "random layers"),
                ("euler", "D", "sky", "Euler (diffrax)"),
                ("heun", "s", "vermillion", "Heun (diffrax)"),
            )
        ):
            axes.errorbar(
                t[-1] + 0.06 * (shift - 1),
                float(data[name]),
                2 * float(data[f"{name}_stderr"]),
                fmt=marker,
                ms=5,
                capsize=3,
                color=plot.PALETTE[colour],
                label=label,
            )
        axes.set(xlabel="limit time $t$", ylabel=r"mean of $q$", xlim=(0, t[-1] + 0.25))
        axes.legend(loc="upper left")
        axes.grid()
    return figure


def common_noise(results: Results) -> Any:
    """Sixty-four tokens on the sphere under random layers, β = 1, η = 0.1, at three times, with their paths in the
    last half unit of time. All tokens share the weights, so that neighbours move alike. They gather at one point
    or, since opposite tokens attract each other in three dimensions, at two opposite points.
    """
    import dataclasses

    import numpy as np

    from attnflow import plot

    run = results.run(part="sphere")
    t, end = np.asarray(run.ts), np.asarray(run.xs[-1, 0])
    camera = (20.0, float(np.degrees(np.arctan2(end[1], end[0]))) + 35)
    with plot.style():
        figure = plot.new_figure(9.4, 3.3)
        panels = figure.subplots(1, 3)
        for axes, until in zip(panels, (0.0, 2.0, 12.0), strict=True):
            here = (t >= until - 0.5 - 1e-9) & (t <= until + 1e-9)
            late = dataclasses.replace(run, ts=run.ts[here] - until, xs=run.xs[here], clock="from the time shown")
            plot.tokens(late, ax=axes, trails=until > 0, camera=camera)
            axes.set_title(f"$t = {until:g}$")
        for extra in set(figure.axes) - set(panels) - {figure.axes[-1]}:
            extra.remove()  # one scale of time is enough
    return figure
