"""The figures of `aerofoil`."""

from typing import Any

from ... import Results
from .claims import TESTS


def errors_of_the_coefficients(results: Results) -> Any:
    """NRMSE of lift and of drag with stall, in both tests: TD-DMD, and each seed of TD-TF, with sixteen delays."""
    from attnflow import plot

    linear, network = results.select(part="linear"), results.select(part="network")
    with plot.style():
        figure = plot.new_figure(5.4, 3.2)
        ax = figure.subplots()
        labels = []
        for k, (test, output) in enumerate((t, o) for t in TESTS for o in (0, 1)):
            labels.append(f"{('lift', 'drag')[output]}, {test}")
            ax.semilogy([k - 0.12], [float(linear[f"error_{test}"][output])], "D", ms=6, mec="white", mew=0.5,
                        color=plot.PALETTE["vermillion"], label="TD-DMD" if k == 0 else None)  # fmt: skip
            errors = network[f"error_{test}"].values[:, output]
            ax.semilogy([k + 0.12] * len(errors), errors, "o", ms=5.5, mec="white", mew=0.5, color=plot.PALETTE["blue"],
                        label="TD-TF, each seed" if k == 0 else None)  # fmt: skip
        ax.set_xticks(range(len(labels)), labels)
        ax.set(ylabel="NRMSE", xlim=(-0.5, len(labels) - 0.5), ylim=(1e-2, 1.5))
        ax.grid(axis="y")
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return figure


def lift_and_drag(results: Results) -> Any:
    """Lift and drag with stall, steps 400 to 800 of a roll-out over the whole of test A: what came (grey, broad), TD-TF
    (best seed) and TD-DMD.
    """
    from attnflow import plot

    linear, network = results.select(part="linear"), results.select(part="network")
    with plot.style():
        figure = plot.new_figure(7.6, 4.2)
        axes = figure.subplots(2, 1, sharex=True)
        steps = range(400, 800)
        true, ours, theirs = (data.values[400:800] for data in (network["true_A"], network["run_A"], linear["run_A"]))
        for k, ax in enumerate(axes):
            ax.plot(steps, true[:, k], color="#B8BEC4", lw=4, label="what came")
            ax.plot(steps, ours[:, k], color=plot.PALETTE["blue"], lw=1.2, label="TD-TF")
            ax.plot(steps, theirs[:, k], color=plot.PALETTE["vermillion"], lw=1.2, ls=(0, (4, 2)), label="TD-DMD")
            ax.set(ylabel=("lift", "drag")[k], xlim=(400, 800))
            ax.grid(axis="y")
        axes[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
        axes[1].set_xlabel("step")
    return figure
