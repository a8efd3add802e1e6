r"""Trajectories of 64 tokens on the sphere $S^2$ and the energy they climb (sections 3 and 6 of the paper).

In the identity case softmax attention is the gradient ascent of $E$ in a metric that weighs token $i$ by $Z_i$, so
that $\dot E = \sum_i w_i Z_i |\dot x_i|^2$. Here energies come from the library's integration, while $Z_i$ and the
velocities are computed again from the definition.
"""

from typing import TYPE_CHECKING, Any

from .. import Cell, Claim, Experiment, Parameter, Results

if TYPE_CHECKING:
    import numpy
    import xarray

    from attnflow import Run

T1 = 30.0
CHECKED = (0.5, 2.0)  # times at which the dissipation is compared
STEP = 1e-3  # of the central differences


def cells(scale: str) -> list[Cell]:
    if scale == "full":
        return [{"n": n, "d": 3, "beta": b} for n in (64, 512) for b in (1.0, 4.0, 9.0, 30.0)]
    return [{"n": 64, "d": 3, "beta": b} for b in (1.0, 9.0, 30.0)]


def compute(cell: Cell) -> "tuple[xarray.Dataset, Run]":
    import jax
    import numpy as np
    import xarray

    import attnflow as af

    beta = cell["beta"]
    x0 = af.sphere.uniform(n=cell["n"], d=cell["d"], key=jax.random.key(cell["seed"]))
    beside = np.add.outer(CHECKED, [-STEP, 0.0, STEP])
    ts = np.unique(np.concatenate([np.linspace(0.0, T1, 301), beside.ravel()]))
    run = af.simulate(af.SelfAttention(beta=beta), x0, ts=ts)
    xs, energy = np.asarray(run.xs), np.asarray(af.energy(run, scale="Ehat"))
    before, at, after = np.searchsorted(ts, beside).T
    data = {
        "energy": ("time", energy),
        "slope": ("checked", (energy[after] - energy[before]) / (ts[after] - ts[before])),
        "dissipation": ("checked", [_dissipation(xs[i], beta) for i in at]),
    }
    return xarray.Dataset(data, coords={"time": ts, "checked": ts[at]}), run


def _dissipation(x: "numpy.ndarray", beta: float) -> float:
    """Sum of w Z |v|^2 on the scale of Ehat, from the definitions alone."""
    import numpy as np

    kernel = np.exp(beta * (x @ x.T - 1)) / len(x)
    z = kernel.sum(axis=1)
    force = kernel @ x / z[:, None]
    velocity = force - (force * x).sum(axis=1, keepdims=True) * x
    return float(2 * beta * (z * (velocity**2).sum(axis=1)).mean())


# What the claims measure: one number for each cell, in the order of the cells.


def least_rise(results: Results) -> list[float]:
    return [float(data["energy"].diff("time").min()) for _, data in results]


def dissipation_error(results: Results) -> list[float]:
    return [float(abs(data["slope"] / data["dissipation"] - 1).max()) for _, data in results]


def spread(results: Results) -> list[float]:
    """Largest $1 - \\langle x_i, x_j\\rangle$ at the end, at β = 1."""
    return [float(_gaps(run)[-1]) for _, run in results.where(beta=1.0).runs()]


def consensus_rate(results: Results) -> list[float]:
    """Slope of the logarithm of the spread, where the tokens are close and rounding is far."""
    import numpy as np

    rates = []
    for _, run in results.where(beta=1.0).runs():
        gaps, ts = _gaps(run), np.asarray(run.ts)
        close = (gaps < 1e-4) & (gaps > 1e-9)
        rates.append(-np.polyfit(ts[close], np.log(gaps[close]), 1)[0])
    return rates


def _gaps(run: "Run") -> "numpy.ndarray":
    import numpy as np

    x = np.asarray(run.xs)
    return np.array([((a[:, None] - a[None]) ** 2).sum(axis=-1).max() / 2 for a in x])


def fewest(results: Results) -> Results:
    """The cells with the fewest tokens, which a picture has room for."""
    return results.where(n=min(cell["n"] for cell in results.cells))


