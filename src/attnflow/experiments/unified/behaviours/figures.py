"""The figures of `behaviours`."""

from typing import Any

from ... import Results

CONES = {"zero": "F1: to the origin", "line": "F2: to a ray", "two lines": "F3: to two rays"}


def cones(results: Results) -> Any:
    """Covariances in the plane under softmax attention, in the coordinates (s11 − s22, 2 s12, s11 + s22): all of them
    form the cone whose edge (grey) are those of rank one. They start (points) with trace one and end (black) at the
    origin, on one ray of the edge, or on one of two.
    """
    import numpy as np

    from attnflow import plot

    angle = np.linspace(0, 2 * np.pi, 73)
    with plot.style():
        figure = plot.new_figure(9.8, 3.8)
        figure.set_layout_engine("none")  # it ignores labels of 3D axes
        for k, (name, title) in enumerate(CONES.items()):
            path = results.select(part="cone", case=name)["path"].values
            top = float(path[..., 2].max())
            axes: Any = figure.add_axes((0.005 + k / 3, 0.03, 0.29, 0.88), projection="3d", computed_zorder=False)
            for z in np.linspace(0, top, 5)[1:]:
                axes.plot(z * np.cos(angle), z * np.sin(angle), z, color="#B8BEC4", lw=0.7)
            for a in angle[:-1:12]:
                axes.plot([0, top * np.cos(a)], [0, top * np.sin(a)], [0, top], color="#B8BEC4", lw=0.7)
            for curve in path:
                axes.plot(*curve.T, color=plot.PALETTE["blue"], lw=0.7, alpha=0.75)
            axes.scatter(*path[:, 0].T, s=4, color=plot.PALETTE["sky"], depthshade=False)
            axes.scatter(*path[:, -1].T, s=9, color="black", depthshade=False)
            axes.set(xlabel="$s_{11} - s_{22}$", ylabel="$2s_{12}$", zlabel="trace")
            figure.text(0.17 + k / 3, 0.9, title, ha="center", va="top", size=11)
            axes.view_init(elev=22, azim=-58)
            axes.tick_params(labelsize=7, pad=0)
            axes.set_box_aspect((1, 1, 0.95), zoom=1.08)
            axes.patch.set_alpha(0)  # labels extend into the next panel
            axes.xaxis.labelpad = axes.yaxis.labelpad = axes.zaxis.labelpad = -3
            for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
                axis.set_major_locator(_three_ticks())
    return figure


