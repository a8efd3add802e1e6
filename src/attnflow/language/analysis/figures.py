"""The pictures of an analysis: histograms through depth, groups, ranks, attention, norms, spectra."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from ...plot import HEAT, PALETTE, TIME, new_figure, style

if TYPE_CHECKING:
    from .analysis import Analysis

SHOWN = 8  # depths of which a histogram is drawn
NAMED = 64  # tokens whose text stands at an axis
WIDER = (0.2, 0.5, 1.0)  # further linking distances at which groups are counted
ROW = 0.12  # inches of the row of a token


def figures(analysis: "Analysis") -> dict[str, tuple[Figure, str]]:
    """All pictures by name, with their captions."""
    drawn = {
        "histograms": histograms(analysis),
        "groups": groups(analysis),
        "ranks": ranks(analysis),
        "attention": attention(analysis),
        "norms": norms(analysis),
    }
    return {**drawn, "spectra": spectra(analysis)} if "V_eigenvalues" in analysis.data else drawn


def rows(analysis: "Analysis", count: int = SHOWN) -> list[int]:
    """A few depths, the first and the last among them."""
    some = np.linspace(0, len(analysis.data["layer"]) - 1, min(count, len(analysis.data["layer"])))
    return np.unique(some.round().astype(int)).tolist()


def histograms(analysis: "Analysis") -> tuple[Figure, str]:
    """Cosines of pairs of tokens at some depths, one below the other."""
    data, chosen = analysis.data, rows(analysis)
    with style():
        figure = new_figure(7.2, 0.85 * len(chosen) + 1.0)
        axes = figure.subplots(len(chosen), 2, sharex="col", squeeze=False)
        for place, (ax, seen) in enumerate(axes):
            k = chosen[place]
            for side, view in ((ax, "stream"), (seen, "seen")):
                density = data["cosine_density"][k].sel(view=view, first="kept", diagonal="without").values
                shade = TIME(0.15 + 0.85 * place / max(len(chosen) - 1, 1))
                side.fill_between(data["bin"].values, density, step="mid", color=shade, lw=0)
                side.set(xlim=(-1.02, 1.02), yticks=[], ylim=(0, 1.05 * density.max() or 1))
                side.spines["left"].set_visible(False)
            ax.set_ylabel(f"layer {int(data['layer'][k])}", rotation=0, ha="right", va="center")
        axes[0, 0].set_title("in the residual stream")
        axes[0, 1].set_title("as attention sees them")
        for ax in axes[-1]:
            ax.set_xlabel(r"$\langle x_i, x_j\rangle / |x_i||x_j|$, $i\neq j$")
    caption = "Law of the cosines of all pairs of tokens at some depths, each scaled to its own height."
    if np.array_equal(*(data["cosine_density"].sel(view=view) for view in ("stream", "seen")), equal_nan=True):
        caption += " Attention sees the stream itself here: both columns are equal."
    return figure, caption


def groups(analysis: "Analysis") -> tuple[Figure, str]:
    """How many groups there are, and who is in which, against depth."""
    data, layers = analysis.data, analysis.data["layer"].values
    labels = data["cluster"].values
    sizes = np.array([[np.sum(row == label) for label in row] for row in labels])
    # A group has the colour of its first token; tokens alone are white.
    colour = np.where(sizes > 1, labels / max(labels.shape[1] - 1, 1), np.nan)
    with style():
        height = _height(analysis)
        any_group = bool((sizes > 1).any())
        figure = new_figure(7.2, 2.2 + height * any_group)
        panels = figure.subplots(
            1 + any_group, 1, sharex=True, squeeze=False, height_ratios=(2.2, height)[: 1 + any_group]
        )
        top = panels[0, 0]
        distances = sorted({data.attrs["eps"], *WIDER})
        for shade, distance in enumerate(distances):
            count = labels.shape[1] - np.sum(data["merge_distance"].values <= distance, axis=1)
            tone = TIME(1 - 0.75 * shade / max(len(distances) - 1, 1))
            top.plot(layers, count, color=tone, marker="o", ms=2.5, label=f"{distance:g}")
        top.set(ylabel="groups", xlabel="" if any_group else "layer", ylim=(0, 1.05 * len(analysis.pieces)))
        top.legend(title="linked at", fontsize=7, title_fontsize=7)
        top.grid()
        caption = "How many groups there are, of tokens whose directions are linked at these distances."
        if not any_group:
            return figure, f"{caption} At {data.attrs['eps']:g} no two tokens are in one group."
        below = panels[1, 0]
        below.pcolormesh(_edges(layers), np.arange(labels.shape[1] + 1) - 0.5, colour.T, cmap="turbo", vmin=0, vmax=1)
        below.set(xlabel="layer", ylabel="token", ylim=(labels.shape[1] - 0.5, -0.5))
        _name_tokens(below, analysis.pieces)
    more = (
        f"Below, at {data.attrs['eps']:g}: each token in the colour of the first one of its group, white where alone."
    )
    return figure, f"{caption} {more}"


def ranks(analysis: "Analysis") -> tuple[Figure, str]:
    """Dimensions that tokens take, mean cosine and energy, against depth."""
    data, layers = analysis.data, analysis.data["layer"].values
    with style():
        figure = new_figure(7.2, 3.0)
        left, right = figure.subplots(1, 2)
        for name, colour in (("effective_rank", "blue"), ("participation_ratio", "orange")):
            for first, dash in (("kept", "-"), ("dropped", ":")):
                label = f"{name.replace('_', ' ')}{'' if first == 'kept' else ', without the first token'}"
                left.plot(layers, data[name].sel(first=first), dash, color=PALETTE[colour], label=label)
        left.set(xlabel="layer", ylim=(0, None))
        left.legend(fontsize=7)
        right.plot(layers, data["mean_cosine"].sel(first="kept"), color=PALETTE["blue"], label="mean cosine")
        for shade, beta in enumerate(data["beta"].values):
            colour = TIME(0.4 + 0.6 * shade / max(len(data["beta"]) - 1, 1))
            right.plot(layers, data["energy"].sel(beta=beta), "--", color=colour, label=rf"energy, $\beta = {beta:g}$")
        right.set(xlabel="layer")
        right.legend(fontsize=7)
        for ax in (left, right):
            ax.grid()
    caption = (
        "Left: how many directions the tokens take. Right: their mean cosine, and the energy of softmax attention on "
        "the sphere, the mean of exp(β(cos − 1)), which that flow would climb."
    )
    return figure, caption


def attention(analysis: "Analysis") -> tuple[Figure, str]:
    """Entropy by head, and attention received by token, against depth."""
    data, layers = analysis.data, analysis.data["layer"].values
    with style():
        height = _height(analysis)
        figure = new_figure(7.2, 1.9 + height)
        top, below = figure.subplots(2, 1, sharex=True, height_ratios=(1.9, height))
        share = data["entropy_share"].values
        mesh = top.pcolormesh(_edges(layers), np.arange(share.shape[1] + 1) - 0.5, share.T, cmap=HEAT, vmin=0, vmax=1)
        top.set(ylabel="head")
        figure.colorbar(mesh, ax=top, label="entropy (1: uniform)")
        received = data["received"].values
        n = received.shape[1]
        mesh = below.pcolormesh(
            _edges(layers), np.arange(n + 1) - 0.5, np.minimum(n * received, 10).T, cmap=HEAT, vmin=0, vmax=10
        )
        figure.colorbar(mesh, ax=below, label="attention received, 1: equal share")
        below.set(xlabel="layer", ylabel="token", ylim=(n - 0.5, -0.5))
        _name_tokens(below, analysis.pieces)
    caption = (
        "Above: entropy of attention by head, in units of that of uniform attention. Below: attention that each token "
        "receives, in units of an equal share (cut at 10): leaders and sinks are dark."
    )
    return figure, caption


def norms(analysis: "Analysis") -> tuple[Figure, str]:
    """Norms of tokens against depth."""
    data, layers = analysis.data, analysis.data["layer"].values
    norm = data["norm"].values
    with style():
        figure = new_figure(7.2, 3.0)
        ax = figure.subplots()
        ax.fill_between(layers, *np.quantile(norm, (0.1, 0.9), axis=1), color=PALETTE["sky"], alpha=0.5, lw=0)
        ax.plot(layers, np.median(norm, axis=1), color=PALETTE["blue"], label="median, and 10 to 90 %")
        ax.plot(layers, norm.max(axis=1), ":", color=PALETTE["orange"], label="largest")
        ax.plot(layers, norm[:, 0], color=PALETTE["green"], label=f"first token, {_shown(analysis.pieces[0])}")
        scale = "log" if norm.max() > 20 * np.median(norm) else "linear"
        ax.set(xlabel="layer", ylabel="norm", yscale=scale)
        ax.grid()
        ax.legend(fontsize=8)
    return figure, "Norms of the tokens in the residual stream."


def spectra(analysis: "Analysis") -> tuple[Figure, str]:
    """Eigenvalues of V and of B of every head."""
    data = analysis.data
    with style():
        figure = new_figure(7.2, 3.4)
        for ax, name in zip(figure.subplots(1, 2), ("V", "B"), strict=True):
            values = data[f"{name}_eigenvalues"].values
            blocks = values.shape[0]
            for b in range(blocks):
                points = values[b].reshape(-1, 2)
                ax.plot(*points.T, ".", ms=2.5, alpha=0.6, color=TIME(0.2 + 0.8 * b / max(blocks - 1, 1)))
            ax.axhline(0, lw=0.6, color="0.6")
            ax.axvline(0, lw=0.6, color="0.6")
            ax.set(title=f"eigenvalues of ${name}$", xlabel="real part", ylabel="imaginary part")
    cases, counts = np.unique(data["case"].values, return_counts=True)
    listed = ", ".join(f"{case}: {number}" for case, number in zip(cases, counts, strict=True))
    return (
        figure,
        "Eigenvalues of V and of B = QᵀK of all heads, late layers dark. Cases of the theory that these two matrices "
        f"alone would be, and of how many heads: {listed}.",
    )


def _edges(layers: np.ndarray) -> np.ndarray:
    """Edges of cells around the depths that were looked at."""
    if len(layers) == 1:
        return np.array([layers[0] - 0.5, layers[0] + 0.5])
    middle = (layers[1:] + layers[:-1]) / 2
    return np.concatenate([[1.5 * layers[0] - 0.5 * layers[1]], middle, [1.5 * layers[-1] - 0.5 * layers[-2]]])


def _height(analysis: "Analysis") -> float:
    """The height in inches of a picture with a row for each token."""
    n = len(analysis.pieces)
    return max(3.0, ROW * n) if n <= NAMED else 3.6


def _name_tokens(ax: Any, pieces: tuple[str, ...]) -> None:
    """The text of the tokens at the axis, if there is room for it."""
    if len(pieces) <= NAMED:
        ax.set_yticks(range(len(pieces)), [_shown(piece) for piece in pieces], fontsize=7)


def _shown(piece: str) -> str:
    """The text of a token in a picture, where a dollar would begin a formula."""
    return repr(piece)[1:-1][:12].replace("$", r"\$")
