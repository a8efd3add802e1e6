"""The figures of `signals`."""

from typing import Any

from ... import Results
from .claims import LONG, SHORT


def errors_against_delays(results: Results) -> Any:
    """Error of a forecast of 1000 steps against the number of delays; each mark of a network is one seed. Left of
    the dashed line no static weights of one sign can continue both tones. Errors above 3 are drawn there.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(5.8, 3.6)
        ax = figure.subplots()
        linear = sorted((cell["delays"], float(data["rollout"])) for cell, data in results.where(part="linear"))
        ax.semilogy(*zip(*linear, strict=True), "o-", color=plot.PALETTE["vermillion"], ms=4.5, lw=1.0, label="TD-DMD")
        looks = {"shared": ("blue", "o", "shared values"), "per_delay": ("green", "D", "values per delay")}
        for values, (colour, marker, label) in looks.items():
            for k, (cell, data) in enumerate(results.where(part="network", values=values)):
                y = np.minimum(data["rollout"].values, 3.0)
                marks = {"color": plot.PALETTE[colour], "ms": 5, "mec": "white", "mew": 0.5, "ls": "none"}
                ax.semilogy([cell["delays"]] * len(y), y, marker, label=f"TD-TF, {label}" if k == 0 else None, **marks)
        skip = results.select(part="linear part")
        ax.semilogy([32], [float(skip["rollout"])], "s", color=plot.PALETTE["purple"], ms=6, mec="white", mew=0.5,
                    label="TD-TF, linear part")  # fmt: skip
        ax.axvline(30.5, color="#8A949E", lw=0.9, ls=(0, (4, 3)))
        ax.set(xlabel="delays", ylabel="NRMSE of 1000 steps", ylim=(1e-15, 10))
        ax.grid(axis="y")
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def forecasts_of_the_signal(results: Results) -> Any:
    """The first 300 steps of the forecast, all seeds of the network with shared values (blue) over what came (grey)."""
    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(7.6, 3.6)
        axes = figure.subplots(2, 1, sharex=True)
        for ax, m in zip(axes, (SHORT, LONG), strict=True):
            data = results.select(part="network", values="shared", delays=m)
            ax.plot(data["true"], color="#B8BEC4", lw=4)
            for run in data["runs"].values:
                ax.plot(run, color=plot.PALETTE["blue"], lw=0.9)
            ax.set(title=f"{m} delays", ylim=(-2, 2), xlim=(0, 300))
            ax.grid(axis="y")
        axes[1].set_xlabel("step")
    return figure
