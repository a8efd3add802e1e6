"""The figures of `line`."""

from typing import Any

from ... import Results
from .claims import MIXTURES

NAMES = {"mix2": ("blue", "o", "two Gaussians"), "mix3": ("vermillion", "s", "three Gaussians")}


def error_against_switches(results: Results) -> Any:
    """Relative entropy of the target from the law that a schedule makes of N(0, 1), against the number of switches K
    + 1. Lines are C/(K − 1)² with the constant C computed from the two densities, before any schedule was built. Open
    squares: knots at equal distances, of three Gaussians.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(5.2, 4.0)
        axes = figure.subplots()
        for target in MIXTURES:
            colour, marker, label = NAMES[target]
            shown = {"color": plot.PALETTE[colour], "ms": 5, "mec": "white", "mew": 0.6}
            K, kl = results.curve("kl", over="K", part="best", target=target)
            constant = float(results.select(part="best", target=target, K=64)["constant"])
            axes.loglog(K + 1, kl, marker, label=label, **shown)
            line = np.geomspace(K[0], K[-1], 100)
            predicted = f"$C/(K-1)^2$, $C = {constant:.3f}$"
            axes.loglog(line + 1, constant / (line - 1) ** 2, color=plot.PALETTE[colour], lw=1.1, label=predicted)
        K, kl = results.curve("kl", over="K", part="uniform", target="mix3")
        hollow = {"color": plot.PALETTE["vermillion"], "mfc": "none", "ms": 5}
        axes.loglog(K + 1, kl, "s", label="three, knots at equal distances", **hollow)
        axes.set(xlabel="switches $K + 1$", ylabel=r"$\mathrm{KL}(\rho_*\,|\,\rho_T)$")
        axes.grid()
        axes.legend()
    return figure


def density_and_kinks(results: Results) -> Any:
    """N(0, 1) on its way to three Gaussians (grey), after 0, 2, ... of its 12 pieces: every switch is one more jump
    of the density, at a knot (dotted once it has been reached), and all that is on right of it is still an affine
    image.
    """
    from attnflow import plot

    data = results.select(part="kinks")
    pieces = data["pieces"].values
    with plot.style():
        figure = plot.new_figure(8.8, 4.4)
        panels = figure.subplots(2, 3, sharex=True, sharey=True).ravel()
        for axes, k in zip(panels, pieces, strict=True):
            axes.fill_between(data["y"], data["target"], color="#D5DADF", lw=0)
            axes.plot(data["y"], data["density"].sel(pieces=k), color=plot.PALETTE["blue"], lw=1.3)
            for knot in data["knots"].values[: max(k - 2, 0)]:
                axes.axvline(knot, color="#8A949E", ls=":", lw=0.7, zorder=0)
            axes.set(title=f"{k} piece{'' if k == 1 else 's'}", xlim=(-6, 6), ylim=(0, 0.62))
        for axes in panels[3:]:
            axes.set(xlabel="$y$")
        for axes in panels[::3]:
            axes.set(ylabel="density")
    return figure


def truncated_divergence(results: Results) -> Any:
    """From N(0, 1) to a Cauchy law: the part of the relative entropy between −R and R. More knots lower the plateau,
    and no number of them keeps it: where the schedule is affine its law has a Gaussian tail, and the truncated
    integral grows like R/(πm²) (dashed), m the slope beyond the last knot.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(5.2, 3.8)
        axes = figure.subplots()
        for (cell, data), colour in zip(results.where(part="cauchy"), ("vermillion", "blue"), strict=True):
            axes.loglog(
                data["radius"], data["kl"], "o-", ms=4, lw=1.2, color=plot.PALETTE[colour], label=f"{cell['K']} knots"
            )
        m = float(results.select(part="cauchy", K=64)["slope"])
        R = np.geomspace(1e12, 1e18, 10)
        axes.loglog(R, R / np.pi / m**2, color="#333333", ls="--", lw=1.1, label=r"$R/(\pi m^2)$")
        axes.set(xlabel="$R$", ylabel="divergence between $-R$ and $R$", ylim=(5e-4, 2e4))
        axes.grid()
        axes.legend()
    return figure
