"""The figures of `clustering`."""

from typing import Any

from ... import Results
from .measures import CASES, DELTA, N, of


def gathering_at_centers(results: Results) -> Any:
    """Causal softmax attention on the circle, n = 200, β = 64, from uniform tokens. Left: angles against time in one
    draw, with the strong centers and the other Rényi centers (δ = 4/√β = 0.5) of the initial tokens. Tokens gather at
    centers; strong centers hardly move, the others wander and merge. Right: the number of clusters (gaps above 0.05),
    in all draws and on average.
    """
    import numpy as np

    from attnflow import plot

    data = results.select(part="figure")
    t = data["time"].values[1:]
    one = data.isel(draw=1)
    strong = one["strong"].values == 1
    center = (one["centers"].values == 1) & ~strong
    plain = ~strong & ~center
    # Unwrapped, each from its start in (-π, π]: lines do not jump.
    angle = one["angle"].values[1:]
    with plot.style():
        figure = plot.new_figure(9.6, 4.2)
        left, right = figure.subplots(1, 2, width_ratios=(1.9, 1))
        left.semilogx(t, angle[:, plain], color=plot.PALETTE["sky"], lw=0.6, alpha=0.7)
        left.semilogx(t, angle[:, center], color=plot.PALETTE["orange"], lw=1.6)
        left.semilogx(t, angle[:, strong], color=plot.PALETTE["vermillion"], lw=2.2)
        for colour, width, name in (
            ("vermillion", 2.2, f"{strong.sum()} strong centers"),
            ("orange", 1.6, f"{center.sum()} other centers"),
            ("sky", 0.9, f"{plain.sum()} other tokens"),
        ):
            left.plot([], [], color=plot.PALETTE[colour], lw=width, label=name)
        left.set(xlabel="$t$ (SA)", ylabel="angle of the token", xlim=(t[0], t[-1]))
        left.set_yticks([-np.pi, -np.pi / 2, 0, np.pi / 2, np.pi], [r"$-\pi$", r"$-\pi/2$", "0", r"$\pi/2$", r"$\pi$"])
        left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
        count = data["clusters"].values[:, 1:]
        right.step(t, count.T, where="post", color="#B8BEC4", lw=0.6)
        right.plot([], [], color="#B8BEC4", lw=0.9, label=f"{len(count)} draws")
        right.plot(t, count.mean(axis=0), color=plot.PALETTE["blue"], lw=2.2, label="their mean")
        mean = float(data["centers"].sum("token").mean())
        right.axhline(mean, color=plot.PALETTE["orange"], ls=(0, (4, 3)), label=f"mean number of centers, {mean:.2f}")
        right.set(xscale="log", xlabel="$t$ (SA)", ylabel="clusters", xlim=(t[0], t[-1]), ylim=(0, 1.3 * count.max()))
        right.legend(loc="upper right")
        right.grid(axis="y")
    return figure


def centers_counted(results: Results) -> Any:
    """Rényi centers of independent uniform tokens, δ = 0.5, draw by draw. Left: strong ones among 200 tokens on the
    circle and on S². Right: all centers among 5000 tokens on the circle, where hardly any more fit. Dashed: the
    expected numbers, (1 − (1 − p)ⁿ)/p and Rényi's parking constant times 2π/δ.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(8.6, 3.3)
        left, right = figure.subplots(1, 2)
        shown = [
            (left, results.select(part="counts", d=d, n=200), "strong", "expected_strong", colour, name)
            for d, colour, name in ((2, "blue", "circle"), (3, "vermillion", "$S^2$"))
        ]
        shown.append((right, results.select(part="counts", d=2, n=5000), "centers", "parking", "blue", "circle"))
        for axes, data, variable, expected, colour, name in shown:
            count = data[variable].values
            share = np.bincount(count) / len(count)
            k = np.flatnonzero(share)
            label = f"{name}, {len(count)} draws"
            axes.bar(k, share[k], width=0.8, color=plot.PALETTE[colour], alpha=0.75, label=label)
            value = float(data[expected])
            axes.plot([value] * 2, [0, 1.06 * share.max()], color="#333333", ls=(0, (4, 3)), lw=1.3)
            axes.annotate(f"{value:.2f}", (value, 1.07 * share.max()), ha="center", va="bottom", fontsize=9)
        left.set(xlabel="strong centers", ylabel="share of draws", title=rf"{N} tokens, $\delta = {DELTA:g}$")
        right.set(xlabel="centers", ylabel="share of draws", title=rf"5000 tokens, $\delta = {DELTA:g}$")
        for axes in (left, right):
            axes.set_ylim(0, 1.35 * axes.get_ylim()[1])
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.legend(loc="upper right")
    return figure


def limits_by_spectrum(results: Results) -> Any:
    """The positions of 32 causal tokens on S² at t = 150: the first coordinate of every token, in the order of the
    prompt, for three draws in each panel (small, middle and large marks). V = I: all are where the first one started.
    Simple leading eigenvalue: one or two clusters at the ends of its axis. Double one: one cluster on the circle of its
    eigenvectors. Negative eigenvalues: no clusters.
    """
    from attnflow import plot

    shown = {
        "identity": "$V = I$, random $Q$, $K$",
        "simple": "simple",
        "double": "double",
        "negative": "negative",
    }
    marks = (("blue", "o", 2.6), ("vermillion", "s", 4.6), ("green", "D", 6.8))
    with plot.style():
        figure = plot.new_figure(9.8, 2.9)
        for axes, (case, name) in zip(figure.subplots(1, 4, sharey=True), shown.items(), strict=True):
            x = of(case, results)["x"].values[:3, :, 0]
            for row, (colour, mark, size) in zip(x, marks, strict=True):
                full = plot.PALETTE[colour] if size < 3 else "none"  # so that coincident marks stay visible
                axes.plot(row, mark, ms=size, mec=plot.PALETTE[colour], mfc=full, mew=0.9)
            V = ", ".join(f"{v:g}".replace("-", "−") for v in CASES[case])
            axes.set(xlabel="token $j$", title=name if case == "identity" else f"{name}, $V$ = diag({V})")
            axes.title.set_size(9)
            axes.grid(axis="y")
        figure.axes[0].set(ylabel="first coordinate at $t = 150$", ylim=(-1.15, 1.15))
    return figure
