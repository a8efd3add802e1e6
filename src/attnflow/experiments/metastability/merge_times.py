r"""The times of all merges for many draws of uniform tokens on the circle.

One compiled program follows all draws to their last cluster. Times are random and spread over many decades, but the
last waiting time is a function of the two clusters left by the merge before, and heights are functions of the masses.
"""

from typing import TYPE_CHECKING, Any

from .. import Cell, Claim, Experiment, Parameter, Results

if TYPE_CHECKING:
    import numpy
    import xarray

SOURCE = "docs/theory/metastability.md, The last merge of many draws"


def cells(scale: str) -> list[Cell]:
    if scale == "full":
        return [{"n": 32, "beta": beta, "draws": 1000} for beta in (9.0, 30.0)]
    return [{"n": 16, "beta": 9.0, "draws": 64}]


def compute(cell: Cell) -> "xarray.Dataset":
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    from .._draws import each_draw

    n, beta = cell["n"], cell["beta"]
    key, model = jax.random.key(cell["seed"]), af.SelfAttention(beta=beta)

    def follow(r: Any) -> Any:
        x0 = af.sphere.uniform(n=n, d=2, key=jax.random.fold_in(key, r))
        run = af.long_time(model, x0, points=0, throw=False)
        merges = {name: run.info[name] for name in ("merge_log_t", "merge_clusters", "merge_energy", "merge_index")}
        rows = merges["merge_index"]
        return {**merges, "xs": run.xs[rows], "labels": jnp.asarray(run.labels)[rows], "code": run.code}

    draws = each_draw(follow, cell["draws"])
    height, bound, gap, p = _after(draws["xs"], draws["labels"], beta)
    log_t, left = draws["merge_log_t"], draws["merge_clusters"]
    used = draws["merge_index"] >= 0
    above = draws["merge_energy"] - height
    when = {count: _where(log_t, left == count) for count in range(1, n)}
    two = (left == 2) & used
    pair = {name: _where(values, two) for name, values in {"gap": gap, "mass": p, "log_t": log_t}.items()}
    known = np.isfinite(pair["gap"])
    end = 2 * np.arcsin(1e-3 / np.sqrt(beta) / 2)
    exact = np.full(len(known), np.nan)
    exact[known] = np.log(
        np.asarray(af.reductions.two_cluster_time(beta, u0=pair["gap"][known], u1=end, weight=pair["mass"][known]))
    )
    waited = np.exp(when[1] - exact) - np.exp(pair["log_t"] - exact)  # over the exact waiting time
    return xarray.Dataset(
        {
            "log_t": (("left", "draw"), np.stack([when[count] for count in when])),
            "waited": ("draw", waited),
            "wait": ("draw", exact),
            "gap": ("draw", pair["gap"]),
            "mass": ("draw", pair["mass"]),
            "outside": ("draw", np.where(used, np.maximum(-above, above - bound), -1.0).max(axis=1)),
            "unfinished": float((draws["code"] != 0).sum()),
        },
        coords={"left": list(when)},
    )


def _where(values: "numpy.ndarray", chosen: "numpy.ndarray") -> "numpy.ndarray":
    """For each draw the value at the chosen merge, or NaN (if two merges coincide)."""
    import numpy as np

    return np.where(
        chosen.any(axis=1), np.take_along_axis(values, chosen.argmax(axis=1)[:, None], axis=1)[:, 0], np.nan
    )


def _after(xs: "numpy.ndarray", labels: "numpy.ndarray", beta: float) -> "tuple[numpy.ndarray, ...]":
    r"""After every merge of every draw: $\sum W^2$, the largest excess of the energy, the least angle, a mass."""
    import numpy as np

    n = labels.shape[-1]
    height, gap, first = (np.empty(labels.shape[:2]) for _ in range(3))
    for k in range(labels.shape[1]):
        same = labels[:, k, :, None] == labels[:, k, None, :]
        height[:, k] = same.mean(axis=(1, 2))
        chord = np.linalg.norm(xs[:, k, :, None, :] - xs[:, k, None, :, :], axis=-1)
        gap[:, k] = 2 * np.arcsin(np.minimum(np.where(same, np.inf, chord).min(axis=(1, 2)) / 2, 1))
        first[:, k] = same[:, 0].sum(axis=1) / n
    bound = (1 - height) * np.exp(-2 * beta * np.sin(gap / 2) ** 2)
    return height, bound, gap, first


