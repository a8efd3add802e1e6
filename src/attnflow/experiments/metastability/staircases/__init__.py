r"""Staircases of the energy: from many tokens to one cluster, over up to a hundred and forty decades of time.

Clusters interact by the kernel $e^{-\beta(1 - \cos u)}$, so that merges are separated by factors of time, not by
differences. Here tokens of several deterministic data sets are followed to the last merge, and the times of
all merges are compared with those of SciPy (tests/witnesses/staircases.py).
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from ..tokens import attention, refined, tokens
from .claims import CLAIMS
from .figures import energy_approaches_steps, saddle_to_saddle, staircases_of_w32, tree_on_the_sphere

if TYPE_CHECKING:
    import xarray

    from attnflow import Run

POINTS = 64  # saved times between merges


def cells(scale: str) -> list[Cell]:
    w32 = [("SA", b) for b in (4.0, 9.0, 16.0, 30.0)] + [("shifted USA", b) for b in (9.0, 30.0)]
    some = (500.0, 1000.0, 1500.0, 2000.0, 3000.0, 4000.0) if scale == "full" else (500.0, 2000.0, 4000.0)
    return [
        *({"data": "W32", "kind": kind, "beta": beta} for kind, beta in w32),
        *({"data": "figure", "kind": kind, "beta": beta} for kind in ("shifted USA", "SA") for beta in some),
        {"data": "animation", "kind": "SA", "beta": 4.0},
        *({"data": "S2", "kind": "SA", "beta": beta} for beta in (9.0, 30.0)),
    ]


def compute(cell: Cell) -> "tuple[xarray.Dataset, Run]":
    import numpy as np
    import xarray

    import attnflow as af
    from attnflow.diagnostics.staircase import energy_of_rows, staircases

    beta = cell["beta"]
    run = af.long_time(af.SelfAttention(attention(cell["kind"], beta)), tokens(cell["data"]), points=POINTS)
    drawn = refined(run, 6 if cell["data"] == "figure" else 1)
    stairs, paper = staircases(drawn, ["arclength", "paper"])
    left = [after(run, event, beta) for event in run.events]
    rows = {"arclength": stairs.tau, "paper": paper.tau, "energy": stairs.energy, "log_time": stairs.log_ts}
    data = {
        **{name: ("time", values) for name, values in rows.items()},
        "row_energy": ("row", energy_of_rows(run)),
        **{name: ("merge", np.asarray(left)[:, k]) for k, name in enumerate(("height", "bound", "gap"))},
        "plateau": ("plateau", [p.predicted for p in stairs.flat]),
    }
    return xarray.Dataset(data), run


def after(run: Any, event: Any, beta: float) -> tuple[float, float, float]:
    r"""After a merge: $\sum W_k^2$, the greatest distance from it that the theory allows, the least angle."""
    import numpy as np

    at = event["index"]
    labels, xs = np.asarray(run.labels)[at], np.asarray(run.xs)[at]
    w = np.asarray(run.masses)
    heads = [int(np.flatnonzero(labels == label)[0]) for label in np.unique(labels)]
    mass = np.array([w[labels == labels[head]].sum() for head in heads])
    height = float((mass**2).sum())
    if len(heads) == 1:
        return height, 0.0, np.nan
    pairs = [np.linalg.norm(xs[i] - xs[j]) for k, i in enumerate(heads) for j in heads[:k]]
    return height, float((1 - height) * np.exp(-beta * min(pairs) ** 2 / 2)), float(2 * np.arcsin(min(pairs) / 2))


EXPERIMENT = Experiment(
    id="metastability-staircases",
    paper="metastability",
    title="Staircases of the energy",
    summary=(
        "Tokens gather in clusters, two of which merge after exponentially long times. The energy rises "
        "in steps whose heights are sums of squared masses. Merges of several data sets are timed, from a few units "
        "to 10¹⁴³, and compared with those of SciPy; in suitable clocks the energy approaches a step function."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[staircases_of_w32, energy_approaches_steps, saddle_to_saddle, tree_on_the_sphere],
    parameters={"beta": Parameter("inverse temperature", bounds=(1, 4000))},
)
