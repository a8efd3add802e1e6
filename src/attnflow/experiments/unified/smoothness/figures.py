"""The figures of `smoothness`."""

from typing import Any

from ... import Results

GREY = "#8A949E"


def growth_with_the_length(results: Results) -> Any:
    """The norm of the derivative against the number of tokens. Left: adversarial tokens in the unit ball, βB = -γI.
    Circles are n tokens, the line through them two tokens with weights 1/n and 1 - 1/n; below it the lower bound
    (dotted), above it the bound by column sums (dashed), which follows √n and then levels off. Right: independent
    tokens of N(0, 1). Below β = 1/√2 the norm tends to that of the law (grey line, β = 0.3), above it grows.
    """
    import numpy as np

    from attnflow import plot

    data = results.select(part="adversarial")
    (tokens,) = [data for cell, data in results if cell["part"] == "gaussian tokens"]
    law = results.select(part="gaussian law")
    with plot.style():
        figure = plot.new_figure(9.0, 3.7)
        left, right = figure.subplots(1, 2)
        n = data["many"].values
        for gamma, colour in ((1.0, "blue"), (2.0, "vermillion")):
            chosen, ink = data.sel(gamma=gamma), plot.PALETTE[colour]
            left.loglog(n, chosen["upper curve"], "--", color=ink, lw=1.2)
            left.loglog(n, chosen["curve"], "-", color=ink)
            left.loglog(n, chosen["lower curve"], ":", color=ink, lw=1.4)
            left.loglog(chosen["n"], chosen["norm"], "o", ms=5, color=ink, label=rf"$\gamma = {gamma:g}$")
        for style, label in (("--", "upper bound (columns)"), (":", "lower bound")):
            left.plot([], [], style, color=GREY, lw=1.3, label=label)
        left.loglog(n[n <= 60], 0.45 * np.sqrt(n[n <= 60]), "-", color=GREY, lw=1)
        left.text(14, 1.15, r"$\propto\sqrt{n}$", color=GREY)
        left.set(xlabel="number of tokens $n$", ylabel=r"$\|Df\|$", title="adversarial tokens", ylim=(0.55, 60))
        left.legend(loc="upper left", ncols=2, columnspacing=1.2)
        colours = ("blue", "green", "orange", "vermillion")
        for beta, colour in zip(tokens["beta"].values, colours, strict=True):
            chosen = tokens.sel(beta=beta)
            middle, error = np.exp(chosen["log norm"]), np.exp(chosen["log norm"]) * chosen["stderr"]
            right.errorbar(
                tokens["n"], middle, 2 * error, fmt="o-", ms=4, capsize=2, color=plot.PALETTE[colour], lw=1.3
            )
            right.text(
                tokens["n"][-1] * 1.13, middle[-1], rf"$\beta = {beta:g}$", color=plot.PALETTE[colour], va="center"
            )
        limit = float(law["operator"].sel(beta=0.3))
        right.plot([13, float(tokens["n"][-1]) * 1.08], [limit, limit], color=GREY, lw=1, zorder=0)
        right.set(xscale="log", yscale="log", xlabel="number of tokens $n$", title=r"independent tokens of $N(0, 1)$")
        right.set_xlim(13, float(tokens["n"][-1]) * 2.3)
        right.set_xticks(tokens["n"].values, [str(int(k)) for k in tokens["n"].values])
        right.set_xticks([], minor=True)
        right.set_yticks([1, 2, 3, 5, 10], ["1", "2", "3", "5", "10"])
        right.set_yticks([], minor=True)
    return figure


