"""The figures of `leaders`."""

from typing import Any

from ... import Results
from .claims import ANGLES, BEYOND

NAMES = {
    "minus": r"$A = -I$",
    "quarter-turn": "rotation by 90°",
    "saddle": r"diag$(1, -1)$",
    "rank-one": r"diag$(1, 0)$",
    "shear": "[[1, 1], [0, 1]]",
    "eighth-turn": "rotation by 45°",
}


def reference_configurations(results: Results) -> Any:
    """The reference configurations at layers 0, 1, 2, 5, 30 (B = I, α = 1/2), as in the paper's second figure. Stars
    are leaders, their hull is shaded; a rim marks a token that attracts others but is no leader. In the first row
    a leader emerges at layer 1; in the last one two tokens always tie between two corners, and end on the edges.
    """
    from attnflow import plot

    rows = {case: results.run(part="reference", case=case) for case in CASES}
    return plot.hardmax_layers(rows)


CASES = ("emerge", "triangle", "square", "faces")


def half_spaces(results: Results) -> Any:
    """The tokens that attract a token. Tokens beyond the line through it, orthogonal to its direction, attract it, and
    of those only the farthest. Left and middle: tokens 1 and 3 at layer 0. Right: at layer 1 the half-plane beyond
    token 1 is empty, and it leads from then on.
    """
    from attnflow import plot

    run = results.run(part="reference", case="emerge")
    with plot.style():
        figure = plot.new_figure(9.6, 3.6)
        for ax, (token, layer) in zip(figure.subplots(1, 3), ((1, 0), (3, 0), (1, 1)), strict=True):
            plot.half_space(run, token, at=layer, ax=ax)
        plain: dict[str, Any] = {}
        for ax in figure.axes:
            handles, labels = ax.get_legend_handles_labels()
            entries = zip(labels, handles, strict=True)
            plain |= {label: handle for label, handle in entries if not label.startswith("token ")}
        figure.legend(list(plain.values()), list(plain), loc="outside lower center", ncols=4)
    return figure


def ties_that_are_lost(results: Results) -> Any:
    """The last configuration turned by three angles: the distance of the two tied tokens from their limits, the
    projections of the origin on two edges. With exact comparison rounding breaks the tie, and a token runs to a vertex;
    with a tolerance, frozen leaders and absorption it persists. Dotted: (1 + α)^−k. Below the tolerance, 1e-12,
    a token ties with itself, too, and slows down.
    """
    import numpy as np

    from attnflow import plot

    data = results.select(part="rotated")
    with plot.style():
        figure = plot.new_figure(7.6, 3.2)
        for ax, mode in zip(figure.subplots(1, 2, sharey=True), ("strict", "robust"), strict=True):
            far = np.abs(data[mode][:, :, 4:6].values - [[-1.0, 0.0], [1.0, 0.0]]).max(axis=(2, 3))
            layers = np.arange(far.shape[1])
            for curve, angle, dashes in zip(far, ANGLES, ("-", (0, (5, 2)), (0, (6, 2, 1.5, 2))), strict=True):
                ax.semilogy(layers, np.maximum(curve, 1e-17), ls=dashes, label=f"turned by {angle:g}")
            ax.semilogy(layers, 0.1 * 1.5 ** -layers.astype(float), ":", color="0.5", lw=1.2)
            title = "exact comparison" if mode == "strict" else "robust"
            ax.set(xlabel="layer", xlim=(0, 160), ylim=(1e-17, 5), title=title)
            ax.grid()
        figure.axes[0].set_ylabel("distance of the tied tokens\nfrom their limits")
        figure.axes[1].legend(loc="upper right")
    return figure


def beyond_the_theorem(results: Results) -> Any:
    """Six matrices that are not symmetric and positive definite, the same 12 tokens: their paths, from light to dark,
    and in grey the initial hull. Stars are leaders where they end. With −I and the rotation by 90° all tokens converge
    to one point near 0, but not to 0.
    """
    import numpy as np

    from attnflow import plot
    from attnflow.plot import LEADER, SHADES, corners

    data = results.select(part="beyond")
    with plot.style():
        figure = plot.new_figure(8.6, 5.9)
        for ax, name in zip(figure.subplots(2, 3).ravel(), BEYOND, strict=True):
            x, began = data["x"].sel(matrix=name).values, data["leader_layer"].sel(matrix=name).values
            outline = corners(x[0])
            ax.fill(*outline.T, facecolor="none", edgecolor="#B8BEC4", lw=1.0)
            for k in range(len(x) - 1):
                shade = SHADES[min(len(SHADES) - 1, 6 * k)]
                ax.plot(*np.stack([x[k], x[k + 1]]).swapaxes(0, 2).swapaxes(1, 2), color=shade, lw=1.1)
            ax.plot(*x[0].T, "o", ms=3.5, color=plot.PALETTE["sky"], mec="white", mew=0.3)
            ax.plot(*x[-1][began >= 0].T, "*", ms=11, color=LEADER, mec="white", mew=0.5, zorder=4)
            ax.plot(0, 0, "+", color="#333333", ms=7)
            layers = ", ".join(str(k) for k in sorted(began[began >= 0]))
            many = "s" if (began >= 0).sum() > 1 else ""
            ax.set(aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
            ax.set_title(f"{NAMES[name]}\nleader{many} from layer{many} {layers}", fontsize=10)
            ax.grid()
    return figure
