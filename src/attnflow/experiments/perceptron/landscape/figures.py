"""The figures of `landscape`."""

from typing import Any

from ... import Results
from ..cases import NAMES

SHOWN = ("relu", "relu-minus", "tanh", "gelu")


def minimisers(results: Results) -> Any:
    """The laws of least energy at β = 1. Above: the circle, coloured by U; each line is an atom, its length the
    mass. Below: the potential p = K * μ + U less its floor; it touches zero at the atoms (dots) and nowhere
    else, which certifies the law.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(10.4, 5.2)
        top, bottom = figure.subplots(2, len(SHOWN), height_ratios=(1.3, 1))
        for above, below, case in zip(top, bottom, SHOWN, strict=True):
            data = results.select(part="minimiser", case=case)
            _stems(above, data)
            above.set_title(NAMES[case])
            degrees = np.degrees(data["theta"].values)
            below.plot(degrees, data["potential"] - data["floor"], color=plot.PALETTE["blue"])
            below.plot(
                data["angle"] % 359.99, np.zeros(data.sizes["atom"]), "o", ms=6, color=plot.PALETTE["vermillion"]
            )
            below.axhline(0, color="#8A949E", lw=0.8, ls=(0, (4, 3)), zorder=1)
            below.set(xlabel="angle (degrees)", xticks=[0, 90, 180, 270, 360], xlim=(-8, 368))
            below.grid()
        bottom[0].set_ylabel(r"$p(\theta) - \min p$")
        bar = figure.colorbar(_shades(None), ax=list(top), shrink=0.7, pad=0.01, ticks=[0, 1])
        bar.ax.set_yticklabels([r"$\min\,U$", r"$\max\,U$"])
    return figure


def atoms_against_density(results: Results) -> Any:
    """Atoms and densities. Left: ReLU, three atoms; p leaves its floor at once. Middle: the exponential
    potential with |a| = 1.5 β is atomic by theory, but between atoms p comes back to within 3e-6 of its floor: in
    numbers alone this is undecided. Right, the control: a linear potential below the threshold. Sixteen atoms are not
    enough, their masses sample the density of theory (line), and p is constant to the last digit.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(9.6, 5.0)
        top, bottom = figure.subplots(2, 3, sharey="row", sharex=True)
        verdicts = {"relu": "atomic", "exp-long": "atomic by theory,\nundecided in numbers", "linear": "density"}
        for above, below, (case, verdict) in zip(top, bottom, verdicts.items(), strict=True):
            data = results.select(part="minimiser", case=case)
            colour = plot.PALETTE["vermillion"]
            above.vlines(data["angle"], 0, data["mass"], color=colour, lw=1.4)
            above.plot(data["angle"], data["mass"], "o", ms=4.5, color=colour, label="atoms of the minimiser")
            degrees = np.degrees(data["theta"].values)
            if "density" in data:
                scale = 2 * np.pi / data.sizes["atom"]
                above.plot(degrees, scale * data["density"], color=plot.PALETTE["blue"], label="density of theory")
            name = {"linear": "linear potential"}.get(case, NAMES[case])
            above.set_title(f"{name}: {verdict}")
            above.set(ylim=(0, 0.48))
            height = np.maximum(data["potential"] - data["floor"], 1e-17)
            below.semilogy(degrees, height, color=plot.PALETTE["blue"])
            below.axhline(1e-5, color="#8A949E", lw=0.9, ls=(0, (4, 3)))
            below.set(xlabel="angle (degrees)", xticks=[0, 90, 180, 270, 360], xlim=(-8, 368), ylim=(1e-17, 3))
            below.grid()
        top[0].set_ylabel("mass")
        bottom[0].set_ylabel(r"$p(\theta) - \min p$")
        bottom[2].text(180, 2.5e-5, "slack that a verdict of atoms needs", ha="center", fontsize=8.5)
        top[2].legend(loc="upper right")
    return figure


def _stems(ax: Any, data: Any) -> None:
    """The circle coloured by U, and its atoms."""
    import numpy as np
    from matplotlib.collections import LineCollection

    from attnflow import plot

    theta = np.append(data["theta"].values, 2 * np.pi)
    ring = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    shade = data["external"].values
    shade = (shade - shade.min()) / max(np.ptp(shade), 1e-12)
    segments = np.stack([ring[:-1], ring[1:]], axis=1)
    ax.add_collection(LineCollection(list(segments), colors=_shades(shade), lw=6, capstyle="round"))
    for angle, mass in zip(np.radians(data["angle"].values), data["mass"].values, strict=True):
        line = np.outer([1.06, 1.06 + 1.1 * mass], [np.cos(angle), np.sin(angle)])
        ax.plot(*line.T, color=plot.PALETTE["vermillion"], lw=2)
        ax.plot(*line[1], "o", ms=5, color=plot.PALETTE["vermillion"])
        shift = 17 * np.cos(angle), 12 * np.sin(angle)  # points on paper
        ax.annotate(f"{mass:.2f}", line[1], shift, textcoords="offset points", ha="center", va="center", fontsize=8.5)
    ax.set(aspect="equal", xlim=(-1.8, 2.3), ylim=(-2.0, 2.2))
    ax.axis("off")


def _shades(values: Any) -> Any:
    """Colours of numbers between 0 and 1; for `None`, the mappable of a colour bar."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    from attnflow.plot import HEAT

    part = LinearSegmentedColormap.from_list("u", HEAT([0.12, 0.5, 0.95]))
    return ScalarMappable(Normalize(0, 1), part) if values is None else part(values)
