r"""Two clusters: the time of their merge by the integrator of long times, by quadrature and by the leading order.

Masses 0.3 and 0.7 at the angle 2. The clusters are given as two and three coincident tokens, which the integrator
takes as one cluster each: the program is that of five tokens.
"""

from typing import TYPE_CHECKING, Any

from .. import Cell, Claim, Experiment, Parameter, Results
from .tokens import attention

if TYPE_CHECKING:
    import xarray

P, U0 = 0.3, 2.0
BETAS = (5.0, 9.0, 15.0, 30.0, 60.0, 120.0, 240.0)
KINDS = ("SA", "shifted USA")
SOURCE = "docs/theory/metastability.md, How long a pair takes"


def cells(scale: str) -> list[Cell]:
    return [{"kind": kind, "betas": list(BETAS)} for kind in KINDS]


def compute(cell: Cell) -> "xarray.Dataset":
    import numpy as np
    import xarray

    import attnflow as af

    kind, betas = cell["kind"], np.array(cell["betas"])
    angles = np.repeat([0.0, U0], [2, 3])
    x0, w = np.stack([np.cos(angles), np.sin(angles)], axis=1), np.repeat([P / 2, (1 - P) / 3], [2, 3])
    log_t = [af.long_time(af.SelfAttention(attention(kind, b)), x0, weights=w).events[-1]["log_t"] for b in betas]
    pair = {"u0": U0, "clock": kind}
    # The integrator merges at a chord length; the quadrature needs the angle.
    end = 2 * np.arcsin(1e-3 / np.sqrt(betas) / 2)
    return xarray.Dataset(
        {
            "integrator": ("beta", log_t),
            "quadrature": ("beta", np.log(np.asarray(af.reductions.two_cluster_time(betas, u1=end, weight=P, **pair)))),
            "first": ("beta", np.asarray(af.reductions.merge_time(betas, weights=(P, 1 - P), log=True, **pair))),
            "second": (
                "beta",
                np.asarray(af.reductions.merge_time(betas, weights=(P, 1 - P), order=2, log=True, **pair)),
            ),
        },
        coords={"beta": betas},
    )


def reference(results: Results) -> list[float]:
    """The two times of the table."""
    import math

    data = results.select(kind="SA")
    return [math.exp(data["integrator"].sel(beta=beta)) for beta in (9.0, 30.0)]


def over_quadrature(results: Results) -> list[float]:
    import numpy as np

    return [float(v) for _, data in results for v in np.exp(data["integrator"] - data["quadrature"])]


def second_term(results: Results) -> list[float]:
    """(t / leading order − 1) β at the two largest β, extrapolated to β = ∞."""
    import numpy as np

    limits = []
    for _, data in results:
        scaled = np.expm1(data["integrator"] - data["first"]) * data["beta"]
        limits.append(float(2 * scaled[-1] - scaled[-2]))
    return limits


def leading_order(results: Results) -> list[float]:
    """The leading order over the true time, at β = 9 and 30."""
    import math

    data = results.select(kind="SA")
    return [math.exp((data["first"] - data["integrator"]).sel(beta=beta)) for beta in (9.0, 30.0)]


def formula_and_integrator(results: Results) -> Any:
    """Errors of the integrator, the leading order and its refinement for the merge time of two clusters, SA. The
    leading order has an error of order 1/β, the refinement 1/β². The integrator's error is that of its tolerance.
    """
    import numpy as np

    from attnflow import plot

    data = results.select(kind="SA")
    names = {"first": "leading order", "second": "with the next term", "integrator": "integrator"}
    with plot.style():
        figure = plot.new_figure(8.8, 3.6)
        left, right = figure.subplots(1, 2)
        left.plot(data["beta"], data["quadrature"] / np.log(10), color=plot.PALETTE["blue"], label="exact")
        left.plot(
            data["beta"], data["integrator"] / np.log(10), "o", color=plot.PALETTE["vermillion"], label="integrator"
        )
        left.set(xlabel=r"$\beta$", ylabel=r"$\log_{10}$ of the merge time (SA)")
        left.legend()
        for (name, label), mark in zip(names.items(), ("s-", "^-", "o-"), strict=True):
            right.loglog(data["beta"], abs(np.expm1(data[name] - data["quadrature"])), mark, ms=4, label=label)
        right.set(xlabel=r"$\beta$", ylabel="relative error of the merge time")
        right.legend(loc="center right")
        for axes in (left, right):
            axes.grid()
    return figure


CLAIMS = [
    Claim(
        id="two-clusters-reference",
        statement="Masses 0.3 and 0.7 at the angle 2, SA: time of the merge at β = 9 and 30",
        kind="equal",
        expected=[15477.2527, 4.00049338e16],
        tolerance=1e-6,
        tolerance_kind="rel",
        measure=reference,
        source="docs/theory/sphere.md, Two clusters",
        provenance="derived",
    ),
    Claim(
        id="two-clusters-quadrature",
        statement="The time of the merge by the integrator over that by quadrature, β = 5 to 240, both clocks",
        kind="equal",
        expected=1.0,
        tolerance=1e-6,
        measure=over_quadrature,
        source=SOURCE,
        provenance="derived",
    ),
    Claim(
        id="two-clusters-leading-order",
        statement="The leading order is 8 % too large at β = 9 and 3 % at β = 30",
        kind="equal",
        expected=[1.08, 1.03],
        tolerance=0.005,
        measure=leading_order,
        source=SOURCE,
        provenance="derived",
    ),
    Claim(
        id="two-clusters-next-term",
        statement="The next term: β (t / leading order − 1) tends to 2 cos u / sin² u, SA and shifted USA",
        kind="equal",
        expected=-1.00662,  # 2 cos 2 / sin² 2
        tolerance=2e-3,  # the next correction, 70/β², at β = 240
        measure=second_term,
        source=SOURCE,
        provenance="derived",
    ),
]

EXPERIMENT = Experiment(
    id="metastability-two-clusters",
    paper="metastability",
    title="The merge time of two clusters",
    summary=(
        "Two clusters merge after a time of the order exp(β(1 − cos u)). The integrator of long times, the exact "
        "integral and an expansion for large β are compared, over a hundred and fifty decades."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[formula_and_integrator],
    parameters={"betas": Parameter("inverse temperatures", bounds=(1, 700))},
)
