"""Claims about two tokens in random layers, and their measurements on the results of `coefficients`."""

from math import acos, pi
from typing import Any

from ... import Results, derived_on
from ..._measures import value
from ..tables import CONSTANTS, LAW, LAYERS, REPLICAS

PAGE = "docs/theory/homogenized.md"
SAMPLED = ((1.5, 0.3), (3.0, -0.5))  # (beta, q)
STARTS = (-0.9, -0.5, 0.0, 0.5, 0.9)


def by_dimension(variable: str, *ds: int):
    return lambda results: results.select(part="exponents")[variable].sel(d=list(ds)).values.tolist()


def sampled_off(results: Results) -> tuple[Any, Any]:
    data = results.select(part="covariance")
    return (data["sampled"] - data["closed"]).values.ravel().tolist(), data["stderr"].values.ravel().tolist()


def step_off(results: Results) -> tuple[Any, Any]:
    """Drifts and variances of one short layer minus the formulas, and standard errors."""
    data = results.select(part="drift")
    off = [*(data["measured_drift"] - data["drift"]).values, *(data["measured_variance"] - data["variance"]).values]
    return off, [*data["drift_stderr"].values, *data["variance_stderr"].values]


def laws(variable: str):
    return lambda results: [float(results.select(part="law", d=d, beta=b, drift=0.0)[variable]) for d, b in LAW]


def off_the_witness(results: Results) -> list[float]:
    laws = [data for _, data in results.where(part="law")]
    if len(laws) != len(LAW) + 1:
        raise ValueError(f"{len(laws)} laws were computed")
    return [float(abs(data[f"spectral_{name}"] - data[name])) for data in laws for name in ("mean", "sd")]


def backward_off(results: Results) -> list[float]:
    """E q² by the backward equation minus that of the law."""
    return [
        abs(float(data["backward_square"] - data["mean"] ** 2 - data["sd"] ** 2))
        for _, data in results.where(part="law")
    ]


def near(end: int):
    """Shares near an end, and the standard errors for that many simulated stacks."""

    def measure(results: Results) -> tuple[list[float], list[float]]:
        p = [float(results.select(part="ending", d=d)["near"].sel(end=end)) for d in LAYERS]
        return p, [(x * (1 - x) / REPLICAS) ** 0.5 for x in p]

    return measure


def met_late(results: Results) -> list[float]:
    """In dimensions 2, 3 and 6: share near +1 at a late time minus the probability to meet."""
    endings = [results.select(part="ending", d=d) for d in (2, 3, 6)]
    return [float(data["late"].sel(end=1) - data["from_claimed"].values[STARTS.index(0.0)]) for data in endings]