def blow_up_times(results: Results) -> Any:
    """F4, softmax with A + Aᵀ > 0 and V = I: every covariance blows up. Left: starts of trace one in the disc of
    (s11 − s22, 2 s12), coloured by the time of blow-up; arrows end at Σ/tr Σ just before it, on the circle of
    covariances of rank one. Right: the trace along some of the runs.
    """
    import numpy as np
    from matplotlib.colors import LogNorm

    from attnflow import plot

    data = results.select(part="disc")
    start, last, t_star = (data[name].values for name in ("start", "last", "t_star"))
    with plot.style():
        figure = plot.new_figure(8.6, 3.7)
        left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
        _circle(left)
        shown = slice(None, None, max(1, len(start) // 60))
        for a, b in zip(start[shown], last[shown], strict=True):
            left.annotate("", b[:2], a[:2], arrowprops={"arrowstyle": "->", "color": "#8A949E", "lw": 0.6})
        points = left.scatter(*start[:, :2].T, c=t_star, s=14, cmap="viridis", norm=LogNorm(), zorder=3)
        bar = figure.colorbar(points, ax=left, label="time of blow-up $t^*$ (SA)", format="%g")
        bar.set_ticks([t for t in (0.4, 0.6, 1, 2, 4, 8) if t_star.min() <= t <= t_star.max()])
        bar.minorticks_off()
        for k in np.argsort(t_star)[np.linspace(0, len(t_star) - 1, 6).astype(int)]:
            trace = data["trace"].values[k]
            colour = points.cmap(points.norm(t_star[k]))
            right.loglog(data["time"].values[1:], trace[1:], color=colour)
            right.axvline(t_star[k], color=colour, ls=(0, (2, 2)), lw=0.9)
        right.set(xlabel="$t$ (SA)", ylabel=r"$\mathrm{tr}\,\Sigma$", ylim=(0.8, 1e3), xlim=(0.05, 1.2 * t_star.max()))
        right.grid()
    return figure


def two_fates(results: Results) -> Any:
    """F5, softmax with A + Aᵀ indefinite: starts of trace one in the disc of (s11 − s22, 2 s12) that converge (open
    circles) and that blow up (squares, coloured by the time).
    """
    from attnflow import plot

    side = max(cell["side"] for cell in results.where(part="fates").cells)
    data = results.select(part="fates", side=side)
    start, words, t_star = (data[name].values for name in ("start", "outcome", "t_star"))
    rest, up = words == "converged", words == "blow_up"
    other = ~(rest | up)
    with plot.style():
        figure = plot.new_figure(5.6, 4.2)
        axes = figure.subplots()
        _circle(axes)
        size = 900 / side
        axes.scatter(*start[rest, :2].T, s=size, facecolors="none", edgecolors="#8A949E", label="converges")
        points = axes.scatter(*start[up, :2].T, s=size, c=t_star[up], marker="s", cmap="viridis", label="blows up")
        if other.any():
            axes.scatter(*start[other, :2].T, s=size, marker="x", color="black", label="undecided at $t = 1000$")
        figure.colorbar(points, ax=axes, label="time of blow-up $t^*$ (SA)")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)
    return figure


def decay(results: Results) -> Any:
    """F1, K = −Q and V positive: the covariance vanishes like 1/t, under softmax, L2 and Sinkhorn attention alike."""
    import numpy as np

    from attnflow import plot

    trace = results.select(part="decay")["trace"]
    t = trace["time"].values
    with plot.style():
        figure = plot.new_figure(5.0, 3.5)
        axes = figure.subplots()
        for name, colour, line in zip(
            trace["map"].values, ("blue", "vermillion", "green"), ("-", "--", "-."), strict=True
        ):
            axes.loglog(t[1:], trace.sel(map=name).values[1:], ls=line, color=plot.PALETTE[colour], label=str(name))
        late = t[t > 30]
        axes.loglog(late, 60 / late, ls=":", color="black", lw=1.1, label=r"$\propto 1/t$")
        axes.set(xlabel="$t$ (SA)", ylabel=r"$\mathrm{tr}\,\Sigma$")
        axes.set_xticks(np.geomspace(1e-2, 1e6, 5))
        axes.grid()
        axes.legend()
    return figure


def rank_histograms(results: Results) -> Any:
    """F6, A = −QᵀQ/√d with Q of rank ⌊d/2⌋: ranks of the limits of a hundred random laws. Counted as eigenvalues above
    0.1, as in the paper, ranks vary; counted relative to the largest eigenvalue (one in 1e8) all limits with V = I have
    rank d − ⌊d/2⌋. With V = MᵀM the flow is stopped at t = 1e4, where eigenvalues that vanish are still above 1e-8; a
    law that has its full rank there belongs to a V that is nearly singular, and moves on as slowly.
    """
    import numpy as np

    from attnflow import plot

    chosen = list(results.where(part="ranks"))
    with plot.style():
        figure = plot.new_figure(2.45 * len(chosen), 3.3)
        panels = np.atleast_1d(figure.subplots(1, len(chosen), sharey=True))
        for axes, (cell, data) in zip(panels, chosen, strict=True):
            d = cell["d"]
            above = (data["eigenvalues"].values > 0.1).sum(axis=1)
            counts = {"eigenvalues above 0.1": (above, "blue", -0.2)}
            if cell["value"] == "random":
                counts = {"eigenvalues above 0.1": (above, "blue", 0.0)}
            else:
                counts["relative, one in $10^8$"] = (data["rank"].values, "orange", 0.2)
            for label, (ranks, colour, shift) in counts.items():
                bars = [(ranks == k).sum() for k in range(d + 1)]
                axes.bar(np.arange(d + 1) + shift, bars, 0.38, color=plot.PALETTE[colour], label=label)
            value = "$V = I$" if cell["value"] == "identity" else "$V = M^\\top M$"
            axes.set(xlabel="rank", title=f"$d = {d}$, {value}")
            axes.set_xticks(range(d + 1))
        panels[0].set_ylabel("number of laws")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _circle(axes: Any) -> None:
    """The edge of the disc: covariances of rank one and trace one."""
    import numpy as np

    angle = np.linspace(0, 2 * np.pi, 361)
    axes.plot(np.cos(angle), np.sin(angle), color="#8A949E", lw=0.8)
    axes.set(xlabel="$s_{11} - s_{22}$", ylabel="$2s_{12}$", aspect="equal", xlim=(-1.08, 1.08), ylim=(-1.08, 1.08))


def _three_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(3)
