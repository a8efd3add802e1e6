"""The figures of `closed_forms`."""

from typing import Any

from ... import Results


def two_clusters(results: Results) -> Any:
    """Left: the angle u between two clusters of masses p and 1 − p on the circle, softmax attention, β = 4, and that of
    a token without mass, the same for every β, from cos u = −0.2. Lines: the scalar equation; dots: weighted tokens.
    Right: the time until the clusters meet, u = 0.001/√β, from u = 2; dashed, its leading order at large β, with
    q = 1 − p: e^{β(1 − cos u)}/(β sin² u (p/q + q/p)).
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(9.2, 3.7)
        left, right = figure.subplots(1, 2)
        shades = {0.5: plot.PALETTE["blue"], 0.3: plot.PALETTE["green"], 0.05: plot.PALETTE["vermillion"]}
        for p, colour in shades.items():
            data = results.select(part="clusters", kind="SA", beta=4.0, p=p)
            left.plot(data["time"], data["reduced"], color=colour, label=f"$p = {p:g}$")
            apart = data.isel(time=slice(None, None, 5)).where(data["particles"] > 0.02)
            left.plot(apart["time"], apart["particles"], "o", color=colour, ms=3.6)
            data = results.select(part="merging", p=p)
            right.plot(data["beta"], data["duration"], color=colour, label=f"$p = {p:g}$")
            right.plot(data["beta"], data["leading"], "--", color=colour, lw=1.1)
        light, colour = results.select(part="light", beta=3.0), plot.PALETTE["purple"]
        left.plot(light["time"], np.arccos(light["closed"]), color=colour, label="no mass")
        left.plot(light["time"][::10], np.arccos(light["particles"][::10].clip(-1, 1)), "o", color=colour, ms=3.6)
        left.set(xlabel="time $t$", ylabel="angle $u$ between the clusters", xlim=(0, 50), ylim=(0, 2.1))
        right.set(xlabel=r"inverse temperature $\beta$", ylabel="time until they meet", yscale="log", xlim=(1, 30))
        for axes, place in ((left, "upper right"), (right, "upper left")):
            axes.grid()
            axes.legend(loc=place)
    return figure


def growth_of_patterns(results: Results) -> Any:
    """How fast the k-th wave in the density of tokens on the circle grows out of the uniform measure under softmax
    attention. Lines: k² I_k(β)/(β I₀(β)); dots: 400 particles; rings: the fastest wave, near √(2β) (right, the line).
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(9.2, 3.7)
        left, right = figure.subplots(1, 2, width_ratios=[1.7, 1])
        names = ("blue", "sky", "green", "orange", "vermillion")
        for beta, name in zip((1.0, 4.0, 9.0, 30.0, 100.0), names, strict=True):
            data = results.select(part="growth", kind="SA", beta=beta)
            colour, k, best = plot.PALETTE[name], data["k"].values, int(data["fastest"])
            left.plot(k, data["closed"], color=colour, label=rf"$\beta = {beta:g}$")
            left.plot(k, data["particles"], "o", color=colour, ms=3.6)
            peak = float(data["particles"].sel(k=best))
            left.plot([best], [peak], "o", color=colour, ms=9, mfc="none", mew=1.4)
        left.set(xlabel="wave number $k$", ylabel="rate of growth", xlim=(0.5, 24.5), ylim=(0, 0.88))
        left.set_xticks(range(2, 25, 2))
        left.legend(loc="upper center", ncols=5, columnspacing=1.2, handlelength=1.6)
        cells = [(cell["beta"], data) for cell, data in results.where(part="growth", kind="SA")]
        betas = np.array([beta for beta, _ in cells])
        fastest = [int(data["k"][data["particles"].values.argmax()]) for _, data in cells]
        line = np.geomspace(betas.min(), betas.max(), 100)
        right.plot(line, np.sqrt(2 * line), color="black", lw=1.2, label=r"$\sqrt{2\beta}$")
        right.plot(betas, fastest, "o", color=plot.PALETTE["blue"], ms=5.5, label="particles")
        right.set(xscale="log", yscale="log", xlabel=r"inverse temperature $\beta$", ylabel="fastest wave number")
        right.set_yticks([1, 2, 4, 8, 16], labels=["1", "2", "4", "8", "16"])
        right.minorticks_off()
        right.legend(loc="upper left")
        for axes in (left, right):
            axes.grid()
    return figure


