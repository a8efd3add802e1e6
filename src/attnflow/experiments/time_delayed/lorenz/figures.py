"""The figures of `lorenz`."""

from typing import Any

from ... import Results
from .claims import DT, NETWORK


def error_growth(results: Results) -> Any:
    """Distance of forecast and truth over the size of the attractor, against time in Lyapunov times: medians over 25
    starts (bands: quartiles), each seed of the network a line. A forecast is valid below 0.4, the dotted line.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(5.8, 3.5)
        ax = figure.subplots()
        looks = [(results.select(**NETWORK), "blue", "TD-TF, each seed", "-")]
        looks += [(data, colour, f"TD-DMD, {cell['delays']} delays", dash) for (cell, data), colour, dash in
                  zip(results.where(part="linear"), ("vermillion", "orange"), ("--", "-."), strict=False)]  # fmt: skip
        for data, colour, label, dash in looks:
            time = 0.9056 * DT * (1 + 10 * np.arange(data.sizes["step"]))
            for k, errors in enumerate(data["errors"].values):
                low, middle, high = np.quantile(errors, (0.25, 0.5, 0.75), axis=0)
                ax.semilogy(time, middle, dash, color=plot.PALETTE[colour], lw=1.3, label=label if k == 0 else None)
                ax.fill_between(time, low, high, color=plot.PALETTE[colour], alpha=0.08, lw=0)
        ax.axhline(0.4, color="#8A949E", lw=0.9, ls=":")
        ax.set(xlabel="lead time in Lyapunov times", ylabel="error / size of the attractor")
        ax.set(ylim=(1e-4, 5), xlim=(0, 10))
        ax.grid()
        ax.legend(loc="lower right")
    return figure


def attractors(results: Results) -> Any:
    """3000 steps of the system, of TD-TF and of TD-DMD with 32 delays from the same window, x against z."""
    from attnflow.forecasting import pictures

    network, linear = results.select(**NETWORK), results.select(part="linear", delays=32)
    paths = {"the system": network["true_path"], "TD-TF": network["path"], "TD-DMD": linear["path"]}
    return pictures.phase_portrait({name: path.values[:, [0, 2]] for name, path in paths.items()}, names=("x", "z"))


def lags_looked_at(results: Results) -> Any:
    """Attention of the best seed against the lag: median and quartiles over windows. Other seeds look elsewhere."""
    from attnflow import plot

    data = results.select(**NETWORK)["attention"].values
    with plot.style():
        figure = plot.new_figure(4.6, 2.9)
        ax = figure.subplots()
        ax.fill_between(range(data.shape[1]), data[0], data[2], color=plot.PALETTE["blue"], alpha=0.22, lw=0)
        ax.plot(data[1], "o-", color=plot.PALETTE["blue"], ms=4)
        ax.axhline(1 / data.shape[1], color="#8A949E", lw=0.9, ls=(0, (4, 3)))
        ax.set(xlabel="lag in samples", ylabel="attention", ylim=(0, None))
        ax.grid(axis="y")
    return figure
