"""The figure of `rivals`."""

from typing import Any

from ... import Results

BUILT = {"ridge": ("vermillion", "s", "ridge"), "field+ridge": ("purple", "D", "field, then ridge")}
TRAINED = {"spline": ("blue", "o", "trained splines"), "affine": ("sky", "^", "trained affine maps")}


def built_and_trained(results: Results) -> Any:
    """Two half-moons: relative entropy of the target from the law that was built (filled) or trained (open), against
    the number of parameters (five for a neuron), the seconds until it was there (compiling included), and the seconds
    for a million log densities. Seconds are those of the machine that made this figure.
    """
    from attnflow import plot

    panels = (
        ("parameters", "parameters", (60, 2e4)),
        ("seconds", "seconds to build or train", (0.02, 300)),
        ("density_seconds", "seconds per million log densities", (0.02, 20)),
    )
    with plot.style():
        figure = plot.new_figure(9.6, 3.5)
        for axes, (variable, label, reach) in zip(figure.subplots(1, 3, sharey=True), panels, strict=True):
            for names, part, entry in ((BUILT, "built", "method"), (TRAINED, "trained", "kind")):
                for name, (colour, marker, title) in names.items():
                    found = [(float(d[variable]), float(d["kl"])) for _, d in results.where(part=part, **{entry: name})]
                    fill = plot.PALETTE[colour] if part == "built" else "white"
                    axes.loglog(*zip(*found, strict=True), marker, color=plot.PALETTE[colour], mfc=fill, label=title)
            axes.set(xlabel=label, xlim=reach, ylim=(2e-3, 1))
            axes.grid()
        figure.axes[0].set(ylabel=r"$\mathrm{KL}(\rho_*\,|\,\rho_T)$")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure
