"""The figure of `tikhonov`."""

from typing import Any

from ... import Results
from .claims import SMALL


def losses_of_training(results: Results) -> Any:
    """The loss of regularised training against epochs, and the bound ε|θ*|² (dashed). Left: one run at ε = 10⁻⁴ with a
    cosine schedule of 50 000 epochs (at scale quick its beginning). Right: one model trained on with smaller and
    smaller ε; a new schedule begins at every dotted line.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(9.0, 3.4)
        left, right = figure.subplots(1, 2, sharey=True)
        single, warm = results.select(part="single"), results.select(part="warm")
        curve = single["loss"].values
        left.loglog(np.arange(1, len(curve) + 1), curve, color=plot.PALETTE["blue"], lw=1.0, label="loss")
        bound = SMALL * float(single["square"])
        left.axhline(bound, color=plot.PALETTE["vermillion"], ls="--", lw=1.2, label=r"$\varepsilon|\theta^*|^2$")
        left.set(title=r"$\varepsilon = 10^{-4}$", xlabel="epoch", ylabel="loss")
        curve, ends = warm["loss"].values, np.cumsum(warm["epochs"].values)
        right.loglog(np.arange(1, len(curve) + 1), curve, color=plot.PALETTE["blue"], lw=0.8, label="loss")
        for k, (eps, end) in enumerate(zip(warm["eps"].values, ends, strict=True)):
            start = ends[k - 1] if k else 1
            level = eps * float(warm["square"])
            label = r"$\varepsilon|\theta^*|^2$" if k == 0 else None
            right.plot([start, end], [level] * 2, color=plot.PALETTE["vermillion"], ls="--", lw=1.2, label=label)
            power = int(np.round(np.log10(eps)))
            right.annotate(
                rf"$\varepsilon = 10^{{{power}}}$",
                (np.sqrt(start * end), level),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=9,
                bbox={"fc": "white", "ec": "none", "pad": 0.5},
            )
            if k:
                right.axvline(start, color="#8A949E", ls=":", lw=1.0)
        right.set(title="warm start", xlabel="epoch")
        for axes in (left, right):
            axes.grid()
            axes.legend(loc="upper right" if axes is left else "lower left")
    return figure
