"""The figures of `fields`."""

from typing import Any

from ... import Results
from .claims import DELAYS, RANK


def errors_of_the_coefficients(results: Results) -> Any:
    """Error of 301 steps of the four coefficients: TD-DMD against the number of its delays, and each seed of the
    network with ten delays, by its recipe.
    """
    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(7.4, 3.3)
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1, 1.3))
        points = sorted((c["delays"], float(data["rollout"])) for c, data in results.where(part="linear", rank=RANK))
        left.semilogy(*zip(*points, strict=True), "o-", color=plot.PALETTE["vermillion"], ms=5, lw=1.1)
        left.set(xlabel="delays", ylabel="NRMSE", title="TD-DMD", ylim=(1e-3, 3))
        names = []
        for k, (cell, data) in enumerate(results.where(part="network")):
            names.append(cell["recipe"])
            errors = data["rollout"].values.clip(max=2.5)
            right.semilogy([k] * len(errors), errors, "o", color=plot.PALETTE["blue"], ms=5.5, mec="white", mew=0.5)
        linear = float(results.select(part="linear", delays=DELAYS, rank=RANK)["rollout"])
        right.axhline(linear, color=plot.PALETTE["vermillion"], lw=1.0, ls=(0, (4, 3)))
        right.annotate("TD-DMD", (len(names) - 0.52, linear), xytext=(0, 4), textcoords="offset points", fontsize=9,
                       ha="right", color=plot.PALETTE["vermillion"])  # fmt: skip
        right.set_xticks(range(len(names)), names)
        right.set(xlim=(-0.5, len(names) - 0.5), title=f"TD-TF, {DELAYS} delays, each seed")
        for ax in (left, right):
            ax.grid(axis="y")
    return figure


def coefficients(results: Results) -> Any:
    """The four coefficients on the test part (grey, broad), by TD-DMD and by TD-TF with input noise, its best seed."""
    from attnflow import plot

    linear = results.select(part="linear", delays=DELAYS, rank=RANK)
    network = results.select(part="network", recipe="noise")
    with plot.style():
        figure = plot.new_figure(7.6, 4.8)
        axes = figure.subplots(RANK, 1, sharex=True)
        for k, ax in enumerate(axes):
            ax.plot(linear["true"].values[:, k], color="#B8BEC4", lw=4, label="what came")
            ax.plot(network["run"].values[:, k], color=plot.PALETTE["blue"], lw=1.1, label="TD-TF, noise")
            dashed = {"color": plot.PALETTE["vermillion"], "lw": 1.1, "ls": (0, (4, 2)), "label": "TD-DMD"}
            ax.plot(linear["run"].values[:, k], **dashed)
            ax.set(ylabel=f"$a_{k + 1}$", xlim=(0, 301))
        axes[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
        axes[-1].set_xlabel("step")
    return figure
