"""The figures of `high_dimension`."""

from typing import Any

from ... import Results

EDGE = 1e-4  # the paper draws an edge from i to j where P_ij exceeds this


def leaders_emerge(results: Results) -> Any:
    """20 tokens in the plane (rescaled), V = W Wᵀ, B = U Uᵀ, explicit Euler with dt = 0.1 as in the paper. A line joins
    tokens with P > 10⁻⁴; the area of a dot is the attention that a token receives. All tokens attend to a few leaders.
    """
    import numpy as np
    from matplotlib.collections import LineCollection

    from attnflow import plot

    data, run = results.select(part="leaders"), results.run(part="leaders")
    with plot.style():
        figure = plot.new_figure(10.4, 3.5)
        for axes, t in zip(figure.subplots(1, 4), (0.0, 1.0, 3.0, 10.0), strict=True):
            now = data.sel(time=t, method="nearest")
            z, P = np.asarray(run.at(now["time"].item())), np.asarray(now["P"])
            i, j = np.nonzero(P > EDGE)
            edges = np.stack([z[i], z[j]], axis=1)
            axes.add_collection(LineCollection(list(edges), colors="#6FA8D6", lw=0.5, alpha=0.6, zorder=1))
            received = P.mean(axis=0)
            axes.scatter(*z.T, s=14 + 260 * received, color=plot.PALETTE["vermillion"], ec="white", lw=0.6, zorder=3)
            heads = int((np.asarray(now["followers"]) > 0).sum())
            axes.set(title=f"$t = {t:g}$, {heads} leader{'' if heads == 1 else 's'}", xlabel="$z_1$")
            axes.margins(0.12)
            axes.grid()
        figure.axes[0].set_ylabel("$z_2$")
    return figure


def rank_falls(results: Results) -> Any:
    """40 tokens in dimension 80, V = W Wᵀ/d, B = I: the true dynamics of attention (the authors' script integrates the
    linear flow alone). Left: rank of P and number of leaders against time. Right: P at the end, one column for each
    leader.
    """
    import numpy as np

    from attnflow import plot
    from attnflow.plot import HEAT

    data = results.select(part="rank")
    with plot.style():
        figure = plot.new_figure(9.2, 3.7)
        left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
        left.plot(data["time"], data["rank"], lw=2.6, label="rank (singular values above $10^{-6}$)")
        left.plot(data["time"], data["leaders"], color=plot.PALETTE["orange"], lw=1.2, label="leaders")
        left.set(
            xlabel="time $t$", ylabel="number", xlim=(0, float(data["time"][-1])), ylim=(0, data.sizes["token"] + 2)
        )
        left.legend()
        left.grid()
        image = right.imshow(np.asarray(data["last"]), cmap=HEAT, vmin=0, vmax=1)
        right.set(xlabel="key (attended token)", ylabel="token", title=f"$P$ at $t = {float(data['time'][-1]):g}$")
        figure.colorbar(image, ax=right, label="$P_{ij}$", shrink=0.85)
    return figure


def clustered_and_diverging(results: Results) -> Any:
    """A sparse symmetric V in high dimension. For every eigenvector the range of the rescaled tokens along it, at the
    end over that at the start, against its eigenvalue: components with a positive eigenvalue shrink, others diverge.
    """
    import numpy as np

    from attnflow import plot

    data = results.select(part="coordinates")
    values, ranges = np.asarray(data["eigenvalue"]), np.asarray(data["range"])
    ts = np.asarray(data["time"])
    with plot.style():
        figure = plot.new_figure(9.4, 3.7)
        left, right = figure.subplots(1, 2)
        ratio = ranges / ranges[0]
        colours = np.where(values > 0, plot.PALETTE["blue"], plot.PALETTE["vermillion"])
        for k, colour in enumerate(colours):
            left.semilogy(ts, ratio[:, k], color=colour, lw=0.8, alpha=0.6)
        for name, sign in (("blue", ">"), ("vermillion", "<")):
            left.plot([], [], color=plot.PALETTE[name], label=rf"$\lambda {sign} 0$")
        left.set(xlabel="time $t$", ylabel="range of a component / at the start", xlim=(0, ts[-1]))
        left.legend()
        right.scatter(values, ratio[-1], c=colours, s=16)
        right.axhline(1, color="0.5", lw=0.8, ls=(0, (4, 3)))
        right.axvline(0, color="0.5", lw=0.8, ls=(0, (4, 3)))
        right.set_yscale("log")
        right.set(xlabel=r"eigenvalue $\lambda$", ylabel="range at the end / at the start")
        for axes in (left, right):
            axes.grid()
    return figure
