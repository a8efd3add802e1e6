"""The figures of `retrieval`."""

from typing import Any

from ... import Results
from .claims import MODES, N


def u_shape(results: Results) -> Any:
    """Lost in the middle: how well each token can be retrieved from the last of 128, at depth t = 1; β = λ = 1, eight
    classes. Zero is chance. Points: simulation with two standard errors, averaged over bins of sources; line: the
    closed form for many tokens; thin line: its matrix form for 128. Simulation is below by a few per cent, a bias of
    order 1/N.
    """
    from attnflow import plot

    data = results.select(part="simulation")
    points = (data["bin"].values, data["value"].values, data["stderr"].values)
    return plot.retrieval_profile(1.0, beta=1.0, context_slope=1.0, modes=MODES, points=points, n=N)


def profiles(results: Results) -> Any:
    """Profiles at several depths, β = λ = 1, eight classes; minima are marked. Left: relative to the least value.
    Beyond the critical depth 2.457 the profile only falls. Right: less the least value, t = 1, 1.1, …, 2. The
    worst source moves towards the end of the prompt.
    """
    import numpy as np

    from attnflow import plot
    from attnflow.reductions import causal

    s = np.linspace(0.02, 0.98, 800)
    with plot.style():
        figure = plot.new_figure(8.8, 3.8)
        left, right = figure.subplots(1, 2)
        for ax, times in ((left, (0.25, 0.5, 1.0, 2.0, 5.0)), (right, tuple(np.arange(10, 21) / 10))):
            height = 1 if ax is left else 0
            for t, shade in zip(times, np.linspace(0.15, 1, len(times)), strict=True):
                colour = plot.TIME(shade)
                S = causal.retrieval_profile(s, t, beta=1.0, context_slope=1.0)
                named = ax is left or t in (1.0, 1.5, 2.0)
                drawn = S / S.min() if ax is left else S - S.min()
                ax.plot(s, drawn, color=colour, label=f"$t = {t:g}$" if named else None)
                least = causal.profile_minimum(t, beta=1.0, context_slope=1.0)
                if np.isfinite(least.s):
                    ax.plot(least.s, height, "o", ms=6, color=colour, mec="white", mew=0.7, zorder=3)
            ax.set(xlabel=r"source position $\sigma_0$", xlim=(0, 1))
            ax.grid()
            ax.legend(loc="upper right")
        left.set(ylabel=r"$S_t(\sigma_0)\,/\,\min S_t$", ylim=(0.88, 3.5), title="below and beyond the critical depth")
        right.set(ylabel=r"$S_t(\sigma_0) - \min S_t$", ylim=(-0.12, 2.5), title="$t$ from 1 to 2 in steps of 0.1")
    return figure


def critical_times(results: Results) -> Any:
    """The depth up to which the last sources are retrieved better than those before them, against the inverse
    temperature; λ = 1, eight classes.
    """
    from attnflow import plot

    data = results.select(part="closed form")
    beta, critical = data["inverse_temperature"].values, data["curve"].values
    with plot.style():
        figure = plot.new_figure(5.0, 3.6)
        ax = figure.subplots()
        ax.semilogy(beta, critical, color=plot.PALETTE["blue"])
        floor, ceiling = 0.5 * critical.min(), 1.5 * critical.max()
        ax.fill_between(beta, floor, critical, color=plot.PALETTE["sky"], alpha=0.2, lw=0)
        ax.text(0.3, 0.02, "primacy and recency:\nthe U-shape", fontsize=10)
        ax.text(2.6, 3.0, "primacy alone", fontsize=10)
        ax.set(xlabel=r"inverse temperature $\beta$", ylabel=r"critical depth $t_{\mathrm{crit}}$")
        ax.set(xlim=(beta[0], beta[-1]), ylim=(floor, ceiling))
        ax.grid()
    return figure


def double_well(results: Results) -> Any:
    """A readout of four heads whose profile has two equal minima: the authors' weights, t = 1.5, eight classes."""
    import numpy as np

    from attnflow import plot
    from attnflow.reductions import causal

    turns = results.select(part="double well")
    s = np.linspace(0.05, 1, 500)
    with plot.style():
        figure = plot.new_figure(5.0, 3.4)
        ax = figure.subplots()
        ax.plot(s, causal.multi_head_profile(s, 1.5, causal.DOUBLE_WELL), color=plot.PALETTE["blue"])
        for x, y, minimum in zip(turns["s"].values, turns["value"].values, turns["minimum"].values, strict=True):
            colour = plot.PALETTE["vermillion" if minimum else "green"]
            ax.plot(x, y, "o", ms=6, color=colour, mec="white", mew=0.6, zorder=3)
            ax.annotate(
                f"{x:.4f}", (x, y), xytext=(0, -13 if minimum else 7), textcoords="offset points", ha="center",
                fontsize=9, color=colour,
            )  # fmt: skip
        ax.set(xlabel=r"source position $\sigma_0$", ylabel="combined profile", xlim=(0, 1), ylim=(-5.53, -5.38))
        ax.grid()
    return figure
