"""The figures of `polytopes`."""

from typing import Any

from ... import Results


def polytope_in_the_plane(results: Results) -> Any:
    """20 tokens drawn from [−5, 5]², V = B = I: rescaled tokens until t = 5 (left: the flow; right: the authors'
    scheme, explicit Euler with dt = 0.1). The hull shrinks to a polytope, and every token goes to one of its vertices.
    """
    import numpy as np

    from attnflow import plot

    euler = results.select(part="draws")
    with plot.style():
        figure = plot.new_figure(9.6, 4.6)
        left, right = figure.subplots(1, 2)
        _until_five(results, 2, ax=left)
        left.set_title("the flow, t = 0 to 5")
        plot.polytope(np.asarray(euler["euler"][0]), ts=np.asarray(euler["time"]), ax=right)
        right.set_title("Euler, dt = 0.1, t = 0 to 5")
    return figure


def polytope_in_space(results: Results) -> Any:
    """Tokens drawn from [−5, 5]³, V = B = I, until t = 5; the polytope is that of t = 14."""
    return _until_five(results, 3)


def rate_of_convergence(results: Results) -> Any:
    """The largest distance of a token from its limit, against time, on a logarithmic scale; dashed: e^−t. Nine tokens
    with two matrices of scores. The end of each curve bends because the limit is taken at t = 14.
    """
    import numpy as np

    from attnflow import plot

    names = {"identity": r"$B = I$", "skew": r"$B = [[2, 0.5], [0.5, 1]]$"}
    with plot.style():
        figure = plot.new_figure(4.8, 3.4)
        axes = figure.add_subplot()
        for name, label in names.items():
            data = results.select(part="reference", B=name)
            axes.semilogy(data["time"], data["distance"], label=label)
        ts = np.linspace(0, 13, 50)
        axes.semilogy(ts, 3 * np.exp(-ts), color="0.5", ls=(0, (4, 3)), lw=1, label=r"$\propto e^{-t}$")
        axes.set(xlabel="time $t$", ylabel=r"$\max_i |z_i - \lim z_i|$", xlim=(0, 13.5), ylim=(1e-6, 5))
        axes.legend()
        axes.grid()
    return figure


def _until_five(results: Results, d: int, ax: Any = None) -> Any:
    """The largest cloud in this dimension until t = 5, and the polytope of its end."""
    import numpy as np

    import attnflow as af
    from attnflow import plot

    *_, (_, run) = results.where(part="figure", d=d).runs()
    early = np.asarray(run.ts) <= 5 + 1e-9
    return plot.polytope(run.xs[early], ts=run.ts[early], detected=af.diagnostics.detect_polytope(run), ax=ax)
