"""The figures of `random_matrices`."""

from typing import Any

from ... import Results
from .ensembles import ENSEMBLES


def maps(results: Results) -> Any:
    """The probability that two tokens have met, that is ⟨xᵢ, xⱼ⟩ ≥ 0.999, over time and inverse temperature β, with
    new random matrices in every realisation. Above: the paper's four ensembles as named in its caption. Below:
    a positive semi-definite V with Q, K Ginibre; the authors' own clock and scheme (h = 0.1) for the second panel; the
    transpose that their right multiplication of rows applies; and V = −B, which descends the energy.
    """
    from attnflow import plot
    from attnflow.plot import HEAT

    with plot.style():
        figure = plot.new_figure(11.6, 5.6)
        grid = figure.subplots(2, 4, sharex=True, sharey=True)
        probability = {"vmin": 0, "vmax": 1, "cmap": HEAT}
        for axes, name in zip(grid.ravel(), ENSEMBLES, strict=True):
            data = results.select(part="map", ensemble=name)
            axes.pcolormesh(data["time"], data["beta"], data["probability"], **probability, rasterized=True)
            axes.set_title(ENSEMBLES[name].title, fontsize=10)
        for axes in grid[:, 0]:
            axes.set_ylabel(r"inverse temperature $\beta$")
        for axes in grid[-1]:
            axes.set_xlabel("time $t$")
        figure.colorbar(grid[0, 0].collections[0], ax=grid, label="probability that two tokens have met", pad=0.015)
    return figure
