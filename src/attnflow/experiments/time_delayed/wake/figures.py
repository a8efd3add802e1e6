"""The figures of `wake`."""

from typing import Any

from ... import Results


def growth_of_the_cycle(results: Results) -> Any:
    """The radius from a start of 0.01, which no training trajectory had: the system (grey, broad), TD-DMD, and each
    seed of TD-TF with the plain loss and with the one that is relative to increments.
    """
    from attnflow import plot

    plain, relative = (results.select(part="network", loss=loss) for loss in ("plain", "relative"))
    linear = results.select(part="linear")
    with plot.style():
        figure = plot.new_figure(6.2, 3.4)
        ax = figure.subplots()
        ax.semilogy(plain["true_radius"], color="#B8BEC4", lw=5, label="the system")
        ax.semilogy(linear["radius"], color=plot.PALETTE["vermillion"], lw=1.0, ls=(0, (1.5, 1.5)), label="TD-DMD")
        looks = ((plain, "orange", "--", "plain loss"), (relative, "blue", "-", "relative loss"))
        for data, colour, dash, label in looks:
            for k, radius in enumerate(data["radius"].values):
                name = f"TD-TF, {label}" if k == 0 else None
                ax.semilogy(radius, color=plot.PALETTE[colour], lw=1.1, ls=dash, label=name)
        ax.set(xlabel="step", ylabel=r"$\sqrt{x^2 + y^2}$", ylim=(3e-3, 4), xlim=(0, 1000))
        ax.grid()
        ax.legend(loc="lower right")
    return figure
