"""The figures of `circle`."""

from typing import Any

from ... import Results
from .claims import BETAS, COUNTED, TABLE, N, clusters, on_the_plateau
from .claims import number_of_modes as mean_number


def number_of_modes(results: Results) -> Any:
    """The mean number of modes of uniform tokens on the circle over √β, with two standard errors, the closed form for
    many tokens, and its limit √(3/2). 32 tokens are too few at β = 100.
    """
    import numpy as np

    import attnflow as af
    from attnflow import plot

    fine = np.geomspace(1, 150, 200)
    with plot.style():
        figure = plot.new_figure(5.4, 3.8)
        axes = figure.add_subplot()
        axes.plot(
            fine,
            np.asarray(af.reductions.expected_modes_circle(fine)) / np.sqrt(fine),
            color=plot.PALETTE["vermillion"],
            label="closed form",
        )
        limit = {"color": plot.PALETTE["black"], "lw": 1.1, "ls": (0, (4, 3)), "label": r"$\sqrt{3/2}$"}
        axes.axhline(np.sqrt(1.5), **limit)
        for n, colour, marker in ((32, "sky", "s"), (256, "blue", "o")):
            betas = [beta for of, beta in TABLE if of == n]
            value, error = np.array([mean_number(results, n, beta) for beta in betas]).T / np.sqrt(betas)
            place = np.array(betas) * (0.97 if n == 32 else 1.03)  # side by side
            mark = {"fmt": marker, "ms": 5, "color": plot.PALETTE[colour], "capsize": 3}
            axes.errorbar(place, value, yerr=2 * error, label=f"counted, $n = {n}$", zorder=3, **mark)
        axes.set(xscale="log", xlabel=r"$\beta$", ylabel=r"number of modes / $\sqrt{\beta}$", ylim=(1.1, 1.35))
        axes.grid()
        axes.legend(loc="upper right")
    return figure


def modes_and_clusters(results: Results) -> Any:
    """32 uniform tokens on the circle: the modes of their initial density, the clusters at t = 30 and 100 and on the
    plateau (means with two standard errors), and the waves k_max of the fastest growing pattern around the
    uniform measure. The plateau is the number of clusters, more than one, that lasts longest in log t from t = 1 on.
    """
    import math

    from attnflow import plot

    waves = results.select(part="clusters")["fastest"]
    with plot.style():
        figure = plot.new_figure(5.6, 3.8)
        axes = figure.add_subplot()
        place = range(len(BETAS))
        rows = [
            (r"$k_{\max}$, linear theory", [(float(waves.sel(beta=b)), 0.0) for b in BETAS], "black", "_"),
            (r"modes, $t = 0$", [mean_number(results, N, b) for b in BETAS], "vermillion", "o"),
        ]
        for t, colour in zip(COUNTED, ("sky", "blue"), strict=True):
            counts = [clusters(results, b, t) for b in BETAS]
            rows.append((f"clusters, $t = {t:g}$", [(m, s / math.sqrt(k)) for m, s, k in counts], colour, "s"))
        rows.append(("clusters, longest plateau", [on_the_plateau(results, b) for b in BETAS], "green", "D"))
        for (name, values, colour, marker), shift in zip(rows, (0.0, -0.18, -0.06, 0.06, 0.18), strict=True):
            size = 16 if marker == "_" else 5
            mark = {"fmt": marker, "ms": size, "mew": 2 if marker == "_" else 1, "color": plot.PALETTE[colour]}
            where, error = [p + shift for p in place], [2 * v[1] for v in values]
            error = None if marker == "_" else error
            axes.errorbar(where, [v[0] for v in values], yerr=error, capsize=3, label=name, **mark)
        axes.set(xticks=list(place), xticklabels=[f"{b:g}" for b in BETAS], xlabel=r"$\beta$", ylabel="number")
        axes.set(ylim=(0, 9))
        axes.grid(axis="y")
        axes.legend(loc="upper left", frameon=True, facecolor="white", edgecolor="none", framealpha=1)
    return figure
