"""Claims about the landscape on the circle, and their measurements on the results of `landscape`."""

from typing import Any

from ... import Claim, Results
from ..._measures import value
from ..cases import ATOMIC, CASES, DENSITIES, I0, I1, NAMES, PAGE, VERDICTS, E

# case: angles in degrees, masses, least energy
MINIMISERS = {
    "relu": ([85.8, 180.0, 274.2], [0.3702, 0.2595, 0.3702], 0.699682),
    "relu-minus": ([0.0, 154.5, 205.5], [0.8067, 0.0967, 0.0967], -0.219415),
    "relu-bias": ([57.6, 142.2, 180.0, 217.8, 302.4], [0.2865, 0.2061, 0.0148, 0.2061, 0.2865], 0.642326),
    "tanh": ([90.0, 270.0], [0.5, 0.5], 0.771540),
    "gelu": ([89.5, 180.0, 270.5], [0.4798, 0.0404, 0.4798], 0.769863),
    "exp-long": (
        [54.5, 113.8, 160.8, 199.2, 246.2, 305.5],
        [0.2143, 0.1621, 0.1236, 0.1236, 0.1621, 0.2143],
        0.730163,
    ),
}
WITNESSED = tuple(MINIMISERS)
TABLE = f"{PAGE}, Minimisers"
THEORY = f"{PAGE}, Atoms or a density"
RULE = f"{PAGE}, The numerical verdict"
CLIMB = f"{PAGE}, The attractive case"


def angles(case: str):
    """In increasing order; an atom at 359.9 degrees stands first, as -0.1."""

    def measure(results: Results) -> list[float]:
        degrees = results.select(part="minimiser", case=case)["angle"].values
        return sorted(((degrees + 15) % 360 - 15).tolist())

    return measure


def masses(case: str):
    def measure(results: Results) -> list[float]:
        data = results.select(part="minimiser", case=case)
        return data["mass"].values[((data["angle"].values + 15) % 360).argsort()].tolist()

    return measure


def over(variable: str, cases: Any):
    return lambda results: [float(results.select(part="minimiser", case=case)[variable]) for case in cases]


def verdicts(variable: str, expected: str, cases: Any):
    def measure(results: Results) -> list[bool]:
        codes = [int(results.select(part="minimiser", case=case)[variable]) for case in cases]
        return [VERDICTS[k] == expected for k in codes]

    return measure


def off_the_witness(results: Results) -> list[float]:
    """The energy on the grid less that of the minimiser; the grid has fewer laws, so its energy is larger."""
    energies = [(c["case"], float(data["energy"])) for c, data in results.where(part="witness")]
    return [energy - float(results.select(part="minimiser", case=case)["energy"]) for case, energy in energies]


def cells_off(results: Results) -> list[float]:
    """The distance of an atom, in cells, from the nearest angle at which the grid's potential touches its floor."""
    import numpy as np

    worst = []
    for cell, data in results.where(part="witness"):
        atoms = results.select(part="minimiser", case=cell["case"])["angle"].values
        apart = np.abs((atoms[:, None] - data["touching"].values + 180) % 360 - 180).min(axis=1)
        worst.append(float(apart.max() * cell["angles"] / 360))
    return worst


def moments_off(case: str):
    """The means of cos nθ, n = 1, ..., 4, of the sixteen atoms, less those of the density of theory."""
    return lambda results: results.select(part="minimiser", case=case)["moments_off"].values.tolist()


def equal(id: str, statement: str, expected: Any, measure: Any, source: str, tolerance: float, **more: Any) -> Claim:
    settings = {"kind": "equal", "provenance": "derived", **more}
    return Claim(
        id=id,
        statement=statement,
        expected=expected,
        tolerance=tolerance,
        measure=measure,
        source=source,
        **settings,
    )


def holds(id: str, statement: str, measure: Any, source: str, provenance: Any = "derived") -> Claim:
    return Claim(id=id, statement=statement, kind="property", measure=measure, source=source, provenance=provenance)


