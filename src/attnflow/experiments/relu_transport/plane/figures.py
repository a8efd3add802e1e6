"""The figures of `plane`."""

from typing import Any

from ... import Results

NAMES = {
    "field": ("blue", "o", "A, field"),
    "ridge": ("vermillion", "s", "B, ridge"),
    "field+ridge": ("purple", "D", "A, then B"),
    "grid": ("green", "^", "C, grid, off its ramps"),
}


def divergence_against_switches(results: Results) -> Any:
    """Two half-moons: relative entropy of the target from the law that was built, against the number of switches, on
    points drawn for the purpose; every mark is one draw. Along a field (A), one direction after another (B), two thirds
    of the one and then the other; and on a grid (C), from a uniform law, off the ramps of its shears.
    """
    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(5.4, 4.0)
        axes = figure.subplots()
        for method, (colour, marker, label) in NAMES.items():
            chosen = {"part": "grid", "target": "moons"} if method == "grid" else {"part": "curve", "method": method}
            marks = [(float(d["switches"]), float(d["kl"])) for _, d in results.where(**chosen)]
            style = {"color": plot.PALETTE[colour], "ms": 5.5, "mec": "white", "mew": 0.6}
            axes.loglog(*zip(*marks, strict=True), marker, label=label, **style)
            means = [(n, _median([kl for at, kl in marks if at == n])) for n in sorted({at for at, _ in marks})]
            axes.loglog(*zip(*means, strict=True), "-", color=plot.PALETTE[colour], lw=0.9, alpha=0.6)
        axes.set(xlabel="switches", ylabel=r"$\mathrm{KL}(\rho_*\,|\,\rho_T)$", ylim=(8e-3, 1))
        axes.grid()
        axes.legend()
    return figure


def moons_three_ways(results: Results) -> Any:
    """The density of two half-moons as a field, ridges and a grid make it; the straight lines are the kinks of neurons,
    where it jumps.
    """
    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(9.4, 3.8)
        for axes, method in zip(figure.subplots(1, 3, sharey=True), ("field", "ridge", "grid"), strict=True):
            data = results.select(part="picture", method=method)
            _raster(axes, data["density"], data)
            axes.set_title(
                f"{NAMES[method][2].split(',')[0]}: {int(data['switches'])} switches, KL {float(data['kl']):.3f}"
            )
    return figure


def normal_becomes_moons(results: Results) -> Any:
    """A normal law on its way to two half-moons along a field, at six times."""
    from attnflow import plot

    data = results.select(part="film")
    with plot.style():
        figure = plot.new_figure(9.4, 6.2)
        for axes, share in zip(
            figure.subplots(2, 3, sharex=True, sharey=True).ravel(), data["share"].values, strict=True
        ):
            _raster(axes, data["density"].sel(share=share), data)
            axes.set_title(f"$t = {share:g}$")
    return figure


def grid_errors(results: Results) -> Any:
    """Cell averages on a grid of n x n cells, n² + 8n − 7 switches: total variation and relative entropy (off the
    ramps). Lines are proportional to 1/n and 1/n².
    """
    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(5.2, 3.8)
        axes = figure.subplots()
        for target, colour, name in (("mix3", "blue", "three Gaussians"), ("moons", "vermillion", "half-moons")):
            for variable, marker, order, label in (
                ("tv", "o", 1, "total variation"),
                ("kl", "s", 2, "relative entropy"),
            ):
                n, error = results.curve(variable, over="n", part="grid", target=target)
                style = {"color": plot.PALETTE[colour], "mfc": None if marker == "o" else "white", "ms": 5}
                axes.loglog(n, error, marker, label=f"{name}, {label}", **style)
                axes.loglog(n, error[-1] * (n[-1] / n) ** order, color="#8A949E", lw=0.9, zorder=0)
        axes.set_xticks(n, [f"{int(k)}" for k in n])
        axes.set_xticks([], minor=True)
        axes.set(xlabel="$n$", ylabel="error", ylim=(2e-3, 1))
        axes.grid()
        axes.legend()
    return figure


def _raster(axes: Any, values: Any, data: Any) -> None:
    from attnflow import plot

    low, high = float(data["y1"][0]), float(data["y1"][-1])
    axes.imshow(values, origin="lower", extent=(low, high, low, high), cmap=plot.HEAT, vmin=0, vmax=0.45)
    axes.set(xlabel="$y_1$", ylabel="$y_2$")
    axes.label_outer()


def _median(values: list[float]) -> float:
    import numpy as np

    return float(np.median(values))
