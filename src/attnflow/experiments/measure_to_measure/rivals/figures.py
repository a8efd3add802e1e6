"""The figures of `rivals`."""

from typing import Any

from ... import Results
from .claims import BETAS


def softmax_against_rank_one(results: Results) -> Any:
    """Left: the smallest distance of two atoms after one piece of softmax attention, against β, and after two pieces of
    rank one (line: median); five draws of five measures with half of their atoms in common. Right: the smallest
    clearance of a band in the matchings that were built on either.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(7.8, 3.2)
        left, right = figure.subplots(1, 2, width_ratios=(1.4, 1))
        generic = []
        for beta in BETAS:
            data = results.select(part="separation", beta=beta)
            left.loglog([beta] * 5, data["separation"].sel(way="softmax"), "o", ms=4.5, color=plot.PALETTE["blue"],
                        mec="white", mew=0.4, label="softmax, 1 piece" if beta == BETAS[0] else None)  # fmt: skip
            generic += data["separation"].sel(way="generic").values.tolist()
        left.axhline(np.median(generic), color=plot.PALETTE["vermillion"], lw=1.3, label="rank one, 2 pieces")
        left.set_xticks(BETAS, [f"{beta:g}" for beta in BETAS])
        left.set_yticks([0.005, 0.01, 0.02, 0.05], ["0.005", "0.01", "0.02", "0.05"])
        left.minorticks_off()
        left.set(ylim=(0.004, 0.06), xlabel=r"inverse temperature $\beta$", ylabel="smallest distance of atoms")
        names = {"generic": ("rank one", "vermillion"), "softmax": (r"softmax, $\beta = 1$", "blue")}
        for k, (way, (_, colour)) in enumerate(names.items()):
            clear = [float(data["clearance"]) for _, data in results.where(part="ways", way=way)]
            right.semilogy([k] * len(clear), clear, "o", ms=5, color=plot.PALETTE[colour], mec="white", mew=0.4)
        right.set_xticks(range(2), [name for name, _ in names.values()])
        right.set(xlim=(-0.5, 1.5), ylabel="smallest clearance", ylim=(1e-4, 2e-2))
        for ax in (left, right):
            ax.grid(axis="y")
        left.legend(loc="lower left")
    return figure


def loss_of_the_trained(results: Results) -> Any:
    """Three pairs of measures of eight atoms, four in common. The loss of a transformer of twelve pieces trained from
    several starts by Adam, through the same solver (jumps: assignments are made again); the line is that of the built
    transformer, of twenty-six pieces, with the seconds that each took.
    """
    import numpy as np

    from attnflow import plot

    (_, data), *_ = results.where(part="trained")
    with plot.style():
        figure = plot.new_figure(5.6, 3.5)
        axes = figure.subplots()
        for k, loss in enumerate(data["loss"].values):
            axes.semilogy(np.arange(len(loss)), loss, color=plot.PALETTE["vermillion"], lw=0.9, alpha=0.8,
                          label=f"trained, {float(data['seconds_trained']):.0f} s" if k == 0 else None)  # fmt: skip
        built = max(float((data["built"] ** 2).mean()), 1e-32)
        axes.axhline(built, color=plot.PALETTE["green"], lw=1.6, label=f"built, {float(data['seconds_built']):.1f} s")
        axes.set(xlabel="epoch", ylabel="mean of $W_2^2$", xlim=(0, data.sizes["epoch"]))
        axes.grid()
        axes.legend(loc="center right")
    return figure
