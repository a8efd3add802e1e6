"""The figures of `phases`."""

from typing import TYPE_CHECKING, Any

from ... import Results

if TYPE_CHECKING:
    import numpy
    import xarray

GREY = "#8A949E"
STEADY = 1 / 3  # the rate c of the reference experiment
CLOCK = r"$t$ (SA)"


def three_phases(results: Results) -> Any:
    """W₂ to the two Diracs of zero temperature against time. First it falls along e^{−ct} (dashed), the larger β the
    longer; dots mark t = log β, ticks below the time (1/2c) log β at which a cluster is as narrow as attention
    resolves. Then the clusters leave for the dominant eigenvector of V.
    """
    import numpy as np

    from attnflow import plot

    data = _data(results)
    with plot.style():
        figure = plot.new_figure(6.4, 4.2)
        axes = figure.add_subplot()
        t = data["time"].values
        for beta, colour in zip(data["beta"].values, colours(data.sizes["beta"]), strict=True):
            curve = data["W2"].sel(beta=beta).values
            axes.plot(t, curve, color=colour, lw=1.3, label=f"{beta:g}")
            axes.plot(np.log(beta), np.interp(np.log(beta), t, curve), "o", color=colour, ms=4.5, mec="white", mew=0.6)
            axes.plot([np.log(beta) / (2 * STEADY)] * 2, [0.0235, 0.027], color=colour, lw=2)
        early = t[t <= 12]
        axes.plot(early, 1.55 * np.exp(-STEADY * early), ls=(0, (4, 3)), color=GREY, lw=1.1)
        axes.text(2.0, 1.06, r"$\propto e^{-ct}$", color="#5A646E")
        axes.set(
            xlabel=CLOCK, ylabel=r"$W_2$ to the limit of zero temperature", yscale="log", xlim=(0, 25), ylim=(0.0235, 2)
        )
        axes.legend(title=r"$\beta$", loc="lower right", ncols=2)
        axes.grid()
    return figure


def closest_approach(results: Results) -> Any:
    """The least distance of the law to the limit of zero temperature, and its time. Lines have the slopes of the
    theory, −1/2 and 1/(2c) = 3/2, and 1/(2c) + 1/(2μ) = 2 for the exit, a heuristic that holds up to β = 128.
    """
    import numpy as np

    from attnflow import plot

    data = _data(results)
    beta, log = data["beta"].values, np.log(data["beta"].values)
    blue, red, green = (plot.PALETTE[name] for name in ("blue", "vermillion", "green"))
    with plot.style():
        figure = plot.new_figure(8.6, 3.6)
        left, right = figure.subplots(1, 2)
        least = data["W2_min"].values
        left.loglog(beta, least[3] * (beta / beta[3]) ** -0.5, color=GREY, ls=(0, (4, 3)), lw=1.1, label="slope $-1/2$")
        fit = np.polyfit(log[:-1], np.log(least[:-1]), 1)[0]
        left.loglog(beta, least, "o", color=blue, ms=5, label=rf"$\min_t W_2$, slope ${fit:.2f}$")
        left.set(xlabel=r"$\beta$", ylabel=r"least $W_2$")
        left.set_yticks([0.05, 0.1, 0.2, 0.3], ["0.05", "0.1", "0.2", "0.3"])
        up_to = beta <= 128
        for values, colour, mark, name, slope, used in (
            (data["t_min"].values, blue, "o", r"least $W_2$", 1.5, beta > 0),
            (data["exit"].values, red, "s", "exit", 2.0, up_to),
        ):
            middle = np.mean(values[used] - slope * log[used])
            right.plot(beta[used], middle + slope * log[used], color=GREY, ls=(0, (4, 3)), lw=1.1)
            right.plot(beta, values, mark, color=colour, ms=5, label=f"{name}, line of slope {slope:g}")
        plateau = data["plateau"].values
        right.fill_between(
            beta, plateau[:, 0], plateau[:, 1], color=green, alpha=0.13, lw=0, label=r"$W_2 \leq 2\min W_2$"
        )
        right.set(xlabel=r"$\beta$", ylabel=CLOCK, xscale="log", ylim=(0, None))
        for axes in (left, right):
            axes.legend()
            axes.grid()
            axes.set_xticks([8, 32, 128, 512], ["8", "32", "128", "512"])
            axes.minorticks_off()
    return figure


