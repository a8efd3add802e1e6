"""The figures of `matching`."""

from typing import Any

from ... import Results

COLOURS = ("blue", "vermillion", "green", "purple", "orange")


def families_on_the_sphere(results: Results) -> Any:
    """Three families of twelve atoms, six of them in common (at first drawn one inside the other): two pieces of
    attention move equal atoms of different families apart, and bands then take them home one by one (rings: targets).
    One transformer, every family by itself.
    """
    import attnflow as af

    from ..data_sets import clusters, inputs, rng_of

    rng = rng_of(0, 4)
    matching = af.match_measures(inputs(rng, 3, 12, 6, 3), clusters(rng, 3, 12, 3))
    return matching.stages()


def distances_along_the_schedule(results: Results) -> Any:
    """Five measures of twenty atoms. Left: the distance of each from its target along the schedule; a measure is at
    home when its last atom is. Right: the distances at the end, of all draws and measures, by 300 Runge-Kutta steps in
    each piece and by an adaptive solver; closed forms end at rounding.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(8.6, 3.3)
        left, right = figure.subplots(1, 2)
        data = results.select(part="atoms", N=5, draw=0)
        for j, colour in enumerate(COLOURS):
            left.plot(data["time"], data["away"][j], color=plot.PALETTE[colour], label=f"measure {j + 1}")
        left.set(xlabel="time $t$", ylabel="$W_2$ to the target", xlim=(0, 1), ylim=(0, None))
        names = {"closed": "closed forms", "integrated": "adaptive", "fixed_steps": "300 steps a piece"}
        for k, variable in enumerate(names):
            ends = np.concatenate([d[variable].values for _, d in results.where(part="atoms")])
            rng = np.random.default_rng(0)
            where = k + rng.uniform(-0.22, 0.22, len(ends))
            right.semilogy(
                where, np.maximum(ends, 1e-16), "o", ms=3.5, color=plot.PALETTE[COLOURS[k]], mec="white", mew=0.3
            )
        right.axhline(1e-6, color="#8A949E", lw=0.9, ls=(0, (4, 3)))
        right.set_xticks(range(3), list(names.values()))
        right.set(ylabel="$W_2$ at the end", xlim=(-0.5, 2.5))
        for ax in (left, right):
            ax.grid(axis="y")
        left.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, columnspacing=1.0)
    return figure


def words_on_the_sphere(results: Results) -> Any:
    """Four letters, 24 atoms each, become four others: after attention, after a third and two thirds of the bands, at
    the end. One transformer moves all letters.
    """
    import numpy as np
    from matplotlib.colors import to_rgba

    from attnflow import plot
    from attnflow.plot.globe import draw_discs, draw_globe, eye_of

    data = results.select(part="words")
    x, wanted, after = data["x"].values, data["wanted"].values, data["after"].values
    eye = eye_of(0.0, 0.0)
    with plot.style():
        figure = plot.new_figure(10.4, 2.6)
        for ax, at in zip(figure.subplots(1, len(x)), range(len(x)), strict=True):
            draw_globe(ax, eye)
            for j in range(x.shape[1]):
                colour = plot.PALETTE[COLOURS[j]]
                ax.plot(*(wanted[j] @ eye.T)[:, :2].T, "o", ms=3.4, mfc="none", mec=colour, mew=0.35, alpha=0.6)
                colours = np.tile(to_rgba(colour), (x.shape[2], 1))
                draw_discs(ax, x[at, j] @ eye.T, np.full(x.shape[2], 6.0), np.zeros(x.shape[2]), colours, 3)
            pieces = int(after[at])
            ax.set(xlim=(-1.04, 1.04), ylim=(-1.04, 1.04), aspect="equal",
                   title="sources" if pieces == 0 else f"after {pieces} pieces")  # fmt: skip
            ax.set_axis_off()
    return figure


def averaging_to_points(results: Results) -> Any:
    """Five measures to points. Left: the distances at the end after V = I has acted for 12 and for 16; lines fall by
    the factor e⁻⁴. Right: the distance of the farthest measure against the ε that was asked, below the diagonal; beside
    the points the time that V = I acts for.
    """
    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(7.6, 3.2)
        left, right = figure.subplots(1, 2)
        for k, (_, data) in enumerate(results.where(part="points")):
            for j in range(5):
                left.semilogy(data["averaging"], data["away"][:, j], "o-", ms=4, lw=1.0, color=plot.PALETTE[COLOURS[k]],
                              label=f"draw {k + 1}" if j == 0 else None)  # fmt: skip
        left.set(xlabel="time of $V = I$", ylabel="$W_2$ at the end", xticks=[12, 16], xlim=(11, 17))
        data = results.select(part="times")
        eps, time = data["eps"].values, data["averaging"].values
        right.loglog(eps, data["away"], "o", color=plot.PALETTE["blue"])
        right.loglog(eps, eps, color="#8A949E", lw=0.9, ls=(0, (4, 3)))
        for at in zip(eps, data["away"].values, time, strict=True):
            right.annotate(f"$t = {at[2]:.1f}$", at[:2], (7, -9), textcoords="offset points", fontsize=9)
        right.set(
            xlabel=r"$\varepsilon$",
            ylabel="largest $W_2$ at the end",
            xlim=(3e-8, 2e-2),
            ylim=(data["away"].min() / 5, 2e-3),
        )
        for ax in (left, right):
            ax.grid()
        left.legend(loc="upper right")
    return figure


def laws_and_other_samples(results: Results) -> Any:
    """Two laws with a density to two atoms each, four draws: the part of another sample, of the same size as the one
    that the transformer was built for, that goes to the wrong atom. The line is what two samples differ by on either
    side of a fixed rim, the mean over draws.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(4.8, 3.4)
        axes, chance = figure.subplots(), []
        rows = sorted((cell["n"], data) for cell, data in results.where(part="samples"))
        for n, data in rows:
            values = np.maximum(data["astray"].values.ravel(), 0.1 / n)
            axes.loglog([n] * len(values), values, "o", ms=4.5, color=plot.PALETTE["blue"], mec="white", mew=0.4)
            chance.append(float(data["chance"].mean()))
        tokens = [n for n, _ in rows]
        axes.loglog(tokens, chance, color="#333333", lw=1.0, label="of two samples, by chance")
        axes.minorticks_off()
        axes.set_xticks(tokens, [f"{n:,}" for n in tokens])
        axes.set(xlabel="tokens of a sample", ylabel="mass astray")
        axes.grid()
        axes.legend()
    return figure


