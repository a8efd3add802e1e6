"""The figures of `cells`."""

from typing import Any

from ... import Results

TICKS, ERRORS = (2, 4, 8, 12, 16, 32, 64), (0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3)


def a_map_and_its_approximation(results: Results) -> Any:
    """(a) A grid of lines under a diffeomorphism that bends the square and turns its centre. (b) The same lines under
    the flow of ReLU neurons that approximates it: they stay straight inside cells, which are moved and not turned.
    (c) The distance of the two images, over the points of the square: largest where the map turns most.
    """
    import numpy as np

    from attnflow import plot

    data, n = next((data, cell["n"]) for cell, data in results.where(part="lines"))
    with plot.style():
        figure = plot.new_figure(10.6, 3.7)
        axes = figure.subplots(1, 3, gridspec_kw={"width_ratios": [1, 1, 1.2]})
        titles = ("(a) the map $\\varphi$", f"(b) the flow $\\Psi$, {n}² cells")
        for ax, name, title in zip(axes, ("true", "flow"), titles, strict=False):
            lines = data[f"{name}_lines"].values
            for k, line in enumerate(lines):
                shown = line.copy()
                shown[1:][np.linalg.norm(np.diff(line, axis=0), axis=1) > 3e-3] = np.nan  # it jumps between cells
                colour = plot.PALETTE["blue" if k < len(lines) // 2 else "vermillion"]
                ax.plot(*shown.T, color=colour, lw=0.8)
            ax.set(title=title, xlabel="$x_1$", ylabel="$x_2$", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        away = axes[2].imshow(data["away"].values.T, origin="lower", extent=(0, 1, 0, 1), cmap=plot.HEAT, vmin=0)
        axes[2].set(title="(c) the error $|\\Psi(x) - \\varphi(x)|$", xlabel="$x_1$", ylabel="$x_2$")
        figure.colorbar(away, ax=axes[2], shrink=0.85)
    return figure


def the_square_unrolled(results: Results) -> Any:
    """A quarter turn of 25 cells in five shears, along $x_1$ and $x_2$ in turn; every row has a colour, lighter to the
    right. (a) The square. (b) Rows are moved apart. (c) Every cell is lifted to a height of its own, (d) moved to its
    place, (e) let down to the row where it belongs. (f) Rows are moved together: the square has turned, each cell
    has only moved.
    """
    import numpy as np
    from matplotlib.collections import PatchCollection
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    from attnflow import plot

    data = results.select(part="frames")
    states = data["x"].values
    n = round(np.sqrt(states.shape[1]))
    names = ("the square", "along $x_1$", "along $x_2$", "along $x_1$", "along $x_2$", "along $x_1$")
    rows = [np.array(to_rgb(plot.PALETTE[name])) for name in list(plot.PALETTE)[:n]]
    colours = [1 - (1 - rows[k // n]) * (1 - 0.7 * (k % n) / n) for k in range(n * n)]
    with plot.style():
        figure = plot.new_figure(9.6, 7.0)
        for letter, ax, x, name in zip("abcdef", figure.subplots(2, 3).ravel(), states, names, strict=True):
            corners = [Rectangle(tuple(centre - 0.5 / n), 1 / n, 1 / n) for centre in x]
            ax.add_collection(PatchCollection(corners, facecolor=colours, edgecolor="white", lw=0.4))
            low, high = x.min(axis=0) - 0.7 / n, x.max(axis=0) + 0.7 / n
            ax.set(title=f"({letter}) {name}", xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
            ax.set(xlabel="$x_1$", ylabel="$x_2$")
    return figure


def errors_and_pieces(results: Results) -> Any:
    """(a) Errors against the number of cells along an axis: a map of the square and one of the cube that change
    volumes (RMS and total variation), and a swirl that keeps areas (RMS). Dotted: slope −1. (b) Pieces against the RMS
    error: the lines have the slopes −2 for the square and −3 for the cube.
    """
    import numpy as np
    from matplotlib.ticker import FixedLocator, NullLocator

    from attnflow import plot

    series = (
        ("bent", "rms", "blue", "o-", "square, RMS"),
        ("bent", "tv", "blue", "o--", "square, TV"),
        ("space", "rms", "vermillion", "s-", "cube, RMS"),
        ("space", "tv", "vermillion", "s--", "cube, TV"),
        ("swirl", "rms", "green", "D-", "areas kept, RMS"),
    )
    with plot.style():
        figure = plot.new_figure(9.2, 3.8)
        left, right = figure.subplots(1, 2)
        for part, name, colour, mark, label in series:
            rows = [(cell["n"], float(data[name])) for cell, data in results.where(part=part)]
            n, error = np.array(rows).T
            left.loglog(n, error, mark, ms=4, color=plot.PALETTE[colour], label=label, lw=1.2)
        ends = np.array(left.get_xlim())
        left.loglog(ends, 0.45 / ends, ":", color="#8A949E", lw=1.3, label="slope −1")
        left.set(xlabel="cells along an axis $n$", ylabel="error", xlim=ends)
        for part, d, colour, mark, label in (
            ("swirl", 2, "green", "D", "square, areas kept"),
            ("bent", 2, "blue", "o", "square"),
            ("space", 3, "vermillion", "s", "cube"),
        ):
            rms, pieces = np.array(
                [(float(data["rms"]), int(data["merged"])) for _, data in results.where(part=part)]
            ).T
            right.loglog(rms, pieces, mark, ms=5, color=plot.PALETTE[colour], label=label)
            reach = np.array([rms.min(), rms.max()])
            right.loglog(reach, pieces[-1] * (reach / rms[-1]) ** -float(d), color=plot.PALETTE[colour], lw=1.0)
        right.set(xlabel="RMS error", ylabel="pieces")
        for ax, axis, ticks in ((left, left.xaxis, TICKS), (left, left.yaxis, ERRORS), (right, right.xaxis, ERRORS)):
            low, high = axis.get_view_interval()
            axis.set_major_locator(FixedLocator([tick for tick in ticks if low <= tick <= high]))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_locator(NullLocator())
            ax.grid()
        for ax in (left, right):
            ax.legend()
    return figure
