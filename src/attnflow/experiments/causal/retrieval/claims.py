"""Claims about the retrieval profile, and their measurements on the results of `retrieval`."""

import math

from ... import Results, derived_on
from ..._measures import value

PAGE = "docs/theory/lost-in-the-middle.md"
SIGMA = 4.0  # combined standard errors: one false alarm in 16,000
N, MODES = 128, 6
BETAS = (0.5, 1.0, 2.0, 3.0)
TIMES = (0.5, 1.0, 1.5, 2.0)
SLOPES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
FITTED = (0.05, 0.86)  # where a quartic smooths the simulated profile
EDGES = (0, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 127)  # first sources of the bins, and the end
# Profiles of 128 tokens in these bins: simulation (to 0.5 per cent or better), closed forms. The witness is
# tests/witnesses/causal_tokens.py.
REFERENCE = (1.643, 1.349, 1.250, 1.197, 1.180, 1.190, 1.229, 1.289, 1.366, 1.464, 1.566)
CONTINUUM = (1.832, 1.441, 1.298, 1.225, 1.200, 1.202, 1.238, 1.299, 1.378, 1.472, 1.576)
MATRIX = (1.819, 1.452, 1.310, 1.236, 1.211, 1.212, 1.249, 1.310, 1.390, 1.484, 1.588)
REFERENCE_ERROR = 0.005
MIDDLE, LATE = 2, 4  # the first bins with s > 0.08 and with s > 0.2


def minimum_by_slope(results: Results) -> list[float]:
    return results.select(part="closed form")["by_slope"].sel(slope=list(SLOPES[1:])).values.tolist()


def none_at_small_slope(results: Results) -> bool:
    return math.isnan(float(results.select(part="closed form")["by_slope"].sel(slope=0.25)))


def other_than(where: str, *shapes: str):
    """How many draws have none of these shapes, of several modes and of one."""

    def measure(results: Results) -> list[int]:
        data = results.select(part="draws")
        return [sum(str(x) not in shapes for x in data[f"{where}_{name}"].values) for name in ("several", "one")]

    return measure


def least_slope(results: Results) -> list[float]:
    """The smallest slope of a draw with a minimum and a maximum."""
    data = results.select(part="draws")
    pairs = (data["slope"].values[data[f"above_{name}"].values == "minimum and maximum"] for name in ("several", "one"))
    return [float(slopes.min()) for slopes in pairs]


def simulated(first: int):
    return lambda results: results.select(part="simulation")["value"].values[first:].tolist()


def simulated_with_errors(results: Results) -> tuple[list[float], list[float]]:
    data = results.select(part="simulation")
    pairs = zip(data["stderr"].values.tolist(), REFERENCE, strict=True)
    return data["value"].values.tolist(), [math.hypot(e, REFERENCE_ERROR * r) for e, r in pairs]


def below_the_matrix_form(results: Results) -> tuple[list[float], list[float]]:
    """The difference relative to the matrix form in the first six bins, and standard errors."""
    data = results.select(part="simulation")
    value, matrix, error = (data[name].values for name in ("value", "matrix", "stderr"))
    lack, spread = 1 - value / matrix, (error**2 + (REFERENCE_ERROR * value) ** 2) ** 0.5 / matrix
    return lack[:6].tolist(), spread[:6].tolist()


def ends_above_the_middle(results: Results) -> list[float]:
    """First and last bin less the fifth, in standard errors of the difference."""
    data = results.select(part="simulation")
    value, error = data["value"].values, data["stderr"].values
    return [float((value[k] - value[LATE]) / math.hypot(error[k], error[LATE])) for k in (0, -1)]