def last_waits(results: Results) -> list[float]:
    """The greatest relative error of the last waiting time, for each β."""
    return [float(abs(data["waited"] - 1).max()) for _, data in results]


def outside(results: Results) -> list[float]:
    return [float(data["outside"].max()) for _, data in results]


def unfinished(results: Results) -> list[float]:
    return [float(data["unfinished"]) for _, data in results]


def times_of_merges(results: Results) -> Any:
    """Left: when merges leave five, …, one cluster, over all draws of uniform tokens on the circle (SA). Right: the
    time before the last merge against the angle of the two clusters. The curve is the leading order for equal masses,
    which fails near the balance at π; unequal clusters merge sooner.
    """
    import numpy as np

    import attnflow as af
    from attnflow import plot

    cell, data = next(iter(results))
    beta = cell["beta"]
    with plot.style():
        figure = plot.new_figure(9.2, 3.8)
        left, right = figure.subplots(1, 2)
        decades = data["log_t"] / np.log(10)
        bins = np.linspace(0, float(decades.max()) * 1.02, 60 if cell["draws"] > 500 else 24)
        for count, colour in zip((5, 4, 3, 2, 1), plot.PALETTE.values(), strict=False):
            values = np.asarray(decades.sel(left=count))
            label = f"{count} left" if count > 1 else "one left"
            left.hist(values[np.isfinite(values)], bins, histtype="stepfilled", color=colour, alpha=0.35, label=label)
        title = rf"{cell['draws']} draws of {cell['n']} tokens, $\beta = {beta:g}$"
        left.set(xlabel=r"$\log_{10}\,t$ of the merge (SA)", ylabel="draws", title=title)
        left.legend(title="clusters")
        u = np.linspace(0.8, 3.05, 200)
        formula = np.asarray(af.reductions.merge_time(beta, u0=u, weights=(0.5, 0.5), log=True)) / np.log(10)
        shown = right.scatter(
            data["gap"], data["wait"] / np.log(10), c=np.maximum(data["mass"], 1 - data["mass"]), cmap="viridis", s=12
        )
        right.plot(u, formula, color="black", lw=1, ls=(0, (4, 3)), label="leading order, equal masses")
        right.set(xlabel="angle between the last two clusters", ylabel=r"$\log_{10}$ of the last wait (SA)")
        right.legend(loc="upper left")
        figure.colorbar(shown, ax=right, label="mass of the heavier one")
    return figure


CLAIMS = [
    Claim(
        id="merge-times-last-wait",
        statement="The last waiting time of a draw is that of two clusters of their masses and angle: relative error",
        kind="at_most",
        expected=1e-4,
        measure=last_waits,
        source=SOURCE,
        provenance="derived",
    ),
    Claim(
        id="merge-times-heights",
        statement="After every merge of every draw the energy is within the bounds of masses and angles: distance",
        kind="at_most",
        expected=1e-11,
        measure=outside,
        source="docs/theory/metastability.md, Heights of plateaus",
        provenance="derived",
    ),
    Claim(
        id="merge-times-one-cluster",
        statement="Every draw ends in one cluster: draws that do not",
        kind="equal",
        expected=0.0,
        measure=unfinished,
        source="arXiv:2312.10794, Theorem 4.1 and arXiv:2410.06833, Section 1: all tokens meet in infinite time",
        provenance="theorem",
    ),
]

EXPERIMENT = Experiment(
    id="metastability-merge-times",
    paper="metastability",
    title="Merge times of many draws",
    summary=(
        "Uniform tokens on the circle, many draws, each followed until one cluster is left. The times of merges "
        "spread over many decades; the last waiting time and the heights of the energy follow from masses and angles."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[times_of_merges],
    parameters={
        "n": Parameter("number of tokens", bounds=(8, 256)),
        "beta": Parameter("inverse temperature", bounds=(4, 100)),
        "draws": Parameter("number of draws", bounds=(2, 100000)),
    },
)