def long_context(results: Results) -> Any:
    """The cosine of two outputs of one attention layer on n tokens with inner products ρ = 0.5, at β = c log n: the
    exact value for growing n, and its limit, which jumps from 1 to ρ at c = 1/(1 − ρ) with the value 4ρ/(1 + 3ρ) there.
    """
    import matplotlib as mpl
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(6.4, 4.0)
        axes = figure.subplots()
        data = results.select(part="context", rho=0.5)
        shades = mpl.colormaps["viridis"](np.linspace(0.9, 0.15, data.sizes["n"]))
        for n, shade in zip(data["n"].values, shades, strict=True):
            power = round(np.log10(n))
            axes.plot(data["c"], data["cosine"].sel(n=n), color=shade, label=rf"$n = 10^{power}$")
        turning, start, end = 2.0, *data["c"].values[[0, -1]]
        axes.plot([start, turning], [1.0, 1.0], "--", color="black", lw=1.3, label="limit")
        axes.plot([turning, end], [0.5, 0.5], "--", color="black", lw=1.3)
        axes.plot([turning, turning], [1.0, 0.5], "o", color="black", mfc="white", ms=5, zorder=4)
        value = float(data["limit"].sel(c=turning))
        axes.plot([turning], [value], "o", color="black", ms=6, zorder=5)
        axes.annotate(
            r"$\frac{4\rho}{1 + 3\rho}$", (turning, value), (2.35, 0.86), fontsize=13, arrowprops={"arrowstyle": "-"}
        )
        axes.set(
            xlabel=r"$c$, where $\beta = c\,\log n$", ylabel="cosine of two outputs", xlim=(0, 4), ylim=(0.46, 1.04)
        )
        axes.grid()
        axes.legend(loc="center left", title=r"$\rho = 0.5$", alignment="left", bbox_to_anchor=(0.01, 0.4))
    return figure


def where_to_normalise(results: Results) -> Any:
    """The variance of the directions of 32 tokens, softmax attention, β = 4, under four normalisation schemes. Left:
    against time on two logarithmic scales; Pre-LN and Peri-LN, whose tokens grow longer, fall like t⁻² (dotted), the
    others exponentially. Right: the same exponentials against time itself, e⁻²ᵗ and e⁻²ᵅᵗ with α = 0.5 (dotted).
    """
    import numpy as np

    from attnflow import plot

    styles = {
        "post": ("Post-LN", "blue", "-"),
        "ngpt": (r"nGPT, $\alpha = 0.5$", "green", "-"),
        "pre": ("Pre-LN", "vermillion", "-"),
        "peri": ("Peri-LN", "black", "--"),
    }
    with plot.style():
        figure = plot.new_figure(9.2, 3.8)
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.3, 1])
        for scheme, (name, colour, line) in styles.items():
            data = results.select(part="scheme", scheme=scheme, beta=4.0, n=32)
            ts, variance = data["time"].values[1:], data["variance"].values[1:]
            left.plot(ts, variance, line, color=plot.PALETTE[colour], label=name)
            if scheme in ("post", "ngpt"):
                right.plot(ts, variance, line, color=plot.PALETTE[colour], label=name)
                rate = 2.0 if scheme == "post" else 1.0
                law = 4 * variance[-1] * np.exp(rate * (ts[-1] - ts))
                right.plot(ts[ts > ts[-1] / 4], law[ts > ts[-1] / 4], ":", color=plot.PALETTE[colour], lw=1.3)
            elif scheme == "pre":
                late = ts > 20
                left.plot(
                    ts[late], 4 * variance[-1] * (ts[-1] / ts[late]) ** 2, ":", color=plot.PALETTE[colour], lw=1.3
                )
        left.text(600, 1.5e-5, "$t^{-2}$", color=plot.PALETTE["vermillion"])
        left.set(xscale="log", yscale="log", xlabel="time $t$", ylabel="variance of directions", ylim=(1e-12, 1))
        right.text(7.2, 3e-5, "$e^{-2t}$", color=plot.PALETTE["blue"])
        right.text(16.2, 3e-6, r"$e^{-2\alpha t}$", color=plot.PALETTE["green"])
        right.set(xlabel="time $t$", xlim=(0, 25))
        for axes in (left, right):
            axes.grid()
            axes.legend(loc="lower left" if axes is left else "upper right")
    return figure