claim = derived_on(PAGE, "retrieval")
CLAIMS = [
    claim(
        "critical-times",
        "λ = 1, M = 8: t_crit at β = 0.5, 1, 2, 3",
        [5.911579, 2.457489, 0.600716, 0.174018],
        value("critical", part="closed form"),
        "Recency and the critical time",
        1e-6,
    ),
    claim(
        "argmin",
        "β = λ = 1, M = 8: the source that is retrieved worst at t = 0.5, 1, 1.5, 2",
        [0.12515, 0.25928, 0.41832, 0.63292],
        value("argmin", part="closed form"),
        "The shape of the profile",
        1e-5,
    ),
    claim(
        "minimum",
        "The same: the value of S there",
        [0.467545, 1.195306, 2.119305, 3.146466],
        value("minimum", part="closed form"),
        "The shape of the profile",
        1e-6,
    ),
    claim(
        "last-source",
        "β = λ = t = 1, M = 8: S at the last source",
        1.638251,
        value("last", part="closed form"),
        "The shape of the profile",
        1e-6,
    ),
    claim(
        "beyond",
        "t = 5 > t_crit: the largest step of the profile on the plotted range is down",
        0.0,
        value("rises_at_five", part="closed form"),
        "The shape of the profile",
        0.0,
        kind="at_most",
    ),
    claim(
        "by-slope",
        "β = t = 1, M = 8: the source that is retrieved worst at λ = 0.5, 1, 2, 4, 8",
        [0.5609, 0.2593, 0.1187, 0.0529, 0.0225],
        minimum_by_slope,
        "The shape of the profile",
        6e-5,
    ),
    claim(
        "small-slope",
        "The same at λ = 0.25, where t > t_crit: the worst source is not in the middle",
        True,
        none_at_small_slope,
        "The shape of the profile",
        kind="property",
    ),
    claim(
        "without-slope",
        "λ = 0: the profile falls strictly, its largest step on 4000 points is below zero",
        -1e-9,
        value("steps_without_slope", part="closed form"),
        "The shape of the profile",
        0.0,
        kind="at_most",
    ),
    claim(
        "below-critical",
        "Random β, λ, M, and t below t_crit: draws without exactly one minimum, several modes and one",
        [0, 0],
        other_than("below", "one minimum"),
        "The shape of the profile",
        0.0,
    ),
    claim(
        "above-critical",
        "The same with t above t_crit: draws neither decreasing nor with a minimum and then a maximum",
        [0, 0],
        other_than("above", "decreasing", "minimum and maximum"),
        "The shape of the profile",
        0.0,
    ),
    claim(
        "above-slope",
        "The smallest slope of a draw with a minimum and a maximum is above log 4",
        math.log(4),
        least_slope,
        "The shape of the profile",
        0.0,
        kind="at_least",
    ),
    claim(
        "double-well",
        "The authors' four heads at t = 1.5: where the profile turns",
        [0.1298, 0.3640, 0.7953],
        value("s", part="double well"),
        "Several heads",
        2e-4,
    ),
    claim(
        "double-well-depth",
        "The same: two equal minima and a maximum between them",
        [-5.501061, -5.455225, -5.501061],
        value("value", part="double well"),
        "Several heads",
        1e-6,
    ),
    claim(
        "continuum-bins",
        "N = 128, β = λ = t = 1, M = 8: the closed form in 11 bins of sources",
        list(CONTINUUM),
        value("continuum", part="simulation"),
        "Simulation",
        6e-4,
    ),
    claim(
        "matrix-bins",
        "The same: the matrix form",
        list(MATRIX),
        value("matrix", part="simulation"),
        "Simulation",
        6e-4,
    ),
    claim(
        "simulation",
        "The same: simulation in the bins with s > 0.08",
        list(REFERENCE[MIDDLE:]),
        simulated(MIDDLE),
        "Simulation",
        0.04,
        "rel",
        note="four combined standard errors or more",
    ),
    *(
        claim(
            f"simulation-closed-form{name}",
            f"The same: simulation against the closed form in the bins with s > {after}",
            list(CONTINUUM[first:]),
            simulated(first),
            "Simulation",
            0.04,
            "rel",
            note="the bias, up to 2 per cent, and four standard errors or more",
            scales=scales,
        )
        for name, after, first, scales in (("", 0.3, LATE + 1, None), ("-full", 0.2, LATE, ("full",)))
    ),
    claim(
        "simulation-all-bins",
        "The same: simulation in all bins, in standard errors of ours and of the reference combined",
        list(REFERENCE),
        simulated_with_errors,
        "Simulation",
        SIGMA,
        "sigma",
        detects=[0.17, 0.1, *([0.06] * 9)],
        note="the matrix form is larger by 0.18 and 0.10 in the first two bins, and by 0.06 in the third",
    ),
    claim(
        "simulation-bias",
        "Simulation lies below the matrix form, relative to it, in the first six bins",
        [0.10, 0.07, 0.046, 0.032, 0.025, 0.019],
        below_the_matrix_form,
        "Bias of finitely many tokens",
        SIGMA,
        "sigma",
        detects=[0.1, 0.07, 0.05, 0.05, 0.05, 0.05],
        note="it distinguishes the bias from zero in the first three bins",
    ),
    claim(
        "u-shape",
        "In simulation first and last sources are retrieved better than those at s = 0.22",
        SIGMA,
        ends_above_the_middle,
        "Simulation",
        0.0,
        kind="at_least",
        note="the differences in standard errors",
    ),
    claim(
        "simulation-argmin",
        "Simulation, smoothed by a quartic on [0.05, 0.86]: its one minimum",
        0.26,
        value("argmin", part="simulation"),
        "Simulation",
        0.05,
    ),
    claim(
        "matrix-argmin",
        "The same quartic through the matrix form",
        0.269,
        value("matrix_argmin", part="simulation"),
        "Simulation",
        0.001,
    ),
]