def law_on_the_circle(results: Results) -> Any:
    """The law of tokens at β = 64 at five times, as mass per radian, smoothed by 0.04: initially; when a cluster is as
    narrow as attention resolves; closest to the limit of zero temperature (±e₁, dashed); at the exit; finally (±e₂,
    dotted).
    """
    import numpy as np

    from attnflow import plot

    data = _data(results)
    times, titles = _moments(data)
    w, theta = data["weight"].values, np.linspace(-np.pi / 2 - 0.6, 3 * np.pi / 2 - 0.6, 721)
    with plot.style():
        figure = plot.new_figure(9.6, 2.6)
        for axes, time, title in zip(figure.subplots(1, 5, sharey=True), times, titles, strict=True):
            angle = data["shown_angle"].sel(time=time, method="nearest").values
            apart = np.mod(theta[:, None] - angle[None, :] + np.pi, 2 * np.pi) - np.pi
            mass = np.exp(-((apart / 0.04) ** 2) / 2) @ w / (0.04 * np.sqrt(2 * np.pi))
            axes.fill_between(theta, 1e-3, np.maximum(mass, 1e-3), color=plot.PALETTE["blue"], lw=0)
            for place, dash in ((0, (4, 3)), (np.pi, (4, 3)), (np.pi / 2, (1, 2)), (-np.pi / 2, (1, 2))):
                axes.axvline(place, color=GREY, lw=0.9, ls=(0, dash))
            axes.set(xlim=(theta[0], theta[-1]), yscale="log", ylim=(2e-3, 20), xlabel=r"angle $\theta$")
            axes.set_title(f"{title}\n$t = {time:.3g}$", fontsize=9)
            axes.set_xticks([-np.pi / 2, 0, np.pi / 2, np.pi], [r"$-\frac{\pi}{2}$", "0", r"$\frac{\pi}{2}$", r"$\pi$"])
        figure.axes[0].set_ylabel("mass per radian")
    return figure


def overlaps_cross(results: Results) -> Any:
    """Mean squares of the coordinates along E (where zero temperature leads) and along the dominant eigenvector of V
    (where the terminal phase leads). They cross at the exit. Left: V and B commute, and the two directions are
    orthogonal; right: they do not.
    """
    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(8.6, 4.0)
        cases = (
            ("reference", (16.0, 128.0), r"$V = \mathrm{diag}(1, 2)$, $B = \mathrm{diag}(3, 1)$", 20),
            ("turned", (8.0, 32.0), r"$V$ and $B^\top$ do not commute", 12),
        )
        for axes, (name, betas, title, end) in zip(figure.subplots(1, 2, sharey=True), cases, strict=True):
            data = _data(results, name)
            for variable, colour, text in (("overlap_E", "blue", "$E$"), ("overlap_top", "vermillion", "top of $V$")):
                for beta, dash in zip(betas, ("-", (0, (4, 2))), strict=True):
                    curve, label = data[variable].sel(beta=beta), rf"along {text}, $\beta = {beta:g}$"
                    axes.plot(data["time"], curve, color=plot.PALETTE[colour], ls=dash, label=label)
            axes.set(xlabel=CLOCK, xlim=(0, end), ylim=(0, 1.05), title=title)
            axes.grid()
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2)
        figure.axes[0].set_ylabel("mean square of the coordinate")
    return figure


def _data(results: Results, matrices: str = "reference") -> "xarray.Dataset":
    return results.select(matrices=matrices)


def _moments(data: Any) -> "tuple[numpy.ndarray, list[str]]":
    import numpy as np

    shown = data.sel(beta=64.0)
    exit_time, end = float(shown["exit"]), float(data["time"][-1])
    times = np.array([0.0, np.log(64.0) / (2 * STEADY), float(shown["t_min"]), exit_time, end])
    return times, ["initial", "narrow clusters", "closest", "exit", "terminal"]


def colours(count: int) -> list[Any]:
    """From dark to light, safe for colour-blind readers; not so light that a line vanishes."""
    import matplotlib as mpl
    import numpy as np

    return list(mpl.colormaps["viridis"](np.linspace(0, 0.88, count)))
