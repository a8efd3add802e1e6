"""The figures of `equiangular`."""

from typing import Any

from ... import Results


def particles_over_curve(results: Results) -> Any:
    """Inner products of the particles over the equiangular prediction. Left: n orthonormal tokens, β = 3; dots are
    particles, lines the scalar equation. Right: 32 independent uniform tokens in dimension d, softmax attention, β = 3;
    bands hold nine tenths of all pairs and shrink onto the curve as d grows.
    """
    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(9.6, 3.8)
        left, right = figure.subplots(1, 2, sharey=True)
        colours = {"SA": plot.PALETTE["blue"], "USA": plot.PALETTE["vermillion"]}
        for cell, data in results.where(part="flow", beta=3.0):
            if cell["n"] > 32:
                continue
            line = {5: "-", 32: "--"}[cell["n"]]
            name = f"{cell['kind']}, n = {cell['n']}"
            left.plot(data["time"], data["reference"], line, color=colours[cell["kind"]], label=name)
            left.plot(data["time"][::20], data["least"][::20], "o", color=colours[cell["kind"]], ms=4)
        left.set(title="orthonormal tokens", xlabel="time $t$", ylabel=r"$\langle x_i, x_j\rangle$")
        left.legend(loc="center right", bbox_to_anchor=(1.0, 0.66))
        shades = [plot.PALETTE[c] for c in ("orange", "green", "purple", "sky")]
        random = list(results.where(part="random"))
        for (cell, data), colour in zip(random, shades, strict=False):
            right.fill_between(
                data["time"], data["low"], data["high"], color=colour, alpha=0.45, lw=0, label=f"d = {cell['d']}"
            )
        _, curve = random[0]
        right.plot(curve["time"], curve["reference"], color="black", lw=1.2, label="prediction")
        right.set(title=f"independent uniform tokens, n = {random[0][0]['n']}", xlabel="time $t$")
        right.legend(loc="lower right")
        for axes in (left, right):
            axes.grid()
            axes.set_ylim(-0.35, 1.05)
    return figure


def phase_curve(results: Results) -> Any:
    """The time t* at which n equiangular tokens under softmax attention have inner products 0.999, against the inverse
    temperature β: lines by quadrature, circles where particles passed that value.
    """
    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(5.6, 3.8)
        axes = figure.subplots()
        for n, colour in ((32, plot.PALETTE["blue"]), (128, plot.PALETTE["vermillion"])):
            data = results.select(part="phase", n=n)
            axes.plot(data["beta"], data["quadrature"], color=colour, label=f"n = {n}")
            if len(results.where(part="crossing", n=n)):
                betas, times = results.curve("crossing", over="beta", part="crossing", n=n)
                axes.plot(betas, times, "o", color=colour, ms=6, mfc="white", mew=1.5, label=f"particles, n = {n}")
        axes.set_yscale("log")
        axes.set(xlabel=r"inverse temperature $\beta$", ylabel=r"$t^*(\beta)$", xlim=(0, 9))
        axes.grid(which="both")
        axes.legend(loc="upper left")
    return figure