CLAIMS = [
    *(
        claim
        for case, (places, weights, energy) in MINIMISERS.items()
        for claim in (
            equal(f"minimiser-{case}-angles", f"{NAMES[case]}: angles of the atoms", places, angles(case), TABLE, 0.3),
            equal(f"minimiser-{case}-masses", f"{NAMES[case]}: their masses", weights, masses(case), TABLE, 2e-3),
            equal(
                f"minimiser-{case}-energy",
                f"{NAMES[case]}: the least energy",
                energy,
                value("energy", part="minimiser", case=case),
                TABLE,
                1e-5,
            ),
        )
    ),
    equal(
        "minimiser-certified",
        "The gap bounds how far each energy is above the least one: below 1e-8 in all cases",
        1e-8,
        over("gap", CASES),
        RULE,
        0.0,
        kind="at_most",
    ),
    holds(
        "verdict-atomic",
        "ReLU (ω = 3, −3, b = −1/2, β = 4), tanh (β = 1, 4), GELU, linear above the threshold: the verdict is atomic",
        verdicts("verdict", "atomic", ATOMIC),
        RULE,
    ),
    holds(
        "verdict-density",
        "A linear potential below the threshold, and exp(z/2) at β = 1: the verdict is a density",
        verdicts("verdict", "density", DENSITIES),
        RULE,
    ),
    holds(
        "verdict-undecided",
        "exp(1.5 z) at β = 1 is atomic by theory; its slack is too small, and the numbers alone leave it undecided",
        verdicts("verdict", "undecided", ["exp-long"]),
        RULE,
        "observation",
    ),
    holds(
        "theory-atomic",
        "The same by the Fourier coefficients of U alone: atomic, and so is exp(1.5 z)",
        verdicts("expected", "atomic", [*ATOMIC, "exp-long"]),
        THEORY,
    ),
    holds("theory-density", "… and densities", verdicts("expected", "density", DENSITIES), THEORY),
    equal(
        "cold-atoms",
        "At β = 4, ReLU and tanh: the number of atoms",
        [11, 8],
        over("atoms", ("relu-cold", "tanh-cold")),
        TABLE,
        0.0,
    ),
    equal(
        "slack-tanh",
        "tanh: the slack away from the atoms",
        0.22,
        value("slack", part="minimiser", case="tanh"),
        TABLE,
        0.005,
    ),
    equal(
        "slack-exp",
        "exp(1.5 z): the slack away from the atoms",
        2.4e-6,
        value("slack", part="minimiser", case="exp-long"),
        TABLE,
        5e-8,
    ),
    equal(
        "witness-energy",
        "Quadratic programmes on a grid of angles: their energies less those of the minimisers",
        0.0,
        off_the_witness,
        TABLE,
        1e-4,
    ),
    equal(
        "witness-angles",
        "… and every atom is within a cell of an angle where the potential on the grid touches its floor",
        1.0,
        cells_off,
        TABLE,
        0.0,
        kind="at_most",
    ),
    equal(
        "density-energy",
        "Linear, half of the threshold: the least energy is I₀/2 − I₁/16",
        I0 / 2 - I1 / 16,
        value("energy", part="minimiser", case="linear"),
        THEORY,
        1e-10,
    ),
    equal(
        "density-level",
        "The densities of theory make K * μ + U constant: how much it varies on the circle, by quadrature",
        0.0,
        over("level_varies_by", DENSITIES),
        THEORY,
        1e-12,
    ),
    *(
        equal(
            f"density-{case}",
            f"{NAMES[case]}: means of cos nθ, n = 1 to 4, of sixteen atoms less −β Uₙ / Iₙ(β)",
            0.0,
            moments_off(case),
            THEORY,
            1e-8,
        )
        for case in DENSITIES
    ),
    equal(
        "maximiser-dirac",
        "ReLU, ω = 3: an ascent from a law that is spread ends at e/2 + max U, the Dirac at the maximum of U",
        E / 2 + 1.5,
        value("best", part="maximiser"),
        CLIMB,
        1e-7,
    ),
]