claim = derived_on(PAGE, "coefficients")
CLAIMS = [
    claim(
        "two-tokens",
        "C₁₁ and C₁₂ of two tokens at β = 1.5, q = 0.3, per σ²",
        [0.7730, 0.6850],
        lambda results: results.select(part="covariance")["closed"].values[SAMPLED.index((1.5, 0.3))].tolist(),
        "Two tokens",
        1e-4,
    ),
    claim(
        "quadrature",
        "C₁₁ and C₁₂ minus another quadrature of the formula with logistic functions, two cases",
        0.0,
        lambda results: (lambda data: (data["closed"] - data["printed"]).values.ravel().tolist())(
            results.select(part="covariance")
        ),
        "Two tokens",
        1e-8,
    ),
    claim(
        "sampled",
        "C₁₁ and C₁₂ from random matrices B minus the quadrature, two cases",
        0.0,
        sampled_off,
        "Two tokens",
        4,
        tolerance_kind="sigma",
        detects=0.05,
        note="C₁₁ and C₁₂ differ by 0.088 or more",
    ),
    claim(
        "ito",
        "Drifts and variances of three inner products in one short layer minus the formulas",
        0.0,
        step_off,
        "Inner products",
        4,
        tolerance_kind="sigma",
        detects=0.12,
        note="a fifth of the smallest of them",
    ),
    claim(
        "c0",
        "C₀(β) = E tanh²(βg) at β = 0.5, 1, 2, 4",
        [c for c, _ in CONSTANTS.values()],
        value("C_0", part="exponents"),
        "Exponents",
        5.1e-6,
    ),
    claim(
        "k",
        "K(β) = 1 + β² E sech⁴(βg) at β = 0.5, 1, 2, 4",
        [k for _, k in CONSTANTS.values()],
        value("K", part="exponents"),
        "Exponents",
        5.1e-6,
    ),
    claim(
        "collapse-exponent",
        "Exponents of 1 − q near collapse, d = 2, 3, 4, 6: −(d − 1)/d",
        [-1 / 2, -2 / 3, -3 / 4, -5 / 6],
        by_dimension("collapse", 2, 3, 4, 6),
        "Exponents",
        1e-12,
    ),
    claim(
        "antipodal-exponent",
        "Exponents of 1 + q near opposite tokens, β = 2, d = 2, 3, 4",
        [-1.330, -0.424, 0.030],
        by_dimension("at_two", 2, 3, 4),
        "Exponents",
        6e-4,
    ),
    claim(
        "antipodal-least",
        "d = 4: the least K − 3C₀ over β",
        0.107,
        value("least", part="exponents"),
        "Exponents",
        5e-4,
    ),
    claim(
        "antipodal-least-at",
        "d = 4: the inverse temperature of the least K − 3C₀",
        1.77,
        value("least_at", part="exponents"),
        "Exponents",
        5e-3,
    ),
    claim(
        "antipodal-attract",
        "In dimensions 2 and 3 opposite tokens attract each other: the largest exponent over β > 0",
        0.0,
        lambda results: results.select(part="exponents")["antipodal"].sel(d=[2, 3])[:, 1:].max("beta").values.tolist(),
        "Exponents",
        0.0,
        kind="at_most",
    ),
    claim(
        "antipodal-repel",
        "In dimensions 4, 5, 6 only collapse remains: the least exponent over β, times d",
        0.107,
        lambda results: results.select(part="exponents")["antipodal"].sel(d=[4, 5, 6]).min("beta").values.tolist(),
        "Exponents",
        0.0,
        kind="at_least",
    ),
    claim(
        "mean",
        "E q at T = 1 from q = 0, d = 4, 8, 16, each at β = 0, 1, 3",
        [mean for mean, _ in LAW.values()],
        laws("mean"),
        "Two tokens",
        1e-4,
    ),
    claim(
        "sd",
        "The standard deviation of q at T = 1, the same cases",
        [sd for _, sd in LAW.values()],
        laws("sd"),
        "Two tokens",
        1e-4,
    ),
    claim(
        "mixed",
        "Mean and standard deviation of q at T = 1, d = 4, β = 0, with the drift 1 − q² of a mean of V",
        [0.805, 0.187],
        lambda results: [float(results.select(part="law", drift=1.0)[name]) for name in ("mean", "sd")],
        "Two tokens",
        6e-4,
    ),
    claim(
        "spectral",
        "Means and deviations of all ten laws: the grid against Chebyshev polynomials",
        1e-5,
        off_the_witness,
        "Two tokens",
        0.0,
        kind="at_most",
    ),
    claim(
        "backward",
        "E q²: the backward equation against the law of the forward one",
        1e-5,
        backward_off,
        "Two tokens",
        0.0,
        kind="at_most",
    ),
    claim(
        "plane",
        "d = 2: the probability to meet from q₀ = −0.9, −0.5, 0, 0.5, 0.9 is 1 − arccos(q₀)/π, here at β = 2",
        [1 - acos(q) / pi for q in STARTS],
        value("from_claimed", part="ending", d=2),
        "Where two tokens end",
        1e-6,
    ),
    claim(
        "met",
        "d = 2, 3, 6: the share near +1 at T = 150 minus the probability to meet by the scale function",
        0.0,
        met_late,
        "Where two tokens end",
        1e-3,
    ),
    claim(
        "near-plus",
        "Share of pairs with 1 − q < 0.05 at T = 8d, β = 2, d = 2, 3, 4, 6: as in 1500 simulated stacks",
        [plus for _, plus, _ in LAYERS.values()],
        near(1),
        "Where two tokens end",
        4,
        tolerance_kind="sigma",
        detects=0.1,
        possible=(0, 1),
        note="the standard error is that of the simulation, the law has none; neighbouring dimensions differ by 0.14",
    ),
    claim(
        "near-minus",
        "Share of pairs with 1 + q < 0.05, the same cases",
        [minus for _, _, minus in LAYERS.values()],
        near(-1),
        "Where two tokens end",
        4,
        tolerance_kind="sigma",
        detects=0.1,
        possible=(0, 1),
        note="the standard error is that of the simulation, the law here has none; d = 3 and d = 4 differ by 0.13",
    ),
]
