r"""Convergence to a step function, for the dynamics of the proof (section 6 of the paper).

Modified USA merges the closest pair by force at the angle $1/\sqrt{\beta\log\beta}$. From well-prepared angles tokens
join the first one by one, and in the time of the proof the energy tends to a step function with known steps.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter, Results
from ..staircases.figures import colours
from ..tokens import angles, attention, refined, tokens
from .claims import CLAIMS

if TYPE_CHECKING:
    import xarray

POINTS = 64


def cells(scale: str) -> list[Cell]:
    return [{"beta": beta} for beta in ((1e2, 1e3, 1e4, 1e5, 1e6) if scale == "full" else (1e2, 1e3, 1e4, 1e5))]


def compute(cell: Cell) -> "xarray.Dataset":
    import numpy as np
    import xarray

    import attnflow as af

    beta = cell["beta"]
    near = 1 / np.sqrt(beta * np.log(beta))
    model = af.SelfAttention(attention("shifted USA", beta))
    run = af.long_time(model, tokens("prepared"), merge_distance=2 * np.sin(near / 2), points=POINTS)
    staircase = af.diagnostics.staircase(refined(run), "paper")
    merges = np.array([p.end for p in staircase.plateaus[:-1]])
    theta = angles("prepared")
    n = len(theta)
    joined = np.arange(2, n + 1)  # how many tokens are in the cluster after each merge
    gap = theta[1:] - np.cumsum(theta)[:-1] / (joined - 1)  # to the mean of the tokens before it, which is conserved
    formula = (np.log(np.tan(gap / 2)) - np.log(np.tan(near / 2))) / (joined / n * np.log(beta))
    return xarray.Dataset(
        {
            "tau": ("time", staircase.tau),
            "energy": ("time", staircase.energy),
            "duration": ("merge", np.diff(merges, prepend=0.0)),
            "formula": ("merge", formula),
            "limit": ("merge", n / (2 * joined)),
            "height": ("merge", [event["energy"] for event in run.events]),
            "rise_formula": ("merge", np.log(2 * np.log(10) * np.log(beta)) / (2 * joined / n * np.log(beta))),
            "rise": ("merge", [_rise(staircase, k) for k in range(len(merges))]),
        }
    )


def _rise(staircase: Any, k: int) -> float:
    """The time of the energy from a tenth of the step to the merge by force, which is instantaneous."""
    import numpy as np

    plateau, after = staircase.plateaus[k], staircase.plateaus[k + 1]
    inside = (staircase.tau >= plateau.start) & (staircase.tau <= plateau.end)
    gained = (staircase.energy[inside] - plateau.predicted) / (after.predicted - plateau.predicted)
    risen = gained > 1e-6
    risen[np.argmax(staircase.tau[inside] >= plateau.end) + 1 :] = False  # the row after the merge
    return float(plateau.end - np.interp(np.log(0.1), np.log(gained[risen]), staircase.tau[inside][risen]))


def steps_of_the_proof(results: Results) -> Any:
    """Modified USA from the angles (0, 0.1, 0.3, 0.7, 1.5): the energy in the time of the proof, for growing β. Dashed:
    the step function of the limit, whose plateaus last 5/2k and have the height (k² + 5 − k)/25, k = 2, …, 5.
    """
    import numpy as np

    from attnflow import plot

    k = np.arange(2, 6)
    ends = np.concatenate([[0], np.cumsum(5 / (2 * k))])
    with plot.style():
        figure = plot.new_figure(5.6, 3.8)
        axes = figure.add_subplot()
        for (cell, data), colour in zip(results, colours(len(results)), strict=True):
            power = round(np.log10(cell["beta"]), 9)
            label = rf"$\beta = 10^{{{power:g}}}$" if power % 1 == 0 else rf"$\beta = {cell['beta']:g}$"
            axes.plot(data["tau"], data["energy"], color=colour, label=label)
        heights = np.concatenate([[0.2], (k * k + 5 - k) / 25])
        axes.step([*ends, 3.6], [*heights, 1.0], where="post", color="black", lw=1, ls=(0, (4, 3)), label="limit")
        axes.set(xlabel=r"time of the proof $\tau$", ylabel=r"energy $\widehat{E}$", xlim=(0, 3.6), ylim=(0, 1.05))
        axes.legend(loc="upper left")
        axes.grid()
    return figure


EXPERIMENT = Experiment(
    id="metastability-modified",
    paper="metastability",
    title="Convergence to a step function",
    summary=(
        "For a modified USA, which merges the closest tokens by force at a distance that vanishes with growing β, the "
        "paper proves that the energy tends to a step function in a suitable time. The steps are computed here in "
        "closed form and compared with the flow."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[steps_of_the_proof],
    parameters={"beta": Parameter("inverse temperature", bounds=(100, 10000000.0))},
)
