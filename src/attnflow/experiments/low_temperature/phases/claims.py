"""Claims about the phases at low temperature, and their measurements on the results of `phases`."""

from typing import TYPE_CHECKING, Any

from ... import Claim, Results

if TYPE_CHECKING:
    import xarray

BETAS = (8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0)
TURNED = (4.0, 8.0, 16.0, 32.0)
PAGE = "docs/theory/low-temperature.md"
TABLE = f"{PAGE}, The reference experiment"
PHASES = f"{PAGE}, Three phases"


def _data(results: Results, matrices: str = "reference") -> "xarray.Dataset":
    return results.select(matrices=matrices)


def slope(variable: str, low: float, high: float, logarithm: bool = True, **at: Any):
    """The slope against log β of a variable, or of its logarithm, for β from `low` to `high`."""

    def measure(results: Results) -> float:
        import numpy as np

        values = _data(results)[variable].sel(beta=slice(low, high), **at)
        y = np.log(values) if logarithm else values
        return float(np.polyfit(np.log(values["beta"]), y, 1)[0])

    return measure


def values(variable: str, betas: Any, matrices: str = "reference"):
    return lambda results: _data(results, matrices)[variable].sel(beta=list(betas)).values.tolist()


def missing(up_to: float, time: float, matrices: str = "reference"):
    """One less the overlap with the top eigenvector of V, for every β up to a value."""

    def measure(results: Results) -> list[float]:
        overlap = _data(results, matrices)["overlap_top"].sel(beta=slice(0, up_to)).sel(time=time)
        return (1 - overlap).values.tolist()

    return measure


def at_log_beta(results: Results) -> list[float]:
    """W2 at t = log β, between saved times."""
    import numpy as np

    data = _data(results)
    return [float(data["W2"].sel(beta=b).interp(time=np.log(b))) for b in BETAS]


def decay_at_log_beta(results: Results) -> float:
    import numpy as np

    return float(np.polyfit(np.log(BETAS[-4:]), np.log(at_log_beta(results)[-4:]), 1)[0])


def exit_slope(results: Results) -> float:
    return slope("exit", 8.0, 128.0, logarithm=False)(results)


CLAIMS = [
    Claim(
        id="phases-closest",
        statement="Reference experiment, β = 64: the least W₂ to the limit of zero temperature",
        kind="equal",
        expected=0.1345,
        tolerance=0.1,
        tolerance_kind="rel",
        measure=lambda results: values("W2_min", [64.0])(results)[0],
        source=TABLE,
        provenance="derived",
    ),
    Claim(
        id="phases-table",
        statement="Reference experiment, β = 8, 16, …, 512: the least W₂ to the limit of zero temperature",
        kind="equal",
        expected=[0.3511, 0.2573, 0.1864, 0.1345, 0.0973, 0.0702, 0.0506],
        tolerance=0.03,
        tolerance_kind="rel",
        measure=values("W2_min", BETAS[:-1]),
        source=TABLE,
        provenance="derived",
        note="other numbers of nodes change these values by one per cent",
    ),
    Claim(
        id="phases-closest-slope",
        statement="Reference experiment: slope of log min W₂ against log β from 8 to 512; the theory's limit is −½",
        kind="equal",
        expected=-0.47,
        tolerance=0.05,
        measure=slope("W2_min", 8.0, 512.0),
        source=TABLE,
        provenance="derived",
    ),
    Claim(
        id="phases-synchronous-slope",
        statement="Distance to the zero-temperature flow at t = 1: slope in log-log for β from 128 to 1024; limit −1",
        kind="equal",
        expected=-0.985,
        tolerance=0.03,
        measure=slope("synchronous", 128.0, 1024.0, synchronous_time=1.0),
        source=TABLE,
        provenance="derived",
    ),
    Claim(
        id="phases-synchronous",
        statement="Distance to the zero-temperature flow at t = 1, 2, 4, β = 8 and 64",
        kind="equal",
        expected=[[0.04087, 0.1045, 0.2557], [0.00643, 0.0199, 0.0527]],
        tolerance=0.03,
        tolerance_kind="rel",
        measure=values("synchronous", [8.0, 64.0]),
        source=TABLE,
        provenance="derived",
    ),
    Claim(
        id="phases-first-order",
        statement="The same for t = 2 and 4: the error at a fixed time is of order 1/β, slope −1",
        kind="equal",
        expected=-1.0,
        tolerance=0.03,
        measure=lambda results: [slope("synchronous", 128.0, 1024.0, synchronous_time=t)(results) for t in (2.0, 4.0)],
        source=f"{PAGE}, What attention reads",
        provenance="derived",
    ),
    Claim(
        id="phases-log-beta",
        statement="W₂ at t = log β, β = 8, 16, …, 1024",
        kind="equal",
        expected=[0.5209, 0.4295, 0.3542, 0.2928, 0.2425, 0.2006, 0.1653, 0.1352],
        tolerance=0.02,
        tolerance_kind="rel",
        measure=at_log_beta,
        source=TABLE,
        provenance="derived",
    ),
    Claim(
        id="phases-log-beta-slope",
        statement="W₂ at t = log β: slope in log-log over the last four β; it tends to −c = −⅓",
        kind="equal",
        expected=-0.281,
        tolerance=0.02,
        measure=decay_at_log_beta,
        source=TABLE,
        provenance="derived",
    ),
    Claim(
        id="phases-time",
        statement="The time of the least W₂ grows like (1/2c) log β: slope 3/2 for β from 8 to 1024",
        kind="equal",
        expected=1.5,
        tolerance=0.1,
        measure=slope("t_min", 8.0, 1024.0, logarithm=False),
        source=PHASES,
        provenance="derived",
        note="saved times are 0.2 apart",
    ),
    Claim(
        id="phases-exit",
        statement="The exit, where half of the mass is along e₂: slope (1/2c + 1/2μ) = 2 in log β for β up to 128",
        kind="equal",
        expected=2.0,
        tolerance=0.15,
        measure=exit_slope,
        source=PHASES,
        provenance="derived",
        note="a heuristic; beyond β = 128 exits are later, without a theory",
    ),
    Claim(
        id="phases-terminal",
        statement="Terminal state: 1 − ⟨x₂²⟩ at t = 30, β = 8 to 128; each cluster ends on the top eigenvector of V",
        kind="equal",
        expected=0.0,
        tolerance=1e-6,
        measure=missing(128.0, 30.0),
        source=PHASES,
        provenance="derived",
        note="the abstract of the paper: the last phase is dominated by the spectrum of the value matrix",
    ),
    Claim(
        id="phases-turned",
        statement="V and Bᵀ that do not commute, β = 4, 8, 16, 32: the least W₂ to the limit of zero temperature",
        kind="equal",
        expected=[0.530, 0.421, 0.328, 0.239],
        tolerance=0.005,
        tolerance_kind="rel",
        measure=values("W2_min", TURNED, "turned"),
        source=f"{PAGE}, Matrices that do not commute",
        provenance="derived",
        note="of these 480 weighted tokens; more of them give 0.529, 0.421, 0.320, 0.236",
    ),
    Claim(
        id="phases-turned-terminal",
        statement="The same: one less the overlap with the top eigenvector of V at t = 30",
        kind="equal",
        expected=0.0,
        tolerance=1e-12,
        measure=missing(32.0, 30.0, "turned"),
        source=f"{PAGE}, Matrices that do not commute",
        provenance="derived",
    ),
]
