"""The figures of `attention`."""

from typing import Any

from ... import Results
from .claims import FRACTION, bound, sharp_bound


def one_map_for_both(results: Results) -> Any:
    """The distances of two measures from their points, half of the atoms in common, targets antipodal. Without
    attention nothing can be inside of the quarter disc (dashed: the bound of any space, fD²/2): neurons by chance, and
    neurons trained from eight starts. The transformer with attention, of four pieces, is at the origin.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(4.6, 4.3)
        axes = figure.subplots()
        turn, radius = np.linspace(0, np.pi / 2, 100), sharp_bound(FRACTION) ** 0.5
        axes.fill(
            [0, *(radius * np.cos(turn))], [0, *(radius * np.sin(turn))], color="#E4E7EA", zorder=0,
            label="impossible without attention",
        )  # fmt: skip
        axes.plot(radius * np.cos(turn), radius * np.sin(turn), color="#333333", lw=1.0)
        plain = bound(FRACTION) ** 0.5
        axes.plot(plain * np.cos(turn), plain * np.sin(turn), color="#8A949E", lw=0.9, ls=(0, (4, 3)))
        random = results.where(part="random")
        groups = [
            (np.concatenate([d["away"].values for _, d in random]), "o", "sky", "neurons by chance"),
            (results.where(part="trained"), "s", "vermillion", "neurons, trained"),
            (results.where(part="neurons", fraction=FRACTION), "o", "purple", "neurons, built"),
            (results.where(part="built", fraction=FRACTION), "D", "green", "with attention"),
        ]
        for values, marker, colour, label in groups:
            if not isinstance(values, np.ndarray):
                values = np.concatenate([np.atleast_2d(d["away"].values) for _, d in values])
            axes.plot(
                *values.T, marker, ms=5, color=plot.PALETTE[colour], mec="white", mew=0.5, label=label, clip_on=False
            )
        axes.set(
            xlabel="$W_2$ of the first measure", ylabel="$W_2$ of the second", xlim=(0, 2), ylim=(0, 2), aspect="equal"
        )
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, columnspacing=1.0)
    return figure


def below_the_bound(results: Results) -> Any:
    """The sum of the squared distances against the fraction of atoms in common: the bounds, bands and gates
    without attention, and the transformer with attention.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(4.8, 3.5)
        axes = figure.subplots()
        line = np.linspace(0, 1, 50)
        axes.fill_between(line, sharp_bound(line), color="#E4E7EA", zorder=0)
        axes.plot(line, sharp_bound(line), color="#333333", lw=1.0, label="bound on the sphere, $4f$")
        axes.plot(line, bound(line), color="#8A949E", lw=0.9, ls=(0, (4, 3)), label="bound of any space, $fD^2/2$")
        for part, marker, colour, label in (
            ("neurons", "o", "purple", "neurons, built"),
            ("built", "D", "green", "with attention"),
        ):
            rows = [(c["fraction"], float((d["away"] ** 2).sum())) for c, d in results.where(part=part)]
            axes.plot(*np.array(rows).T, marker, ms=5, color=plot.PALETTE[colour], label=label, clip_on=False)
        axes.set(xlabel="fraction $f$ in common", ylabel=r"$W_2^2 + W_2^2$", xlim=(0, 1), ylim=(0, None))
        axes.legend(loc="upper left")
        axes.grid()
    return figure
