"""The figures of `line`."""

from typing import Any

from ... import Results
from .claims import positions


def attention_on_the_line(results: Results) -> Any:
    """The attention matrix of 20 tokens on the line, sorted, at four times: rows become unit vectors that point to the
    smallest or the largest token. Its rank (singular values above 10⁻⁶) falls to 2.
    """
    import numpy as np

    from attnflow import plot
    from attnflow.plot import HEAT

    data = results.select(part="draws").isel(draw=0)
    last = data["P"].shape[-1] - 1
    ticks = [0, (last + 1) // 2, last]
    with plot.style():
        figure = plot.new_figure(10.0, 2.9)
        shown = figure.subplots(1, 4, sharey=True)
        image: Any = None
        for axes, t in zip(shown, (0.0, 2.0, 4.0, 14.0), strict=True):
            now = data.sel(time=t)
            image = axes.imshow(np.asarray(now["P"]), cmap=HEAT, vmin=0, vmax=1)
            axes.set(title=f"$t = {t:g}$, rank {int(now['rank'])}", xlabel="key (attended token)", xticks=ticks)
        shown[0].set(ylabel="token", yticks=ticks)
        figure.colorbar(image, ax=list(shown), label=r"$P_{ij}$", shrink=0.85)
    return figure


def doubly_exponential(results: Results) -> Any:
    """Four tokens on the line. Left: rescaled tokens; the two on the right share a limit. Right: the largest token
    attends only to itself, up to e^−D with D (line) growing like e^t (dashed); 1 − P is zero when rounded from D = 37
    on.
    """
    import numpy as np

    from attnflow import plot

    data = results.select(part="four")
    ts = np.asarray(data["time"])
    with plot.style():
        figure = plot.new_figure(8.8, 3.4)
        left, right = figure.subplots(1, 2)
        left.plot(ts, np.exp(-ts)[:, None] * positions(results.run(part="four")))
        left.set(xlabel="time $t$", ylabel=r"$z_i = e^{-t} x_i$", xlim=(0, 6))
        doubt = -np.asarray(data["log_doubt"])
        right.semilogy(ts, doubt, label=r"$D = -\log(1 - P_{44})$")
        right.semilogy(ts, doubt[-1] * np.exp(ts - ts[-1]), color="0.5", ls=(0, (4, 3)), lw=1, label=r"$\propto e^t$")
        right.axhline(37, color=plot.PALETTE["orange"], lw=1, label="$D = 37$, rounding")
        right.set(xlabel="time $t$", ylabel="$D$", xlim=(0, 6))
        right.legend()
        for axes in (left, right):
            axes.grid()
    return figure
