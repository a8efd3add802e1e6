"""Transport on the line: knots that are placed best, errors C/(K - 1)^2, and what tails allow."""

from typing import TYPE_CHECKING

from ... import Cell, Experiment
from .claims import CLAIMS, MIXTURES
from .figures import density_and_kinks, error_against_switches, truncated_divergence

if TYPE_CHECKING:
    import xarray

KNOTS = {"quick": (8, 16, 32, 64, 128, 256), "full": (8, 16, 32, 64, 128, 256, 512, 1024)}


def cells(scale: str) -> list[Cell]:
    return [
        *({"part": "best", "target": target, "K": K} for target in MIXTURES for K in KNOTS[scale]),
        *({"part": "best", "target": target, "K": 256} for target in ("laplace", "student")),
        *({"part": "uniform", "target": "mix3", "K": K} for K in KNOTS[scale]),
        *({"part": "cauchy", "K": K} for K in (8, 64)),
        {"part": "kinks", "target": "mix3", "K": 10},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    return {"best": _best, "uniform": _uniform, "cauchy": _cauchy, "kinks": _kinks}[cell["part"]](cell)


def _best(cell: Cell) -> "xarray.Dataset":
    """Divergences of the map with best knots, by quadrature."""
    import xarray

    from attnflow.constructions import Transport, laws, optimal_knots

    from ..targets import on_line

    base, target = laws.StandardNormal(), on_line(cell["target"])
    knots = optimal_knots(base, target, cell["K"])
    report = Transport.of(knots.schedule, base, target).report(n=100)
    return xarray.Dataset(
        {
            "kl": report.kl.value,
            "reverse_kl": report.reverse_kl.value,
            "tv": report.tv.value,
            "mass": report.mass,
            "constant": knots.constant,
            "switches": report.switches,
        }
    )


def _uniform(cell: Cell) -> "xarray.Dataset":
    """The same with knots at equal distances of x."""
    import numpy as np
    import xarray

    from attnflow.constructions import MonotonePL, Schedule, Transport, laws, optimal_knots

    from ..targets import on_line

    base, target = laws.StandardNormal(), on_line(cell["target"])
    assert base.line is not None and target.line is not None
    ends = optimal_knots(base, target, 2)
    x = np.linspace(ends.x[0], ends.x[1], cell["K"])
    half = len(x) // 2
    # By the mass on the nearer side: the distribution function alone loses the tail on right.
    left, right = target.line.quantile(base.line.cdf(x[:half])), target.line.upper_quantile(base.line.sf(x[half:]))
    y = np.concatenate([left, right])
    piece = MonotonePL([1.0], x, y, left_slope=ends.left_slope, right_slope=ends.right_slope)
    report = Transport.of(Schedule([piece]), base, target).report(n=100)
    return xarray.Dataset({"kl": report.kl.value, "switches": report.switches})


def _cauchy(cell: Cell) -> "xarray.Dataset":
    """The part of the divergence between -R and R, against R."""
    import numpy as np
    import xarray

    from attnflow.constructions import Transport, laws, optimal_knots

    from ..targets import on_line

    base, target = laws.StandardNormal(), on_line("cauchy")
    knots = optimal_knots(base, target, cell["K"])
    report = Transport.of(knots.schedule, base, target).report(n=100)
    radius, kl = np.array(report.truncated).T
    return xarray.Dataset(
        {
            "kl": ("radius", kl),
            "slope": knots.right_slope,
            "infinite": float(report.kl.value == np.inf),
            "reverse_kl": report.reverse_kl.value,
        },
        coords={"radius": radius},
    )


def _kinks(cell: Cell) -> "xarray.Dataset":
    """The density after some of the switches."""
    import numpy as np
    import xarray

    from attnflow.constructions import Schedule, laws, optimal_knots

    from ..targets import on_line

    base, target = laws.StandardNormal(), on_line(cell["target"])
    assert target.line is not None
    knots = optimal_knots(base, target, cell["K"])
    y, neurons = np.linspace(-6, 6, 1201), knots.schedule.expand()
    pieces = np.linspace(0, len(neurons), 6).astype(int)
    densities = [base.log_density(y[:, None])]
    densities += [Schedule(neurons[:k]).log_density(y[:, None], base) for k in pieces[1:]]
    return xarray.Dataset(
        {
            "density": (("pieces", "y"), np.exp(densities)),
            "target": ("y", np.exp(target.line.log_density(y))),
            "knots": ("knot", knots.y),
        },
        coords={"pieces": pieces, "y": y},
    )


EXPERIMENT = Experiment(
    id="transport-line",
    paper="relu-transport",
    title="Transport on the line",
    summary=(
        "The monotone map between two laws on the line, linear between K knots that are placed best, is a schedule "
        "with K + 1 switches. Its relative entropies fall like C/(K − 1)², with C known in advance. Of a Cauchy law it "
        "is infinite for any schedule from a Gaussian; its truncations grow like R/(πm²)."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[error_against_switches, density_and_kinks, truncated_divergence],
)
