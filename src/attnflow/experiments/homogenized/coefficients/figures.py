"""The figures of `coefficients`."""

from typing import Any

from ... import Results


def antipodal_exponents(results: Results) -> Any:
    """The exponent of 1 + q for nearly opposite tokens, in units of the variance of an entry of V, against the inverse
    temperature. Below zero opposite tokens attract each other; that happens in dimensions 2 and 3. In dimension 4 the
    exponent stays positive, and comes as near to zero as 0.107 at β = 1.77.
    """
    from attnflow import plot

    data = results.select(part="exponents")
    colours = ("vermillion", "orange", "purple", "sky", "blue")
    with plot.style():
        figure = plot.new_figure(5.8, 3.8)
        axes = figure.subplots()
        for d, name in zip(data["d"].values, colours, strict=True):
            axes.plot(data["beta"], data["antipodal"].sel(d=d), color=plot.PALETTE[name], label=f"$d = {d}$")
        axes.axhline(0, color="#333333", lw=0.9)
        axes.plot(data["least_at"], data["least"], "o", ms=5, color=plot.PALETTE["purple"])
        axes.axhspan(-6, 0, color=plot.PALETTE["vermillion"], alpha=0.05, lw=0)
        axes.text(4.95, -5.6, "opposite tokens attract", ha="right", color="#555555", fontsize=9)
        axes.set(xlim=(0, 5), ylim=(-6, 8), xlabel=r"inverse temperature $\beta$")
        axes.set_ylabel(r"exponent $\Lambda_-/\sigma_V^2$ of $1 + q$")
        axes.grid()
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], labels[::-1], loc="upper left", ncols=2)
    return figure


def the_law_of_q(results: Results) -> Any:
    """The law of the inner product q of two tokens, initially orthogonal, in the coordinate artanh q (the ends ±1 are
    at ±∞). Left: dimension 3, β = 2, at four times; part of the mass goes to each end. Right: at T = 1 for two
    dimensions and temperatures; mean collapse is faster in high dimension, and low temperature spreads the law.
    """
    import numpy as np

    from attnflow import plot
    from attnflow.plot import TIME

    data = results.select(part="spreading")
    y = data["y"].values
    with plot.style():
        figure = plot.new_figure(9.2, 3.5)
        left, right = figure.subplots(1, 2)
        for k, time in enumerate(data["time"].values):
            shade = TIME((k + 0.6) / data.sizes["time"])
            left.plot(y, data["by_time"].sel(time=time), color=shade, label=f"$T = {time:g}$")
        left.set_title("$d = 3$, β = 2")
        for d, name in ((4, "vermillion"), (16, "blue")):
            for beta, dashes in ((0.0, "-"), (3.0, (0, (4, 2)))):
                curve = data["by_case"].sel(dimension=d, beta=beta)
                right.plot(y, curve, color=plot.PALETTE[name], ls=dashes, label=f"$d = {d}$, β = {beta:g}")
        right.set_title("$T = 1$")
        for axes, width, upper in ((left, 8.0, (0.9, 0.9999)), (right, 2.6, (0.5, 0.9))):
            shown = np.array([*(-q for q in upper[::-1]), 0, *upper])
            axes.set_xticks(np.arctanh(shown), [f"{q:g}".replace("-", "−") for q in shown])
            axes.set(xlim=(-width, width), xlabel="inner product $q$ (scale of artanh)", ylim=(0, None))
            axes.grid()
            axes.legend(loc="upper left" if axes is right else "upper right")
        left.set_ylabel("density of artanh $q$")
    return figure


def where_two_tokens_end(results: Results) -> Any:
    """The probability that two tokens meet, against their first inner product. In the plane it is 1 − arccos(q)/π at
    every temperature; in dimension 3 it depends on β, and is one in both limits; from dimension 4 on it is one. The
    rest end opposite to each other.
    """
    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(5.6, 3.8)
        axes = figure.subplots()
        three = results.select(part="ending", d=3)
        for beta, name in ((0.5, "sky"), (2.0, "blue"), (8.0, "purple")):
            axes.plot(
                three["start"],
                three["together"].sel(beta=beta),
                color=plot.PALETTE[name],
                label=f"$d = 3$, β = {beta:g}",
            )
        plane = results.select(part="ending", d=2)
        axes.plot(
            plane["start"], plane["together"].sel(beta=2.0), color=plot.PALETTE["vermillion"], label="$d = 2$, every β"
        )
        axes.plot([-1, 1], [1, 1], color="#333333", ls=(0, (4, 2)), label=r"$d \geq 4$")
        axes.set(xlabel="initial inner product $q_0$", ylabel="probability to meet", xlim=(-1, 1), ylim=(0, 1.04))
        axes.grid()
        axes.legend(loc="lower right")
    return figure
