"""The figures of `collapse`."""

from typing import Any

from ... import Results

SHOWN = (0.0, 2.0, 4.0, 8.0, "infinite")


def colours(betas: Any) -> dict[Any, Any]:
    """From warm, for high temperature, to cold."""
    from attnflow import plot

    names = {0.0: "vermillion", 1.0: "orange", 2.0: "orange", 3.0: "green", 4.0: "green", 6.0: "sky", 8.0: "sky"}
    return {beta: plot.PALETTE[names.get(beta, "blue")] for beta in betas}


def named(beta: Any) -> str:
    return "β = ∞" if beta == "infinite" else f"β = {beta:g}"


def collapse_in_time(results: Results) -> Any:
    """The inner product of n tokens, initially orthogonal, in random layers of high dimension, against time (layers
    times squared step per head). Left: n = 128 at five temperatures. Right: β = 0 and β = 8 for three lengths of
    context. Dots: the closed form of β = 0. The dashed line is 0.9.
    """
    import numpy as np

    from attnflow import plot

    tones = colours(SHOWN)
    with plot.style():
        figure = plot.new_figure(9.8, 3.4)
        left, right = figure.subplots(1, 2, sharey=True)
        for beta in SHOWN:
            data = results.select(part="collapse", n=128, beta=beta)
            left.plot(data["time"], data["inner_product"], color=tones[beta], label=named(beta))
        left.set_title("$n = 128$")
        for n, dashes in ((16, (0, (1, 1))), (128, "-"), (2048, (0, (5, 2)))):
            for beta in (0.0, 8.0):
                data = results.select(part="collapse", n=n, beta=beta)
                label = f"$n = {n}$, {named(beta)}"
                right.plot(data["time"], data["inner_product"], color=tones[beta], ls=dashes, label=label)
        for axes, sizes in ((left, (128,)), (right, (16, 128, 2048))):
            for n in sizes:
                t = np.arange(0.0, 16.0, 1.0)
                axes.plot(t, 1 - 1 / (1 - 1 / n + np.exp(t) / n), "o", ms=3, color=tones[0.0], zorder=1)
            axes.axhline(0.9, color="#8A949E", ls=(0, (4, 3)), lw=1)
            axes.set(xlabel=r"time $L\eta^2/H$", xlim=(0, 16), ylim=(0, 1.02))
            axes.grid()
        left.set_ylabel("inner product $q$")
        left.legend(loc="center right", bbox_to_anchor=(1.0, 0.52))
        handles, labels = right.get_legend_handles_labels()
        order = [0, 2, 4, 1, 3, 5]
        right.set_title("length of context")
        right.legend(
            [handles[k] for k in order], [labels[k] for k in order], loc="center left", bbox_to_anchor=(1.0, 0.5)
        )
    return figure


def low_temperature_delays_collapse(results: Results) -> Any:
    """How long n tokens take from orthogonal to an inner product of 0.9, against the length n of the context. At β = 0
    (dots: log(9n + 1)) and at high temperature it is the logarithm of n; a longer context delays collapse little. Low
    temperature delays it more; at β = ∞, where every head attends to one token, the delay is almost a power of n.
    """
    import numpy as np

    from attnflow import plot

    tones = colours(SHOWN)
    with plot.style():
        figure = plot.new_figure(6.2, 4.0)
        axes = figure.subplots()
        for beta in reversed(SHOWN):
            n, times = results.curve("arrival", over="n", part="collapse", beta=beta)
            axes.plot(n, times, "o-", ms=4.5, color=tones[beta], label=named(beta))
        longest = results.curve("arrival", over="n", part="collapse", beta=0.0)[0][-1]
        n = np.geomspace(16, longest, 30)
        axes.plot(n, np.log(9 * n + 1), ":", color="#333333", lw=1.3, zorder=3, label=r"$\log(9n + 1)$")
        axes.set(xscale="log", yscale="log", xlabel="length of context $n$")
        axes.set_ylabel(r"time to $q = 0.9$, in $L\eta^2/H$")
        slowest = results.curve("arrival", over="n", part="collapse", beta="infinite")[1][-1]
        times = [t for t in (5, 10, 20, 50, 100, 200, 500, 1000, 2000) if t < slowest]
        axes.set_yticks(times, [str(t) for t in times])
        lengths = [k for k in (16, 32, 128, 512, 2048, 8192, 32768) if k <= longest]
        axes.set_xticks(lengths, [str(k) for k in lengths])
        axes.minorticks_off()
        axes.grid()
        axes.legend(loc="upper left")
    return figure


def sharing_of_attention(results: Results) -> Any:
    """The effect of temperature, n = 128: the probabilities that two heads attend to the same token, for one query (P₀,
    left) and for two queries (P₁, right), against the inner product q of tokens. Collapse is driven by q + P₁ − qP₀: at
    low temperature P₀ removes the common part of similar tokens.
    """
    from attnflow import plot

    tones = colours(SHOWN)
    with plot.style():
        figure = plot.new_figure(8.6, 3.4)
        for axes, name, title in zip(
            figure.subplots(1, 2, sharey=True), ("P0", "P1"), ("one query, $P_0$", "two queries, $P_1$"), strict=True
        ):
            for beta in SHOWN:
                data = results.select(part="sharing", beta=beta)
                axes.plot(data["q"], data[name], color=tones[beta], label=named(beta))
            axes.set(xlabel="inner product $q$", title=title, yscale="log", xlim=(0, 1), ylim=(5e-3, 1.6))
            axes.grid()
        figure.axes[0].set_ylabel("probability of the same token")
        figure.axes[1].legend(loc="upper left", ncols=2)
    return figure
