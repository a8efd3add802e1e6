"""The figures of `pretrained`."""

from typing import Any

from ... import Results

SHOWN = (0, 12, 24, 48, 150, 500)


def _nothing(how: str) -> Any:
    """A picture that says what is missing."""
    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(6.0, 1.0)
        figure.text(0.5, 0.5, how, ha="center", va="center", fontsize=9)
    return figure


def _histograms(data: Any, layers: Any, columns: int) -> Any:
    from attnflow import plot

    with plot.style():
        rows = -(-len(layers) // columns)
        figure = plot.new_figure(2.5 * columns, 1.9 * rows + 0.3)
        for k, ax in enumerate(figure.subplots(rows, columns, sharex=True, squeeze=False).flat):
            if k >= len(layers):
                ax.set_visible(False)
                continue
            density = data["cosine_density"].sel(layer=layers[k], view="stream", first="kept", diagonal="without")
            shade = plot.TIME(0.2 + 0.8 * k / max(len(layers) - 1, 1))
            ax.fill_between(data["bin"].values, density.values, step="mid", color=shade, lw=0)
            ax.set(title=f"layer {layers[k]}", xlim=(-1.02, 1.02), ylim=(0, None), yticks=[])
        figure.supxlabel(r"$\langle x_i, x_j\rangle / |x_i||x_j|$, $i\neq j$", fontsize=9)
    return figure


def histograms(results: Results) -> Any:
    """Cosines of the 56 tokens of a chemical reaction in an ALBERT of 3 MB, one layer used again and again: trained
    for 12 layers, it is run for 500. The peak at 1 is pairs of tokens that have met.
    """
    if not len(results.where(model="rxnmapper")):
        return _nothing("attnflow models fetch rxnmapper fetches the model of this figure.")
    return _histograms(results.select(model="rxnmapper", control="none"), SHOWN, 3)


def groups_against_depth(results: Results) -> Any:
    """How many groups there are (directions linked at distance 0.1) against depth: the reaction, the same tokens
    shuffled, and random weights of the same variances, three draws each.
    """
    from attnflow import plot

    if not len(results.where(model="rxnmapper")):
        return _nothing("attnflow models fetch rxnmapper fetches the model of this figure.")
    looks = {
        "none": ("blue", "the reaction"),
        "shuffled": ("orange", "shuffled"),
        "random": ("purple", "random weights"),
    }
    with plot.style():
        figure = plot.new_figure(6.4, 3.4)
        ax = figure.subplots()
        for control, (colour, name) in looks.items():
            for k, (_, data) in enumerate(results.where(model="rxnmapper", control=control)):
                label = name if k == 0 else None
                width = 1.8 if control == "none" else 1.0
                ax.plot(
                    data["layer"] + 1, data["clusters"], ".-", color=plot.PALETTE[colour], label=label, lw=width, ms=4
                )
        ax.axvline(13, color="0.6", lw=0.8, ls=":")
        ax.annotate("trained depth", (13, 3), xytext=(4, 0), textcoords="offset points", fontsize=8, color="0.4")
        ax.set(xscale="log", xlabel="1 + layer", ylabel="groups", ylim=(0, 60))
        ax.legend()
        ax.grid()
    return figure


def who_is_in_which_group(results: Results) -> Any:
    """Which tokens are in which group, against depth; each has the colour of the first token of its group, white where
    it is alone. Atoms and brackets that play the same part in the reaction meet.
    """
    import numpy as np

    from attnflow import plot

    if not len(results.where(model="rxnmapper")):
        return _nothing("attnflow models fetch rxnmapper fetches the model of this figure.")
    data = results.select(model="rxnmapper", control="none")
    labels, pieces = data["cluster"].values, [str(piece) for piece in data["piece"].values]
    alone = np.array([[np.sum(row == label) == 1 for label in row] for row in labels])
    colour = np.where(alone, np.nan, labels / labels.shape[1])
    with plot.style():
        figure = plot.new_figure(7.0, 7.2)
        ax = figure.subplots()
        ax.pcolormesh(np.arange(len(labels) + 1), np.arange(len(pieces) + 1), colour.T, cmap="turbo", vmin=0, vmax=1)
        layers = data["layer"].values
        some = np.arange(0, len(layers), 2)
        ax.set_xticks(some + 0.5, [str(k) for k in layers[some]], fontsize=8)
        ax.set_yticks(np.arange(len(pieces)) + 0.5, pieces, fontsize=6)
        ax.set(xlabel="layer", ylim=(len(pieces), 0))
    return figure


def histograms_in_english(results: Results) -> Any:
    """The same for the ALBERT that ATTNFLOW_ALBERT names, on an English text, through 48 layers."""
    if not len(results.where(model="albert")):
        return _nothing("Set ATTNFLOW_ALBERT to a folder with an ALBERT for English to see its tokens here.")
    return _histograms(results.select(model="albert", control="none"), (0, 12, 24, 36, 48), 5)
