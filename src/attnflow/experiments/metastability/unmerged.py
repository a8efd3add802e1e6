r"""Why clusters are merged: a stiff solver that follows every token, against the integrator of long times.

Without merging the drift $e^{-\beta(1 - \cos u)}$ of a cluster must exceed the rounding of its tokens. At
$\beta = 30$ it does not, and the last merge never happens.
"""

from typing import TYPE_CHECKING, Any

from .. import Cell, Claim, Experiment, Parameter, Results
from .tokens import angles, attention, tokens

if TYPE_CHECKING:
    import xarray

SOURCE = "docs/theory/metastability.md, Why merging is needed"
# Times of the last merge, by SciPy with merging (tests/witnesses/staircases.py).
REFERENCE = {4.0: 2773.677, 9.0: 1.8718137e7, 16.0: 8.3794e12}
STUCK = 30.0


def cells(scale: str) -> list[Cell]:
    return [{"beta": beta} for beta in ((4.0, 9.0, 16.0, STUCK) if scale == "full" else (4.0, 9.0))]


def compute(cell: Cell) -> "xarray.Dataset":
    import numpy as np
    import xarray
    from scipy.integrate import solve_ivp

    import attnflow as af
    from attnflow.diagnostics.staircase import energy_of_rows

    beta = cell["beta"]
    merged = af.long_time(af.SelfAttention(attention("SA", beta)), tokens("W32"))
    last = merged.events[-1]["log_t"]

    def speed(t: float, theta: Any) -> Any:
        apart = theta[None, :] - theta[:, None]
        kernel = np.exp(-2 * beta * np.sin(apart / 2) ** 2)
        return (kernel * np.sin(apart)).sum(axis=1) / kernel.sum(axis=1)

    def together(t: float, theta: Any) -> float:
        return float(2 * abs(np.sin((theta - theta[0]) / 2)).max() - 1e-3 / np.sqrt(beta))

    together.terminal = True  # pyright: ignore[reportFunctionMemberAccess]
    solution = solve_ivp(speed, (0, 2 * np.exp(last)), angles("W32"), "LSODA", events=together, rtol=1e-10, atol=1e-13)
    theta = solution.y[:, -1]
    energy = np.exp(-2 * beta * np.sin((theta[None, :] - theta[:, None]) / 2) ** 2).mean()
    times = solution.t_events[0]
    # The energy along the stiff solver's run, for the figure.
    shown = np.unique(np.linspace(0, solution.t.size - 1, 400).astype(int))
    path = solution.y[:, shown]
    heights = np.exp(-2 * beta * np.sin((path[None] - path[:, None]) / 2) ** 2).mean(axis=(0, 1))
    return xarray.Dataset(
        {
            "merged": last,
            "unmerged": np.log(times[0]) if times.size else np.nan,
            "energy_at_end": energy,
            "evaluations": float(solution.nfev),
            "steps": float(merged.stats["steps"]),
            "path": ("time", heights),
            "merged_path": ("row", energy_of_rows(merged)),
            "merged_log_time": ("row", np.asarray(merged.log_ts)),
        },
        coords={"time": solution.t[shown]},
    )


def ratios(results: Results) -> list[float]:
    """Time of the last merge without merging over the reference, as long as rounding allows."""
    import math

    return [math.exp(data["unmerged"]) / REFERENCE[cell["beta"]] for cell, data in results if cell["beta"] in REFERENCE]


def stuck(results: Results) -> float:
    return float(results.select(beta=STUCK)["energy_at_end"])


def with_and_without_merging(results: Results) -> Any:
    """The energy of 32 tokens against the logarithm of time: the integrator that merges clusters (lines) and a stiff
    solver that follows every token (dashed). At β = 30 (full scale) the last step is missed.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(5.6, 3.6)
        axes = figure.add_subplot()
        for (cell, data), colour in zip(results, plot.PALETTE.values(), strict=False):
            label = rf"$\beta = {cell['beta']:g}$"
            axes.plot(
                data["merged_log_time"] / np.log(10), data["merged_path"], color=colour, lw=3, alpha=0.35, label=label
            )
            times = np.asarray(data["time"])
            axes.plot(np.log10(np.maximum(times, 0.1)), data["path"], "--", color=colour, lw=1.1)
        axes.plot([], [], "--", color="0.4", lw=1.1, label="not merged")
        axes.set(xlabel=r"$\log_{10}\,t$ (SA)", ylabel=r"energy $\widehat{E}$", ylim=(0, 1.05), xlim=(-1, None))
        axes.legend()
        axes.grid()
    return figure


CLAIMS = [
    Claim(
        id="unmerged-right",
        statement="A stiff solver without merging finds the last merge while rounding allows: time over the true one",
        kind="equal",
        expected=1.0,
        tolerance=2e-4,
        measure=ratios,
        source=SOURCE,
        provenance="derived",
        note="β = 4 and 9, at full scale also 16",
    ),
    Claim(
        id="unmerged-stuck",
        statement="At β = 30 it never does: the energy at twice the time of the last merge is that of two clusters",
        kind="equal",
        expected=0.517578,
        tolerance=1e-6,
        measure=stuck,
        source=SOURCE,
        provenance="derived",
        scales=("full",),
    ),
]

EXPERIMENT = Experiment(
    id="metastability-unmerged",
    paper="metastability",
    title="Why clusters are merged",
    summary=(
        "A stiff solver that follows every token is right as long as the drift of clusters exceeds rounding, and wrong "
        "afterwards. The integrator of long times merges clusters that touch."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[with_and_without_merging],
    parameters={"beta": Parameter("inverse temperature", bounds=(0.5, 60))},
)
