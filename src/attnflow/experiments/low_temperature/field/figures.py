"""The figure of `field`."""

from typing import Any

from ... import Results


def mean_of_the_uniform_law(results: Results) -> Any:
    """How far a query reads into the uniform law on the circle, against κ = β|Bᵀx|: sums over 20 000 nodes (dots), the
    ratio of Bessel functions, and its first two terms for large κ. Zero temperature is the dashed line.
    """
    import numpy as np

    import attnflow as af
    from attnflow import plot

    data = results.select(part="circle")
    kappa = np.geomspace(0.1, 1000, 300)
    with plot.style():
        figure = plot.new_figure(5.4, 3.4)
        axes = figure.add_subplot()
        axes.axhline(1, color="#8A949E", lw=0.9, ls=(0, (4, 3)))
        axes.plot(
            kappa,
            np.asarray(af.reductions.uniform_mean(kappa, d=2)),
            color=plot.PALETTE["blue"],
            label=r"$I_1(\kappa)/I_0(\kappa)$",
        )
        late = kappa > 0.6
        axes.plot(
            kappa[late], 1 - 1 / (2 * kappa[late]), ":", color=plot.PALETTE["vermillion"], label=r"$1 - 1/2\kappa$"
        )
        axes.plot(data["kappa"], data["length"], "o", ms=4.5, color=plot.PALETTE["black"], label="20 000 nodes")
        axes.set(xscale="log", xlabel=r"$\kappa = \beta\,|B^\top x|$", ylabel=r"length of what is read", ylim=(0, 1.06))
        axes.legend(loc="lower right")
        axes.grid()
    return figure
