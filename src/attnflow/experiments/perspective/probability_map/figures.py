"""The figures of `probability_map`."""

from typing import Any

from ... import Results
from .claims import DELTA, REFERENCE, T1, N, probability

TITLES = {"euler-retract": "Euler steps of 0.1", "rk4": "accurate scheme"}


def map_of_meetings(results: Results) -> Any:
    """The probability that two of 32 tokens have met, ⟨x₁, x₂⟩ ≥ 0.999, in dimension d: uniform initial tokens, softmax
    attention. Upper row: the authors' scheme, Euler steps of 0.1 and renormalisation. Lower row: the classical
    Runge–Kutta method. The curve is where equiangular tokens have met; in high dimension the map jumps there.
    """
    import numpy as np

    import attnflow as af
    from attnflow import plot
    from attnflow.plot import HEAT

    maps = results.where(part="map")
    dimensions = sorted({cell["d"] for cell in maps.cells})
    betas = np.linspace(0, 9, 181)
    curve = np.asarray(af.reductions.phase_time(betas, n=N, delta=DELTA))
    with plot.style():
        figure = plot.new_figure(2.25 * len(dimensions) + 1.1, 4.7)
        grid = figure.subplots(2, len(dimensions), sharex=True, sharey=True, squeeze=False)
        for row, scheme in zip(grid, TITLES, strict=True):
            for axes, d in zip(row, dimensions, strict=True):
                data = maps.select(d=d, scheme=scheme)
                axes.pcolormesh(
                    *(_edges(data[name].values) for name in ("time", "beta")),
                    data["probability"],
                    cmap=HEAT,
                    vmin=0,
                    vmax=1,
                    rasterized=True,
                )
                axes.plot(curve, betas, color=plot.PALETTE["vermillion"], lw=1.8)
                lowest = _edges(data["beta"].values)[0]
                axes.set(xlim=(0, T1), ylim=(lowest, 9), xticks=(0, 10, 20, 30), yticks=(3, 6, 9))
            row[0].set_ylabel(f"{TITLES[scheme]}\n" + r"$\beta$")
        for top, bottom, d in zip(*grid, dimensions, strict=True):
            top.set_title(f"$d = {d}$")
            bottom.set_xlabel("time $t$")
        bar = figure.colorbar(grid[0, 0].collections[0], ax=grid, aspect=32, pad=0.015)
        bar.set_label(r"$P(\langle x_1, x_2\rangle \geq 1 - \delta)$")
        bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
        figure.legend(grid[0, 0].lines, [rf"phase curve $t^*(\beta)$, $n = {N}$"], loc="outside upper right")
    return figure


def schemes_along_time(results: Results) -> Any:
    """Left: the probability along time in the plane at β = 4; bands are two standard errors on each side, circles an
    independent computation with the accurate scheme. Right: d = 128, β = 6 with the accurate scheme; the dashed line is
    the time t* of the phase curve, which the jump approaches from below as d grows.
    """
    from attnflow import plot

    colours = {"euler-retract": plot.PALETTE["sky"], "rk4": plot.PALETTE["blue"]}
    with plot.style():
        figure = plot.new_figure(8.8, 3.5)
        for axes, (d, beta) in zip(figure.subplots(1, 2), ((2, 4.0), (128, 6.0)), strict=True):
            for scheme, colour in colours.items():
                data = results.select(part="map", d=d, scheme=scheme)
                ts = data["time"].values
                mean, error = (_array(v) for v in probability(results, d, beta, ts.tolist(), scheme))
                axes.plot(ts, mean, color=colour, label=TITLES[scheme], lw=1.4)
                axes.fill_between(ts, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.25, lw=0)
            times, values = list(REFERENCE[d, beta]), list(REFERENCE[d, beta].values())
            expected, error = _array([p for p, _ in values]), _array([e for _, e in values])
            mark = {"fmt": "o", "mfc": "white", "ms": 5, "color": plot.PALETTE["vermillion"], "lw": 1.2}
            axes.errorbar(times, expected, yerr=2 * error, label="reference", zorder=4, clip_on=False, **mark)
            axes.set(title=rf"$d = {d}$, $\beta = {beta:g}$", xlabel="time $t$", xlim=(0, T1))
            axes.grid()
        left, right = figure.axes
        left.set(ylabel=r"$P(\langle x_1, x_2\rangle \geq 1 - \delta)$", ylim=(0, 0.62))
        right.set_ylim(-0.02, 1.05)
        at_beta = results.select(part="map", d=128, scheme="rk4").sel(beta=6.0, method="nearest")
        right.axvline(float(at_beta["phase_time"]), color=plot.PALETTE["black"], ls="--", lw=1, label="$t^*(6)$")
        left.legend(loc="lower right")
        right.legend(loc="upper left")
    return figure


def _edges(centres: Any) -> Any:
    """The edges of cells around equally spaced centres."""
    import numpy as np

    half = (centres[1] - centres[0]) / 2
    return np.append(centres - half, centres[-1] + half)


def _array(values: Any) -> Any:
    import numpy as np

    return np.asarray(values)
