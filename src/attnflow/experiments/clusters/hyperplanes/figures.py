"""The pictures of `hyperplanes`."""

from typing import Any

from ... import Results
from ..tokens import MATRICES

SHOWN = 5.0  # the paper's final time


def hyperplanes_in_the_plane(results: Results) -> Any:
    """20 tokens drawn from [−5, 5]² with the paper's matrix, eigenvalues 1.348 and −0.068, until t = 5: rescaled tokens
    gather on two lines, level sets of the left eigenvector.
    """
    return _planes(results, "plane")


def hyperplanes_in_space(results: Results) -> Any:
    """20 tokens drawn from [−5, 5]³ until t = 5, two matrices of the paper: a real leading eigenvalue, and a complex
    pair with negative (left) or positive (right) real part.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(10.4, 5.0)
        for k, name in enumerate(("space, Re < 0", "space, Re > 0")):
            axes = figure.add_subplot(1, 2, k + 1, projection="3d")
            _planes(results, name, axes)
            pair = np.linalg.eigvals(np.array(MATRICES[name]))
            real, imag = min(pair.real), max(abs(pair.imag))
            axes.set_title(rf"$\lambda_{{2,3}} = {real:.3f} \pm {imag:.3f}\,i$")
    return figure


def codimension_two(results: Results) -> Any:
    """20 tokens with the paper's matrix of two positive eigenvalues. Left: rescaled tokens until t = 5. Right: their
    components along the two eigenvectors, until t = 60; they gather in a few points, so that tokens gather on lines.
    """
    import numpy as np

    from attnflow import plot

    data = results.select(part="figure", matrix="codimension")
    positive = np.asarray(data["eigenvalue"]) > 0
    components = np.asarray(results.run(part="figure", matrix="codimension").xs)[:, :, positive]
    with plot.style():
        figure = plot.new_figure(10.4, 4.8)
        left = figure.add_subplot(1, 2, 1, projection="3d")
        _planes(results, "codimension", left)
        left.set_title("tokens, t = 0 to 5")
        axes = figure.add_subplot(1, 2, 2)
        for path in components.transpose(1, 0, 2):
            axes.plot(path[:, 0], path[:, 1], color="#6FA8D6", lw=1, alpha=0.8)
        axes.scatter(*components[0].T, s=9, color="#8A949E", label="start", zorder=3)
        axes.scatter(*components[-1].T, s=44, color=plot.PALETTE["vermillion"], label="t = 60", zorder=4, ec="white")
        small, large = np.asarray(data["eigenvalue"])[positive]
        axes.set(
            xlabel=rf"component of $z$ along $\lambda_2 = {small:.3f}$",
            ylabel=rf"component of $z$ along $\lambda_1 = {large:.3f}$",
            title="two leading components, t = 0 to 60",
        )
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
        axes.grid()
    return figure


def mix(results: Results) -> Any:
    """V = diag(1, 1, −1/2), 20 tokens drawn from [−5, 5]³. Left: components in F, the plane of the double eigenvalue,
    go to the vertices of a polygon. Right: the third coordinate of z diverges, while that of x (thin) stays bounded.
    """
    import numpy as np

    import attnflow as af
    from attnflow import plot

    run = results.run(part="figure", matrix="mix")
    ts, z = np.asarray(run.ts), np.asarray(run.xs)
    early = ts <= SHOWN + 1e-9
    split = af.diagnostics.detect_paranormal(V=np.array(MATRICES["mix"]))
    found = af.diagnostics.detect_polytope(split.components(z[-1]), B=split.restrict())
    with plot.style():
        figure = plot.new_figure(9.6, 4.6)
        left, right = figure.subplots(1, 2)
        plot.polytope(split.components(z[early]), ts=ts[early], found=found, ax=left)
        left.set_title("components in F, t = 0 to 5")
        right.plot(ts, z[:, :, 2], color=plot.PALETTE["blue"], lw=1.2)
        right.plot(ts, np.exp(-ts / 2)[:, None] * z[:, :, 2], color=plot.PALETTE["orange"], lw=0.9)
        right.plot([], [], color=plot.PALETTE["blue"], lw=1.2, label="$z_3$")
        right.plot([], [], color=plot.PALETTE["orange"], lw=0.9, label="$x_3 = e^{-t/2} z_3$")
        right.set_yscale("symlog", linthresh=10)
        right.set(xlabel="time $t$", ylabel="third coordinate", xlim=(0, ts[-1]), title="along the eigenvalue −1/2")
        right.legend(loc="upper left")
        right.grid()
    return figure


def _planes(results: Results, name: str, axes: Any = None) -> Any:
    """Tokens until t = 5 and the hyperplanes that they approach."""
    import numpy as np

    import attnflow as af
    from attnflow import plot

    run, data = results.run(part="figure", matrix=name), results.select(part="figure", matrix=name)
    V, z, ts = np.array(MATRICES[name]), np.asarray(run.xs), np.asarray(run.ts)
    z = z @ data["basis"].values.T if "basis" in data else z  # followed along eigenvectors
    found = af.diagnostics.detect_hyperplanes(z[ts <= 14 + 1e-9][-1], V=V)
    early = ts <= SHOWN + 1e-9
    figure = plot.hyperplanes(z[early], V=V, ts=ts[early], found=found, ax=axes)
    if axes is not None:
        axes.get_legend().set_bbox_to_anchor((0.5, -0.05))  # below the label of the first axis
    return figure
