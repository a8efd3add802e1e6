"""The figures of `closures`."""

from typing import Any

from ... import Results
from ..base_case import AT_ONE
from .claims import SIGMOID_ROWS


def finitely_many_tokens(results: Results) -> Any:
    """Distance of n tokens from the Gaussian law at t = 1, base case: the largest error of the covariance. Tokens start
    from a Sobol cloud with the exact mean and covariance, so that errors come from its higher moments and tails alone.
    Linear attention does not depend on those: its error, that of the solver, is below the range shown.
    """
    import numpy as np

    from attnflow import plot

    law = results.select(part="closures")["final"]
    sizes = sorted(cell["n"] for cell in results.where(part="tokens").cells)
    marks = dict(zip(AT_ONE, "os^DvP*", strict=True))
    with plot.style():
        figure = plot.new_figure(6.4, 3.9)
        axes = figure.subplots()
        for name, colour in zip((m for m in AT_ONE if m != "linear"), plot.PALETTE.values(), strict=False):
            if name == "Sinkhorn-5":
                colour = plot.PALETTE["black"]
            off = [
                float(abs(results.select(part="tokens", n=n)["final"].sel(map=name) - law.sel(map=name))[2:].max())
                for n in sizes
            ]
            axes.loglog(sizes, off, marks[name] + "-", ms=5, color=colour, label=name)
        n = np.array(sizes, float)
        axes.loglog(n, 1.3 / n, ls=(0, (4, 3)), color="#8A949E", lw=1.1, label=r"$\propto 1/n$")
        axes.set(xlabel="number of tokens $n$", ylabel=r"largest error of $\Sigma(1)$")
        axes.set_xticks(sizes, [f"{k}" for k in sizes], minor=False)
        axes.minorticks_off()
        axes.grid()
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def near_a_blow_up(results: Results) -> Any:
    """On the line the variance of the standard normal law under softmax attention, a = v = 1, is infinite at t = ½.
    Finitely many tokens move by at most their largest norm and stay finite: they leave the law long before, the later
    the more there are. The extreme tokens decide when.
    """
    import numpy as np

    from attnflow import plot

    t = np.linspace(0, 0.495, 300)
    with plot.style():
        figure = plot.new_figure(5.2, 3.6)
        axes = figure.subplots()
        axes.semilogy(t, 1 / (1 - 2 * t), color=plot.PALETTE["black"], label=r"the law, $1/(1 - 2t)$")
        for n, colour, mark in zip((128, 512, 2048), ("sky", "blue", "vermillion"), "os^", strict=True):
            data = results.select(part="blow-up", n=n)["variance"]
            axes.semilogy(data["time"], data, mark + "-", ms=4, color=plot.PALETTE[colour], label=f"{n} tokens")
        axes.axvline(0.5, color="#8A949E", ls=(0, (4, 3)), lw=1.1)
        axes.text(0.506, 60, "$t^*$", va="top")
        axes.set(xlabel="$t$ (SA)", ylabel="variance", xlim=(0, 0.62), ylim=(0.9, 80))
        axes.grid()
        axes.legend(loc="upper left")
    return figure


def sigmoid_laws(results: Results) -> Any:
    """Sigmoid attention on the line from a normal law. Left: variance of 2048 tokens (points) and of the Gaussian that
    has their rates of mean and variance (curves). Right: quantiles of the tokens at the end, centred and scaled,
    against those of the normal law, which would be the diagonal: tokens leave the Gaussian laws.
    """
    import numpy as np

    import attnflow as af
    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(8.6, 3.5)
        left, right = figure.subplots(1, 2)
        for row, colour, mark in ((1, "blue", "o"), (2, "vermillion", "s"), (3, "green", "^")):
            a, b, alpha, _ = SIGMOID_ROWS[row]
            data = results.select(part="sigmoid", row=row)
            name = f"$a = {a:g}$, $b = {b:g}$, $\\alpha_0 = {alpha:g}$"
            t = data["time"].values
            left.plot(t, data["projected_variance"], color=plot.PALETTE[colour])
            left.plot(t, data["variance"], mark, ms=4, color=plot.PALETTE[colour], label=name)
            x = np.sort(data["x"].values)
            x = (x - x.mean()) / x.std()
            z = af.gaussian.midpoints(len(x))
            shown = np.searchsorted(z, np.linspace(-3, 3, 41))
            right.plot(z[shown], x[shown], mark, ms=3.2, color=plot.PALETTE[colour], label=name)
        right.plot([-3, 3], [-3, 3], color="#8A949E", ls=(0, (4, 3)), lw=1.1)
        left.set(xlabel="$t$ (sigmoid)", ylabel="variance")
        right.set(
            xlabel="quantile of the normal law", ylabel="quantile of the tokens", xlim=(-3.1, 3.1), ylim=(-3.1, 4.1)
        )
        left.legend(loc="upper left")
        for axes in (left, right):
            axes.grid()
    return figure