def growth_with_the_radius(results: Results) -> Any:
    """Left: the norm of the derivative at R X, 16 clouds of 20 tokens in the plane, one of them in colour. Far from the
    origin it is the square root of the largest number of queries with the same best key (dashed); before, near-ties of
    two keys make it much larger than √n (grey line). Right: the norm at the law N(0, 1) on the line, by weighted nodes
    (circles) and as an operator (line): it is infinite from β = 1/√2 on.
    """
    import numpy as np

    from attnflow import plot

    data, law = results.select(part="radius"), results.select(part="gaussian law")
    R, norm = data["R"].values, data["norm"].values
    with plot.style():
        figure = plot.new_figure(9.0, 3.5)
        left, right = figure.subplots(1, 2)
        left.loglog(R, norm, color="#C9D3DC", lw=0.8)
        chosen = int(np.argsort(norm.max(axis=0))[norm.shape[1] // 2])
        left.loglog(R, norm[:, chosen], color=plot.PALETTE["blue"], label="one cloud")
        limit = float(data["limit"][chosen])
        left.axhline(
            limit, color=plot.PALETTE["vermillion"], ls="--", lw=1.2, label=rf"its limit $\sqrt{{{limit**2:.0f}}}$"
        )
        left.axhline(np.sqrt(20), color=GREY, lw=1, label=r"$\sqrt{n}$")
        left.set(xlabel="radius $R$", ylabel=r"$\|Df(RX)\|$", xlim=(R[0], 1e3))
        left.legend(loc="upper left")
        right.plot(law["fine"], law["curve"], color=plot.PALETTE["blue"], label="operator of the law")
        right.plot(law["beta"], law["norm"], "o", color=plot.PALETTE["vermillion"], ms=5, label="40 weighted nodes")
        right.axvline(2**-0.5, color=GREY, ls="--", lw=1.1)
        right.text(2**-0.5 + 0.012, 1.0, r"$1/\sqrt{2}$", color=GREY)
        right.set(xlabel=r"$\beta$", ylabel=r"$\|Df\|$ at $N(0, 1)$", ylim=(0.8, 6.2), xlim=(0, 0.8))
        right.legend(loc="upper left")
    return figure


def bounds_in_a_ball(results: Results) -> Any:
    """Left: upper bounds of the norm for 64 tokens against a = |βB| R², V = I, and the norm at adversarial tokens. The
    bounds that hold for every n (solid) are exponential in a, those for 64 tokens (dashed) linear; the bound by column
    sums is below all of them. Right: masked attention without scores has the norm of the Cesàro matrix, which tends to
    2, Hardy's constant.
    """
    import numpy as np

    import attnflow as af
    from attnflow import plot

    n, a = 64, np.linspace(0.01, 4, 120)
    cesaro = results.select(part="cesaro")
    adversarial = results.select(part="adversarial")
    shown = (
        ("wasserstein", "purple", "-", r"$(1 + 3a)e^{2a}$"),
        ("kantorovich", "green", "-", r"$a + (1 + 2a)\cosh a$"),
        ("root-n", "orange", "--", r"$\sqrt{3(a^2(4n+1) + n)}$"),
        ("diameter", "sky", "--", r"$\sqrt{4a^2(n+1) + n}$"),
        ("columns", "blue", "--", "column sums"),
    )
    with plot.style():
        figure = plot.new_figure(9.0, 3.7)
        left, right = figure.subplots(1, 2, width_ratios=(1.35, 1))
        for_n = [af.diagnostics.smoothness.bounds(1.0, beta=value, n=n) for value in a]
        every = [af.diagnostics.smoothness.bounds(1.0, beta=value) for value in a]
        for name, colour, line, label in shown:
            source = every if line == "-" else for_n
            left.semilogy(a, [b[name] for b in source], line, color=plot.PALETTE[colour], label=label)
        at = adversarial["norm"].sel(n=n)
        left.semilogy(at["gamma"], at, "o", color=plot.PALETTE["vermillion"], label="adversarial tokens", zorder=5)
        low = [af.diagnostics.smoothness.lower_bound(B=-np.eye(2), beta=value, n=n) for value in a]
        left.semilogy(a, low, ":", color=plot.PALETTE["vermillion"], label="their lower bound")
        left.set(xlabel=r"$a = \|\beta B\| R^2$", ylabel=r"bound of $\|Df\|$", ylim=(0.1, 3e3), xlim=(0, 4))
        left.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        right.semilogx(
            cesaro["many"], cesaro["curve"], ".-", color=plot.PALETTE["blue"], lw=1.2, label="tridiagonal matrix"
        )
        right.semilogx(
            cesaro["n"],
            cesaro["norm"],
            "o",
            mfc="none",
            ms=8,
            color=plot.PALETTE["vermillion"],
            label="attention, $\\beta = 0$",
        )
        right.axhline(2, color=GREY, ls="--", lw=1.1)
        right.set(xlabel="number of tokens $n$", ylabel=r"$\|C_n\|$", ylim=(1, 2.1))
        right.legend(loc="lower right")
    return figure


def stability_of_the_flow(results: Results) -> Any:
    """The distance of two clouds in a disc, R₀ = 0.5, ‖V‖ = 0.854, ‖βB‖ = 0.8: its value at time t over that at zero,
    for independent clouds and for a cloud and itself moved in its steepest direction. Lines above are bounds. Left: W₂,
    full attention. Right: the conditional distance d₂, masked attention.
    """
    from attnflow import plot

    colours = {"independent": "sky", "steepest": "vermillion"}
    with plot.style():
        figure = plot.new_figure(9.0, 3.5)
        for axes, masked in zip(figure.subplots(1, 2), (False, True), strict=True):
            data = results.select(part="stability", masked=masked)
            t = data["time"].values
            for kind, colour in colours.items():
                curves = data["ratio"].sel(kind=kind).values
                axes.semilogy(t, curves.T, color=plot.PALETTE[colour], lw=0.9, alpha=0.8)
                axes.plot([], [], color=plot.PALETTE[colour], label={"independent": "two clouds"}.get(kind, "steepest"))
            name = "Hardy" if masked else "Kantorovich"
            axes.semilogy(data["fine"], data["bound curve"], color=plot.PALETTE["black"], label=f"bound ({name})")
            axes.semilogy(
                data["fine"],
                data["columns curve"],
                "--",
                color=plot.PALETTE["black"],
                label="bound (columns, $n = 60$)",
            )
            distance = "$d_2(t) / d_2(0)$" if masked else "$W_2(t) / W_2(0)$"
            axes.set(xlabel="$t$ (SA)", ylabel=distance, title="masked" if masked else "full", xlim=(0, 1))
            axes.legend(loc="upper left")
    return figure
