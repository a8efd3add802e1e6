"""The figures of `blocks`."""

from typing import Any

from ... import Results


def maps_of_the_parts(results: Results) -> Any:
    """What three pieces without attention do to a grid on the front of the sphere: a boost moves everything towards one
    point, a gate gathers a cap at its centre and moves nothing outside, a band carries what is near a great circle
    along it, and what is beyond its rims rests.
    """
    import numpy as np

    from attnflow import plot
    from attnflow.plot.globe import draw_globe, draw_lines, eye_of

    data = results.select(part="maps")
    names = {"boost": "boost", "cap gate": "gate on a cap", "band": "band"}
    eye = eye_of(10.0, 20.0)
    with plot.style():
        figure = plot.new_figure(8.4, 3.2)
        for ax, (form, name) in zip(figure.subplots(1, 3), names.items(), strict=True):
            draw_globe(ax, eye)
            x, moved = data["x"].values @ eye.T, data["moved"].sel(form=form).values @ eye.T
            far = np.linalg.norm(moved - x, axis=1) > 1e-6
            draw_lines(ax, np.stack([x[far], moved[far]], axis=1), np.zeros(far.sum(), int),
                       np.array([[0.0, 0.45, 0.70, 0.55]]), 0.6)  # fmt: skip
            seen = moved[moved[:, 2] > 0]
            ax.plot(*seen[:, :2].T, ".", ms=2.2, color=plot.PALETTE["vermillion"], zorder=3)
            ax.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), aspect="equal", title=name)
            ax.set_axis_off()
    return figure


def isolate_cluster_reverse(results: Results) -> Any:
    """Lemma 3.3 on three measures that share half of their atoms, gathered in the orthant. Two pieces of attention
    leave the first measure (blue) where it is, since its barycentre is orthogonal to α, and send the others to ±α; a
    gate makes a point of it; attention reversed brings the others back.
    """
    import numpy as np
    from matplotlib.colors import to_rgba

    from attnflow import plot
    from attnflow.plot.globe import draw_discs, draw_globe, eye_of

    x = results.select(part="lemma", draw=0)["x"].values
    titles = {0: "gathered", 2: "two pieces of attention", 3: "gate", 5: "attention reversed"}
    eye = eye_of(25.0, 20.0)
    with plot.style():
        figure = plot.new_figure(9.6, 3.0)
        for ax, (at, title) in zip(figure.subplots(1, 4), titles.items(), strict=True):
            draw_globe(ax, eye)
            for j, colour in enumerate(("blue", "vermillion", "green")):
                size = np.full(x.shape[2], 12.0 + 8 * j)  # the first is small, and on top
                colours = np.tile(to_rgba(plot.PALETTE[colour]), (x.shape[2], 1))
                draw_discs(ax, x[at, j] @ eye.T, size, np.full(len(size), 0.3), colours, 3 - 0.1 * j, "white")
            ax.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), aspect="equal", title=title)
            ax.set_axis_off()
    return figure