def order_of_the_atoms(results: Results) -> Any:
    """The smallest clearance of a band against the number of atoms, d = 3, five draws each: the best order, the greedy
    one (always the atom with the most room), one by chance. Lines: 1/2M and 1/M².
    """
    import numpy as np

    from attnflow import plot

    data = results.select(part="order")["clearance"]
    atoms = data["atoms"].values
    with plot.style():
        figure = plot.new_figure(4.8, 3.5)
        axes = figure.subplots()
        for name, colour, marker in (
            ("best", "blue", "o"),
            ("greedy", "orange", "s"),
            ("by chance", "vermillion", "D"),
        ):
            values = data.sel(order=name).values
            axes.loglog(np.repeat(atoms, 5), values.ravel(), marker, ms=4, color=plot.PALETTE[colour], mec="white",
                        mew=0.4, label=name)  # fmt: skip
        axes.loglog(atoms, 0.5 / atoms, color="#333333", lw=0.9, label="$1/2M$")
        axes.loglog(atoms, 1.0 / atoms**2.0, color="#8A949E", lw=0.9, ls=(0, (4, 3)), label="$1/M^2$")
        axes.minorticks_off()
        axes.set_xticks(atoms, [str(M) for M in atoms])
        axes.set(xlabel="atoms $M$", ylabel="smallest clearance")
        axes.grid()
        axes.legend(ncols=2, fontsize=8.5)
    return figure
