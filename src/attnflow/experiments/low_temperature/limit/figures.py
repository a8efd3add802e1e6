"""The figures of `limit`."""

from typing import Any

from ... import Results
from .claims import PLANAR


def rates_of_decay(results: Results) -> Any:
    """W₂ and W₁ to the limit at zero temperature against time, uniform law on the circle. Dotted: the rate that the
    spectrum predicts. In the middle single tokens approach at the rate c = 1, but the mass that has not left the
    exceptional set decides: W₂ decays at 1/4 and W₁ at 1/2.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(9.2, 3.2)
        for axes, (case, (V, B)) in zip(figure.subplots(1, 3, sharey=True), PLANAR.items(), strict=True):
            data = results.select(part="planar", case=case)
            t = data["time"].values
            for p, colour in ((2, "blue"), (1, "vermillion")):
                curve, rate = data[f"W{p}"].values, float(data["predicted"].sel(p=p))
                axes.semilogy(t, curve, color=plot.PALETTE[colour], label=f"$W_{p}$, predicted rate {rate:.3g}")
                axes.semilogy(
                    t, 1.35 * curve[-1] * np.exp(rate * (t[-1] - t)), color=plot.PALETTE[colour], ls=":", lw=1.1
                )
            names = ("V", V), ("B", B)
            title = ", ".join(rf"${n} = \\mathrm{{diag}}({v[0]:g}, {v[1]:g})$".replace("\\\\", "\\") for n, v in names)
            axes.set(xlabel="$t$ (SA)", title=title, ylim=(1e-7, 8), xlim=(0, t[-1]))
            axes.title.set_size(9.5)
            axes.legend(loc="lower left", fontsize=8)
            axes.grid()
        figure.axes[0].set_ylabel(r"distance to the limit")
    return figure


def towards_a_circle(results: Results) -> Any:
    """Tokens in R³ at zero temperature, V = diag(2, 2, 1), B = I: their limit is a law on the circle x₃ = 0. Left: the
    height of the tokens at t = 0, 2, 4; right: W₂ to the images of the same tokens, by assignment, and the distance of
    each token to its own image, which bounds it and is nearly the same.
    """
    import numpy as np

    from attnflow import plot

    data = results.select(part="plane")
    t = data["time"].values
    with plot.style():
        figure = plot.new_figure(8.4, 3.3)
        left, right = figure.subplots(1, 2)
        for time, colour in ((0.0, "sky"), (2.0, "blue"), (4.0, "black")):
            x = data["x"].sel(time=time).values
            left.plot(
                np.arctan2(x[:, 1], x[:, 0]), x[:, 2], ".", ms=3, color=plot.PALETTE[colour], label=f"$t = {time:g}$"
            )
        left.set(xlabel="angle in the plane $E$", ylabel="height $x_3$", ylim=(-1.05, 1.4))
        left.set_xticks([-np.pi, 0, np.pi], [r"$-\pi$", "0", r"$\pi$"])
        left.legend(ncols=3, loc="upper center", markerscale=3, handletextpad=0.1)
        right.semilogy(t, data["synchronous"], "s-", ms=4, color=plot.PALETTE["sky"], label="token by token")
        right.semilogy(t, data["W2"], "o-", ms=4, color=plot.PALETTE["blue"], label="$W_2$")
        late = 2 * float(data["W2"][-1]) * np.exp(t[-1] - t)
        right.semilogy(t, late, ls=(0, (4, 3)), color="#8A949E", lw=1.1, label=r"$\propto e^{-t}$")
        right.set(xlabel="$t$ (SA)", ylabel="distance to the limit")
        right.grid()
        right.legend()
    return figure
