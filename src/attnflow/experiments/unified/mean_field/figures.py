"""The figures of `mean_field`."""

from typing import Any

from ... import Results
from .claims import BETAS

PI_TICKS = [0.0, 3.141592653589793, 6.283185307179586], ["0", r"$\pi$", r"$2\pi$"]


def densities_and_tokens(results: Results) -> Any:
    """A law on the circle under softmax attention, from the uniform measure with small perturbations of all modes.
    Above: its density, by the continuity equation (logarithmic colours; white is 20 times less than uniform, or nothing
    at all). Below: 160 tokens that start at its quantiles. The number of clusters that form first is near √(2β).
    """
    import numpy as np
    from matplotlib.colors import LogNorm

    from attnflow import plot
    from attnflow.plot import HEAT

    with plot.style():
        figure = plot.new_figure(9.6, 5.2)
        image: Any = None
        above, below = figure.subplots(2, len(BETAS), sharex=True, sharey=True)
        colours = LogNorm(0.05, 20)
        for column, beta in enumerate(BETAS):
            data = results.select(part="law", beta=beta)
            t, angle = data["time"].values, data["angle"].values
            relative = np.clip(2 * np.pi * data["density"].values.T, 0.05, None)
            image = above[column].pcolormesh(t, angle, relative, norm=colours, cmap=HEAT, rasterized=True)
            above[column].set(title=rf"$\beta = {beta:g}$")
            below[column].plot(t, _unwrapped(data["token"].values), color=plot.PALETTE["blue"], lw=0.4)
            below[column].set(xlabel="$t$ (SA)", xlim=(0, t[-1]), ylim=(0, 2 * np.pi))
            below[column].set_yticks(*PI_TICKS)
        above[0].set_ylabel("angle, density")
        below[0].set_ylabel("angle, tokens")
        figure.colorbar(image, ax=list(above), label="density over uniform", extend="both")
    return figure


def growth_of_modes(results: Results) -> Any:
    """Modes cos kθ of a law that starts as the uniform measure with 10⁻⁷ of each of eight modes, β = 9. Dashed: the
    rates that Bessel functions give. The fastest mode, k = 4, grows until four clusters have formed; before, its
    square drives k = 8.
    """
    import numpy as np

    from attnflow import plot

    shown = {1: "sky", 2: "green", 4: "blue", 6: "orange", 8: "vermillion"}
    with plot.style():
        figure = plot.new_figure(9.0, 3.5)
        for axes, clock in zip(figure.subplots(1, 2, sharey=True), ("SA", "shifted USA"), strict=True):
            data = results.select(part="growth", clock=clock)
            t = data["time"].values
            for k, colour in shown.items():
                curve, rate = np.abs(data["amplitude"].sel(k=k).values), float(data["rate"].sel(k=k))
                axes.semilogy(t, curve, color=plot.PALETTE[colour], label=f"$k = {k}$")
                line = curve[0] * np.exp(rate * t)
                axes.semilogy(t[line < 3], line[line < 3], color=plot.PALETTE[colour], ls=(0, (4, 3)), lw=1.0)
            axes.set(xlabel=f"$t$ ({clock})", xlim=(0, t[-1]), ylim=(3e-8, 8))
            axes.grid()
        figure.axes[0].set_ylabel(r"amplitude of $\cos k\theta$")
        figure.axes[0].legend(ncols=2, loc="upper left")
    return figure


def errors(results: Results) -> Any:
    """A smooth law, β = 4. Left: the distance of the finite volumes to a Fourier method at t = 2, third order. Middle,
    at t = ½: W₁ between n tokens and the law; independent tokens gain a digit for a hundred times as many, tokens at
    quantiles for ten times as many, with the constant π/2. Right: the error of the mean of these tokens. At quantiles
    it is that of the trapezoid rule for a periodic function, and vanishes faster than any power.
    """
    import numpy as np
    from matplotlib.ticker import NullFormatter

    from attnflow import plot

    blue, red, grey = plot.PALETTE["blue"], plot.PALETTE["vermillion"], "#8A949E"
    dashes = {"color": grey, "ls": (0, (4, 3)), "lw": 1.1}
    with plot.style():
        figure = plot.new_figure(9.6, 3.3)
        left, middle, right = figure.subplots(1, 3)
        cells, error = results.curve("error", over="cells", part="order")
        left.loglog(cells, error, "o-", ms=4, color=blue, label="finite volumes")
        left.loglog(cells, 0.4 * error[-1] * (cells[-1] / cells) ** 3.0, label=r"$\propto N^{-3}$", **dashes)
        left.set(xlabel="cells $N$", ylabel="$L^1$ distance to a Fourier method")
        left.set_xticks(cells, [f"{c:g}" for c in cells])
        quantiles = results.select(part="quantiles")
        n = quantiles["n"].values
        for axes, name, value, quantile in (
            (middle, "$W_1$ to the law", "W1", quantiles["W1"].values),
            (right, "error of the mean", "square", quantiles["to_exact"].values),
        ):
            many, mean = results.curve(value, over="n", part="random")
            _, stderr = results.curve(f"{value}_error", over="n", part="random")
            mean, stderr = (mean, stderr) if value == "W1" else (np.sqrt(mean), stderr / (2 * np.sqrt(mean)))
            axes.errorbar(many, mean, 2 * stderr, fmt="o-", ms=4, color=red, label="independent")
            axes.plot(n, quantile, "s-", ms=4, color=blue, label="at quantiles")
            axes.plot(many, 1.6 * mean[0] * (many[0] / many) ** 0.5, label=r"$\propto n^{-1/2}$", **dashes)
            axes.set(xscale="log", yscale="log", xlabel="tokens $n$", ylabel=name)
        middle.plot(n, np.pi / 2 / n, color="black", ls=":", lw=1.4, label=r"$\pi/2n$")
        for axes in (left, middle, right):
            axes.grid()
            axes.legend(fontsize=8, loc="lower left")
        left.minorticks_off()
        middle.yaxis.set_minor_formatter(NullFormatter())
    return figure


def not_a_gaussian(results: Results) -> Any:
    """Sigmoid attention on the line, a = 2, at t = 2 from a standard Gaussian. The law, by the continuity equation, has
    two peaks, and 512 tokens agree with it; no Gaussian does.
    """
    import numpy as np

    from attnflow import plot

    data = results.select(part="sigmoid")
    _, variance, kurtosis = data["moments"].values[2]
    with plot.style():
        figure = plot.new_figure(5.4, 3.5)
        axes = figure.add_subplot()
        axes.hist(
            data["token"], bins=np.linspace(-4.5, 4.5, 37).tolist(), density=True, color="#D5DADF", label="512 tokens"
        )
        axes.plot(data["x"], data["density"], color=plot.PALETTE["blue"], label="continuity equation")
        x = np.linspace(-5, 5, 400)
        gaussian = np.exp(-(x**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
        axes.plot(x, gaussian, color=plot.PALETTE["vermillion"], ls=(0, (5, 2)), label="Gaussian of its variance")
        axes.set(xlabel="$x$", ylabel="density", xlim=(-5, 5), ylim=(0, 0.42))
        axes.set_title(f"variance {variance:.4f}, excess kurtosis {kurtosis:.2f}", fontsize=10)
        axes.legend(loc="upper center", ncols=1)
    return figure


def _unwrapped(angle: Any) -> Any:
    """Curves with gaps where a token passes the angle 0, in place of lines across the panel."""
    import numpy as np

    jumps = np.abs(np.diff(angle, axis=0, prepend=angle[:1])) > np.pi
    return np.where(jumps, np.nan, angle)
