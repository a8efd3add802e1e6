"""What is claimed of flows of the perceptron block, and how it is measured on the results of `flow`."""

from typing import Any

from ... import Claim, Results
from ..cases import I1, PAGE, E

CIRCLE = {  # activation, omega
    "relu": ("relu", 3.0),
    "relu-minus": ("relu", -3.0),
    "zero": ("relu", 0.0),
    "linear": ("linear", I1 / 2),  # half of the threshold
}
SPHERE = {"zero": ("relu", 0.0), "relu": ("relu", 2.0), "two maxima": ("relu", 2.0), "tanh": ("tanh", 2.0)}
LEAST = {"relu": 0.699682, "relu-minus": -0.219415}  # energies of the minimisers
SIGNS = (1, 1, -1, -1)  # ascent, divided by Z; descent, divided by Z
FLOW = f"{PAGE}, The flow"
PARTICLES = f"{PAGE}, Particles"
CLIMB = f"{PAGE}, The attractive case"


def last(part: str, case: str, variable: str):
    return lambda results: results.select(part=part, case=case)[variable].values[-1].item()


def of(part: str, variable: str, cases: Any):
    return lambda results: [float(results.select(part=part, case=case)[variable]) for case in cases]


def mean_cosine(case: str, n: int):
    def measure(results: Results) -> float:
        import numpy as np

        x = np.asarray(results.run(part="circle", case=case).final)
        return float(np.cos(n * np.arctan2(x[:, 1], x[:, 0])).mean())

    return measure


def violations(part: str, sign: int):
    """By how much the energy ever changes in the wrong direction between saved times, in every run."""

    def measure(results: Results) -> list[float]:
        import numpy as np

        return [float(np.max(-sign * np.diff(data["energy"].values))) for _, data in results.where(part=part)]

    return measure


def violations_of_signs(results: Results) -> list[float]:
    import numpy as np

    energy = results.select(part="signs")["energy"].values
    return [float(np.max(-sign * np.diff(row))) for sign, row in zip(SIGNS, energy, strict=True)]


def rate_error(results: Results) -> float:
    return float(abs(results.select(part="signs")["error"]).max())


def above_the_least(results: Results) -> list[float]:
    return [last("circle", case, "energy")(results) - least for case, least in LEAST.items()]


def from_the_poles(results: Results) -> float:
    x = results.run(part="sphere", case="two maxima").final
    return float(abs(abs(x[:, 1]) - 1).max())


def rates(results: Results) -> list[float]:
    return results.select(part="poles")["rate"].values.tolist()


def claim(id: str, statement: str, kind: Any, expected: Any, measure: Any, source: str, tolerance=0.0, **more) -> Claim:
    settings = {"provenance": "derived", **more}
    return Claim(
        id=id,
        statement=statement,
        kind=kind,
        expected=expected,
        tolerance=tolerance,
        measure=measure,
        source=source,
        **settings,
    )


CLAIMS = [
    claim(
        "block-energy-rate",
        "dE/dt by central differences less ±Σ wᵢ mᵢ |vᵢ|², ascent and descent, plain and divided by Z",
        "equal",
        0.0,
        rate_error,
        FLOW,
        1e-7,
    ),
    claim(
        "block-energy-monotone",
        "The same four flows: by how much the energy ever goes the wrong way",
        "at_most",
        1e-12,
        violations_of_signs,
        FLOW,
    ),
    claim(
        "block-energy-descends", "… and in the descents on the circle", "at_most", 1e-12, violations("circle", -1), FLOW
    ),
    claim("block-energy-ascends", "… and in the ascents on S²", "at_most", 1e-12, violations("sphere", 1), FLOW),
    claim(
        "circle-clusters",
        "ReLU, ω = 3 and −3, 100 tokens: clusters within 0.05 at the end",
        "at_most",
        6,
        lambda results: [last("circle", case, "clusters")(results) for case in LEAST],
        PARTICLES,
        provenance="observation",
        note="few, like the three atoms of the minimisers; six is our reading of few",
    ),
    claim(
        "circle-critical",
        "… and the largest slope of K * μ + U at a token, at t = 4000",
        "at_most",
        1e-10,
        of("circle", "criticality", LEAST),
        PARTICLES,
        scales=("full",),
    ),
    claim(
        "circle-above",
        "… their energy is above that of the minimiser: tokens cannot carry mass over barriers",
        "at_least",
        1e-4,
        above_the_least,
        PARTICLES,
        provenance="observation",
        note="1e-4 is our threshold",
    ),
    claim(
        "control-zero-points",
        "Without a potential most of the 100 tokens stay apart: distinct points within 0.02 at the end",
        "at_least",
        50,
        last("circle", "zero", "points"),
        PARTICLES,
        provenance="observation",
        note="50 is our threshold",
    ),
    claim(
        "control-zero-mean",
        "… and the law has no first mode: the mean of cos θ",
        "equal",
        0.0,
        mean_cosine("zero", 1),
        PARTICLES,
        1e-3,
    ),
    claim(
        "control-linear-points",
        "A linear potential at half of the threshold: distinct points within 0.02 at the end",
        "at_least",
        50,
        last("circle", "linear", "points"),
        PARTICLES,
        provenance="observation",
        note="50 is our threshold",
    ),
    claim(
        "control-linear-mean",
        "… the mean of cos θ is that of theory's density",
        "equal",
        -0.25,
        mean_cosine("linear", 1),
        PARTICLES,
        1e-3,
    ),
    claim("control-linear-second", "… the mean of cos 2θ", "equal", 0.0, mean_cosine("linear", 2), PARTICLES, 1e-3),
    claim(
        "sphere-stationary",
        "Ascents on S² come to rest: the largest slope at a token, at the end",
        "at_most",
        1e-13,
        of("sphere", "criticality", SPHERE),
        CLIMB,
    ),
    claim(
        "sphere-one-cluster",
        "Without a potential all tokens meet; with two opposite maxima of U there are two clusters",
        "equal",
        [1, 2],
        of("sphere", "clusters", ("zero", "two maxima")),
        CLIMB,
    ),
    claim("sphere-at-the-poles", "… which are at the maxima: 1 − |x₂|", "at_most", 1e-13, from_the_poles, CLIMB),
    claim(
        "poles-rate",
        "Clusters of mass 0.7 and 0.3 at the poles, the first displaced: its rate is 0.3/e − ω(1 + b), ω = 2 and 0",
        "equal",
        [0.3 / E - 2.0 * 0.7, 0.3 / E],
        rates,
        CLIMB,
        1e-6,
    ),
]
