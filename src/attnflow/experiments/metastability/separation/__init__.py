r"""Separated tokens: the theorem of metastability against the flow (section 2 of the paper).

Two tokens near each of three orthogonal centres. The report gives the interval of time for which the theorem
promises three clusters; long runs give the times at which the tokens of a cap have met and at which the first two caps
merge. The flow acts on measures, so that a token may be split into copies: each of the six is four tokens of a quarter
of its weight, and the program is that of 24 tokens on the sphere.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter, Results
from ..tokens import attention, tokens
from .claims import CLAIMS, EPS, LAMBDA

if TYPE_CHECKING:
    import numpy
    import xarray

COPIES = 4
LEMMA = {"beta": (1.5, 3.0, 10.0, 30.0), "u0": (0.05, 0.3, 0.6, 0.9), "c": (0.2, 0.5, 1.0)}


def cells(scale: str) -> list[Cell]:
    betas = (20.0, 25.0, 30.0, 35.0, 40.0, 50.0, 60.0, 80.0) if scale == "full" else (25.0, 30.0, 40.0, 60.0)
    kinds = ("SA", "shifted USA") if scale == "full" else ("SA",)
    flows = [{"part": "flow", "kind": kind, "beta": beta} for kind in kinds for beta in betas]
    return [*flows, {"part": "lemma"}]


def compute(cell: Cell) -> "xarray.Dataset":
    return _lemma() if cell["part"] == "lemma" else _flow(cell)


def _flow(cell: Cell) -> "xarray.Dataset":
    import numpy as np
    import xarray

    import attnflow as af

    beta, x0, centres = cell["beta"], tokens("caps"), np.eye(3)
    report = af.diagnostics.separation_report(x0, centres, eps=EPS, beta=beta, lam=LAMBDA)
    measure = af.diagnostics.separation_report(x0, centres, eps=EPS, beta=beta, lam=LAMBDA, mean_field=True)
    run = af.long_time(af.SelfAttention(attention(cell["kind"], beta)), np.repeat(x0, COPIES, axis=0))
    merges = {event["clusters"]: event["log_t"] for event in run.events}
    promised = [_at(run, report.log_T1), _at(run, report.log_T2)]
    caps = np.repeat(report.caps, COPIES)
    same = caps[:, None] == caps[None, :]
    return xarray.Dataset(
        {
            "separated": float(report.separated),
            "alpha": report.alpha,
            "gamma": report.gamma,
            "lambda_bounds": ("condition", list(report.lambda_bounds)),
            "log_T1": report.log_T1,
            "log_T2": report.log_T2,
            "mean_field_log_T": ("end", [measure.log_T1, measure.log_T2]),
            "spread": ("end", [_spread(x, same) for x in promised]),
            "depth": ("end", [float((x @ centres.T)[np.arange(len(x)), caps].min()) for x in promised]),
            "merge_log_t": ("left", [merges[count] for count in (3, 2, 1)]),
        },
        coords={"left": [3, 2, 1], "end": ["T1", "T2"]},
    )


def _at(run: Any, log_t: float) -> "numpy.ndarray":
    """Tokens at a time between saved ones: on a plateau they drift in proportion to time."""
    import numpy as np

    logs = np.asarray(run.log_ts)
    after = min(int(np.searchsorted(logs, log_t)), len(logs) - 1)
    start, end = np.exp(logs[[after - 1, after]] - log_t)
    part = np.clip((1 - start) / (end - start), 0, 1)
    xs = np.asarray(run.xs)
    x = (1 - part) * xs[after - 1] + part * xs[after]
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _spread(x: "numpy.ndarray", same: "numpy.ndarray") -> float:
    """The greatest squared distance within a cap."""
    import numpy as np

    return float(np.where(same, ((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=-1), 0.0).max())


def _lemma() -> "xarray.Dataset":
    """The scalar equation until $1 - u = e^{-c\\beta}$: a differential equation in $\\log(1 - u)$, and the bound."""
    import numpy as np
    import xarray
    from scipy.integrate import solve_ivp

    from attnflow.reductions import collapse_bound, collapse_time

    points = [(b, u, c) for b in LEMMA["beta"] for u in LEMMA["u0"] for c in LEMMA["c"] if 1 - u > np.exp(-c * b)]
    beta, u0, c = np.array(points).T
    solved = []
    for b, u, k in points:
        # Time as a function of s = -log(1 - u), for which the end of the interval is known.
        solution = solve_ivp(
            lambda s, t, b=b: np.exp(b * np.exp(-s)) / -np.expm1(-s),
            (-np.log1p(-u), k * b),
            [0.0],
            method="DOP853",
            rtol=1e-11,
            atol=1e-11,  # not zero: the solution starts at zero, where a relative error is never small
        )
        solved.append(solution.y[0, -1])
    return xarray.Dataset(
        {
            "solved": ("point", solved),
            "quadrature": ("point", np.asarray(collapse_time(beta, u0=u0, c=c))),
            "lemma": ("point", np.asarray(collapse_bound(beta, u0=u0, c=c))),
        }
    )


def promised_and_true_times(results: Results) -> Any:
    """Three orthogonal caps with two tokens each, SA: the theorem promises three clusters between the bounds of T₁ and
    T₂ (shaded). In fact the tokens of a cap have met long before, and the first two caps merge long after. The theorem
    states the slopes of both bounds; that of the true time is 1 − cos u for the angle u of the clusters.
    """
    import numpy as np

    from attnflow import plot

    chosen = [(cell["beta"], data) for cell, data in results.where(part="flow", kind="SA")]
    betas = np.array([beta for beta, _ in chosen])
    decades = {
        name: np.array([float(get(data)) for _, data in chosen]) / np.log(10)
        for name, get in {
            "first": lambda d: d["log_T1"],
            "second": lambda d: d["log_T2"],
            "met": lambda d: d["merge_log_t"].sel(left=3),
            "merged": lambda d: d["merge_log_t"].sel(left=2),
        }.items()
    }
    with plot.style():
        figure = plot.new_figure(5.6, 3.8)
        axes = figure.add_subplot()
        ordered = decades["first"] < decades["second"]
        axes.fill_between(
            betas, decades["first"], decades["second"], where=ordered.tolist(), color="#DCE9F3", label="promised"
        )
        for name, style, colour, label in (
            ("merged", "o-", "vermillion", "two caps merge"),
            ("second", "--", "blue", "bound of $T_2$"),
            ("first", ":", "blue", "bound of $T_1$"),
            ("met", "s-", "green", "tokens of each cap have met"),
        ):
            axes.plot(betas, decades[name], style, color=plot.PALETTE[colour], ms=4, label=label)
        axes.set(xlabel=r"$\beta$", ylabel=r"$\log_{10}\,t$ (SA)", ylim=(0, None))
        axes.legend()
        axes.grid()
    return figure


EXPERIMENT = Experiment(
    id="metastability-separation",
    paper="metastability",
    title="Separated tokens stay in clusters",
    summary=(
        "Tokens that start in separated caps collapse to a cluster in each cap by a time T₁ and stay until a time "
        "T₂, which the theorem bounds. The bounds are computed for an example and compared with the flow, which "
        "satisfies them by a wide margin."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[promised_and_true_times],
    parameters={"beta": Parameter("inverse temperature", bounds=(15, 200), where={"part": "flow"})},
)
