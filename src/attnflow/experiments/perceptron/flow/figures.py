"""The figures of `flow`."""

from typing import Any

from ... import Results
from ..cases import E
from .claims import LEAST, SPHERE


def from_tokens_to_atoms(results: Results) -> Any:
    """Angles of 100 repelling tokens against time (logarithmic), β = 1. Left: a ReLU potential gathers them in a few
    atoms. Middle and right, the controls: without a potential, and with a linear one below the threshold, they hardly
    move, and their law is a density.
    """
    import numpy as np

    from attnflow import plot

    names = {"relu": "ReLU, ω = 3", "zero": "no potential", "linear": "linear potential"}
    with plot.style():
        figure = plot.new_figure(9.6, 3.4)
        for ax, (case, name) in zip(figure.subplots(1, 3, sharey=True), names.items(), strict=True):
            run, data = results.run(part="circle", case=case), results.select(part="circle", case=case)
            t, x = np.asarray(run.ts)[1:], np.asarray(run.xs)[1:]
            wrapped = np.degrees(np.arctan2(x[:, :, 1], x[:, :, 0])) % 360
            # A token that crosses the cut is drawn as two lines.
            broken = np.where(np.abs(np.diff(wrapped, axis=0, prepend=wrapped[:1])) > 180, np.nan, wrapped)
            ax.semilogx(t, broken, color=plot.PALETTE["blue"], lw=0.6, alpha=0.75)
            count = int(data["points"][-1])
            ax.set_title(f"{name}\n{count} distinct points at the end")
            ax.set(xlabel="$t$ (USA)", yticks=[0, 90, 180, 270, 360], ylim=(0, 360), xlim=(t[0], t[-1]))
        figure.axes[0].set_ylabel("angle (degrees)")
    return figure


def energy_along_flows(results: Results) -> Any:
    """The energy along flows. Left: descents on the circle, above the least energy; they end at a critical law that is
    not the minimiser, so that the curves level off above zero. Middle: clusters within 0.05 on the same runs, and the
    control without a potential. Right: ascents on S², below the bound e/2 + max U of the Dirac.
    """
    from attnflow import plot

    names = {"relu": "ReLU, ω = 3", "relu-minus": "ReLU, ω = −3", "zero": "no potential"}
    colours = {"relu": "blue", "relu-minus": "vermillion", "zero": "black", "tanh": "green", "two maxima": "purple"}
    with plot.style():
        figure = plot.new_figure(10.2, 3.3)
        left, middle, right = figure.subplots(1, 3)
        for case, name in names.items():
            data = results.select(part="circle", case=case).isel(time=slice(1, None))
            colour = plot.PALETTE[colours[case]]
            if case in LEAST:
                left.loglog(data["time"], data["energy"] - LEAST[case], color=colour, label=name)
            middle.loglog(data["time"], data["clusters"], color=colour, label=name, drawstyle="steps-post")
        left.set(xlabel="$t$ (USA)", ylabel="energy above the least, $E - E^*$")
        middle.set(xlabel="$t$ (USA)", ylabel="clusters", ylim=(2, 120))
        middle.set_yticks([2, 4, 10, 20, 50, 100], ["2", "4", "10", "20", "50", "100"])
        middle.minorticks_off()
        for case in SPHERE:
            data = results.select(part="sphere", case=case)
            label = {"zero": "no potential", "relu": "ReLU", "tanh": "tanh", "two maxima": "ReLU, two maxima"}[case]
            bound = E / 2 + float(data["largest"])
            right.plot(data["time"], data["energy"] / bound, color=plot.PALETTE[colours[case]], label=label)
        right.axhline(1, color="#8A949E", lw=0.9, ls=(0, (4, 3)))
        right.set(xlabel="$t$ (USA)", ylabel=r"energy over $e/2 + \max U$", xlim=(0, 8))
        for ax in (left, middle, right):
            ax.grid()
            ax.legend()
    return figure


def tokens_over_the_potential(results: Results) -> Any:
    """Attracting tokens on S², over a map of U (Mollweide projection): where 64 tokens start (small dots) and where
    they end (discs; the number is their mass). Without a potential all meet; where U has several maxima clusters may
    stay apart, each near a maximum.
    """
    import numpy as np

    import attnflow as af
    from attnflow import plot
    from attnflow.plot import HEAT

    names = {"zero": "no potential", "relu": "ReLU, six neurons", "two maxima": "ReLU, two opposite neurons",
             "tanh": "tanh, six neurons"}  # fmt: skip
    with plot.style():
        figure = plot.new_figure(9.6, 5.6)
        axes = figure.subplots(2, 2, subplot_kw={"projection": "mollweide"})
        for ax, case in zip(axes.ravel(), ("zero", "two maxima", "relu", "tanh"), strict=True):
            data = results.select(part="sphere", case=case)
            longitude, latitude = np.linspace(-np.pi, np.pi, 121), np.linspace(-np.pi / 2, np.pi / 2, 61)
            external = data["external"].values
            image = ax.pcolormesh(longitude, latitude, external, cmap=HEAT, shading="gouraud", rasterized=True,
                                  vmin=external.min(), vmax=external.max() if np.ptp(external) > 0 else 1)  # fmt: skip
            bar = figure.colorbar(image, ax=ax, shrink=0.75, pad=0.03)
            bar.set_label("$U$")
            start, end = np.asarray(results.run(part="sphere", case=case).xs)[[0, -1]]
            ax.plot(*_place(start), ".", ms=5, color=plot.PALETTE["orange"], mec="#333333", mew=0.2)
            clusters = af.clusters(end, space=af.Sphere())
            for k in range(int(clusters.count)):
                mean = end[clusters.labels == k].mean(axis=0, keepdims=True)
                place = [float(v[0]) for v in _place(mean)]
                mass = float(clusters.masses[k])
                ax.plot(*place, "o", ms=6 + 12 * mass**0.5, color=plot.PALETTE["vermillion"], mec="white", mew=1,
                        clip_on=False)  # fmt: skip
                aside = -48 if place[0] > 2 else 20  # inside the map
                shift = (aside, -10 if place[1] > 1 else 10)
                frame = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.8}
                ax.annotate(f"{mass:.2f}", place, shift, textcoords="offset points", fontsize=9, bbox=frame)
            count = int(clusters.count)
            ax.set_title(f"{names[case]}: {count} cluster{'' if count == 1 else 's'}")
            ax.set(xticklabels=[], yticklabels=[])
            ax.grid(color="#8A949E", lw=0.3)
    return figure


def _place(x: Any) -> tuple[Any, Any]:
    """Longitude and latitude."""
    import numpy as np

    return np.arctan2(x[:, 1], x[:, 0]), np.arcsin(np.clip(x[:, 2] / np.linalg.norm(x, axis=1), -1, 1))