def tokens_on_the_sphere(results: Results) -> Any:
    """Tokens on the sphere at the last time with the way they came, from the same uniform draw, for several inverse
    temperatures β: one cluster at β = 1, several that hardly move at larger β.
    """
    from attnflow import plot

    chosen = list(fewest(results).runs())
    with plot.style():
        figure = plot.new_figure(4.2 * len(chosen), 4.0)
        for axes, (cell, run) in zip(figure.subplots(1, len(chosen), squeeze=False)[0], chosen, strict=True):
            plot.tokens(run, ax=axes, camera=_facing(chosen[0][1]))
            axes.set_title(rf"$\beta = {cell['beta']:g}$, $t = {T1:g}$")
            for lines in axes.collections:
                lines.set_rasterized(True)  # tens of thousands of pieces of trails would make ten megabytes of SVG
    return figure


def energy_along_time(results: Results) -> Any:
    """The energy Ê of the same runs: it never falls, starts above its value at the uniform measure (dotted), and is 1
    when all tokens have met. Plateaus are clusters that wait for one another.
    """
    import attnflow as af
    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(6.4, 3.8)
        axes = figure.subplots()
        for (cell, data), colour in zip(fewest(results), plot.PALETTE.values(), strict=False):
            axes.plot(data["time"], data["energy"], color=colour, label=rf"$\beta = {cell['beta']:g}$")
            axes.axhline(
                float(af.reductions.uniform_energy(cell["d"], beta=cell["beta"])), color=colour, lw=0.9, ls=":"
            )
        axes.set(xlabel="time $t$", ylabel=r"energy $\widehat{E}(t)$", xlim=(0, T1), ylim=(0, 1.05))
        axes.grid()
        axes.legend(loc="upper right", bbox_to_anchor=(1.0, 0.93))
    return figure


def _facing(run: "Run") -> tuple[float, float]:
    """Elevation and azimuth of a viewer who has the tokens' last mean a little below and left of the middle."""
    import numpy as np

    x, y, z = np.asarray(run.final).mean(axis=0)
    elevation = np.degrees(np.arctan2(z, np.hypot(x, y)))
    return float(np.clip(elevation + 15, -35, 35)), float(np.degrees(np.arctan2(y, x)) + 25)


EXPERIMENT = Experiment(
    id="perspective-trajectories",
    paper="perspective",
    title="Trajectories on the sphere and their energy",
    summary=(
        "64 tokens drawn uniformly on the unit sphere of three-dimensional space move by softmax attention to one "
        "another. They climb an energy whose only maximisers are single points and whose minimiser is the uniform "
        "measure; at low temperature the climb is a staircase of long-lived clusters."
    ),
    cells=cells,
    compute=compute,
    figures=[tokens_on_the_sphere, energy_along_time],
    parameters={
        "n": Parameter("number of tokens", bounds=(2, 4096)),
        "beta": Parameter("inverse temperature", bounds=(0.01, 1000)),
    },
    claims=[
        Claim(
            id="trajectories-energy-rises",
            statement="The energy Ê never falls: its least change between saved times, for each cell",
            kind="at_least",
            expected=0.0,
            tolerance=1e-12,
            measure=least_rise,
            for_all=("n", "beta"),
            source="arXiv:2312.10794, Section 3",
            provenance="theorem",
        ),
        Claim(
            id="trajectories-dissipation",
            statement="dE/dt = Σ wᵢ Zᵢ |dxᵢ/dt|² at t = 0.5 and 2: relative difference, for each cell",
            kind="at_most",
            expected=1e-4,
            measure=dissipation_error,
            for_all=("n",),
            source="arXiv:2312.10794, Section 3",
            provenance="theorem",
            note="slope by central differences, right-hand side from the definitions",
        ),
        Claim(
            id="trajectories-consensus",
            statement="β = 1: all tokens have met by t = 30, greatest 1 − ⟨xᵢ, xⱼ⟩",
            kind="at_most",
            expected=1e-6,
            measure=spread,
            source="arXiv:2312.10794, Theorem 6.1",
            provenance="observation",
            note="the theorem gives the limit; that 30 is long enough is our choice",
        ),
        Claim(
            id="trajectories-consensus-rate",
            statement="β = 1: close to consensus 1 − ⟨xᵢ, xⱼ⟩ falls like e^(−2t), the rate",
            kind="equal",
            expected=2.0,
            tolerance=0.01,
            measure=consensus_rate,
            for_all=("n",),
            source="docs/theory/sphere.md, Rate of consensus",
            provenance="derived",
        ),
    ],
)
