r"""The origin: with $V = -I$ all tokens go to zero, and slowly.

Attention becomes uniform, so that the mean decays exponentially and the covariance obeys $\dot C = -2C^2$ to leading
order: all its eigenvalues are close to $1/2t$, and tokens go to zero like $t^{-1/2}$. Nothing is rescaled here.
"""

from typing import TYPE_CHECKING, Any

from .. import Cell, Claim, Experiment, Parameter, Results
from .tokens import DOCS, NINE, NUMBERS, PAPER, cube, model

if TYPE_CHECKING:
    import xarray

SOURCE = f"{DOCS}, The origin"


def cells(scale: str) -> list[Cell]:
    drawn = [{"part": "draw", "n": 20, "d": 2}, {"part": "draw", "n": 30, "d": 3}]
    return [{"part": "reference"}, *(drawn if scale == "full" else drawn[:1])]


def compute(cell: Cell) -> "xarray.Dataset":
    import numpy as np
    import xarray

    import attnflow as af

    reference = cell["part"] == "reference"
    x0 = np.array(NINE) if reference else cube(cell["seed"], cell["n"], cell["d"], 1.0)
    d = x0.shape[1]
    ts = np.append(0.0, np.geomspace(0.1, 500.0 if reference else 1000.0, 60))
    # Nothing grows and Vx nearly cancels, so no integrating factor is needed.
    run = af.simulate(model(V=-np.eye(d), B=np.eye(d)), x0, ts=ts, solver="rk4", dt=0.02 if reference else 0.1)
    x = np.asarray(run.xs)
    covariance = np.einsum("tni,tnj->tij", x - x.mean(axis=1, keepdims=True), x) / x.shape[1]
    P = np.asarray(af.attention_matrix(run))
    return xarray.Dataset(
        {
            "eigenvalue": (("time", "coordinate"), np.linalg.eigvalsh(covariance)),
            "largest": ("time", np.linalg.norm(x, axis=2).max(axis=1)),
            "unevenness": ("time", np.abs(x.shape[1] * P - 1).max(axis=(1, 2))),
        },
        coords={"time": ts},
    )


def at_500(results: Results) -> list[float]:
    return (500 * results.select(part="reference")["eigenvalue"][-1].values).tolist()


def growth_of_inverses(results: Results) -> list[float]:
    """The mean growth of 1/eigenvalue per unit of time over the last ten saved times, for each run."""
    rates: list[float] = []
    for _, data in results:
        late = data.isel(time=[-10, -1])
        inverse, ts = 1 / late["eigenvalue"].values, late["time"].values
        rates += ((inverse[1] - inverse[0]) / (ts[1] - ts[0])).tolist()
    return rates


def growth_of_largest(results: Results) -> list[float]:
    import numpy as np

    return [float(np.diff(data["largest"]).max()) for _, data in results]


def unevenness_at_end(results: Results) -> list[float]:
    return [float(data["unevenness"][-1]) for _, data in results]


def slow_decay(results: Results) -> Any:
    """V = −I. Eigenvalues of the covariance of the tokens against time, and the dashed line 1/2t on which all of them
    end: the origin is approached like t to the power −1/2, not exponentially.
    """
    import numpy as np

    from attnflow import plot

    with plot.style():
        figure = plot.new_figure(5.2, 3.6)
        axes = figure.add_subplot()
        for (_, data), colour in zip(results, plot.PALETTE.values(), strict=False):
            ts, lines = np.asarray(data["time"])[1:], np.asarray(data["eigenvalue"])[1:]
            label = "nine tokens" if len(ts) and ts[-1] < 600 else f"drawn from a cube, $d = {lines.shape[1]}$"
            axes.loglog(ts, lines[:, 0], color=colour, label=label)
            axes.loglog(ts, lines[:, 1:], color=colour)
        ts = np.geomspace(1, 1000, 40)
        axes.loglog(ts, 1 / (2 * ts), color="0.3", ls=(0, (4, 3)), lw=1, label="$1/2t$")
        axes.set(xlabel="time $t$", ylabel="eigenvalues of the covariance", xlim=(0.1, 1000))
        axes.legend()
        axes.grid()
    return figure


CLAIMS = [
    Claim(
        id="origin-covariance",
        statement="Nine tokens, V = −I, B = I: 500 times the eigenvalues of the covariance at t = 500",
        kind="equal",
        expected=[0.49887, 0.49905],
        tolerance=1e-3,
        measure=at_500,
        source=NUMBERS,
        provenance="derived",
        note="the covariance divides by n",
    ),
    Claim(
        id="origin-law",
        statement="The inverse of every eigenvalue of the covariance grows at the rate 2 in the end, for each run",
        kind="equal",
        expected=2.0,
        tolerance=0.01,
        tolerance_kind="rel",
        measure=growth_of_inverses,
        source=SOURCE,
        provenance="derived",
        note="the first correction is of the order of the eigenvalue itself, 1/2t",
    ),
    Claim(
        id="origin-norm",
        statement="max |x| never grows: its largest rise from one saved time to the next, for each run",
        kind="at_most",
        expected=0.0,
        measure=growth_of_largest,
        source=SOURCE,
        provenance="derived",
    ),
    Claim(
        id="origin-uniform",
        statement="P tends to the uniform matrix: the largest |nP − 1| at the end, for each run",
        kind="at_most",
        expected=0.02,
        measure=unevenness_at_end,
        source=f"{PAPER}, the origin theorem; {SOURCE}",
        provenance="observation",
        note="the limit is the theorem's; |x|² is of the order 1/t, and 0.02 at these times is our threshold",
    ),
]

EXPERIMENT = Experiment(
    id="clusters-origin",
    paper="clusters",
    title="With V = −I tokens go to the origin like a power of time",
    summary="V = −I, B = I: all tokens go to zero, attention becomes uniform, and the covariance decays like 1/2t.",
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[slow_decay],
    parameters={
        "n": Parameter("number of tokens", bounds=(2, 1000)),
        "d": Parameter("dimension", bounds=(2, 20)),
    },
)
