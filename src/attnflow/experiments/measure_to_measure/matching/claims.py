"""Claims about matchings of measures, and their measurements on the results of `matching`."""

import math
from collections.abc import Callable
from typing import Any

from ... import Results
from ..._claim import derived_on
from ..blocks.claims import PAGE, every

PAIRS = (3, 4, 5)
DIMENSIONS = (3, 5, 16)
EPS = (1e-3, 1e-5, 1e-7)
TARGETS = ("shared", "equal", "fewer", "weights")
BOUND = 1e-6
SAMPLES = 2000  # of a law
TOKENS = (500, 2000, 8000)  # of samples of growing size

claim = derived_on(PAGE, "match")


def surplus(results: Results) -> list[float]:
    """Pieces less N n + 2, of clouds of atoms."""
    rows = [(20 * cell["N"] + 2, data) for cell, data in results.where(part="atoms")]
    rows += [(502, data) for _, data in results.where(part="large")]
    return [float(data["pieces"]) - wanted for wanted, data in rows]


def of_theorem(results: Results) -> list[float]:
    """Pieces less 2 + N(2d - 1) + N."""
    return [float(data["pieces"]) - (6 + 4 * (2 * c["d"] - 1)) for c, data in results.where(part="theorem")]


def of_targets(results: Results) -> list[float]:
    """Pieces of the four kinds of targets, less those that the page predicts."""
    wanted = {"shared": 2 + 36 + 2, "equal": 2 + 36 + 12, "fewer": 2 + 36 + 9, "weights": 2 + 36 + 6}
    return [float(data["pieces"]) - wanted[cell["kind"]] for cell, data in results.where(part="targets")]


def integrated(*parts: str) -> Callable[[Results], list[float]]:
    """Distances by the adaptive solver, of all measures of these parts."""
    return lambda results: [v for part in parts for v in every(part, "integrated")(results)]


def ratio(results: Results) -> list[float]:
    r"""$W_2$ at $T_c = 16$ over that at 12, of the farthest measure."""
    found = []
    for _, data in results.where(part="points"):
        first, last = (float(data["away"].sel(averaging=T).max()) for T in (12.0, 16.0))
        found.append(last / first)
    return found


def over_eps(results: Results) -> list[float]:
    """The largest W_2 over the eps that was asked."""
    data = results.select(part="times")
    return (data["away"] / data["eps"]).values.tolist()


def better_than_others(results: Results) -> list[float]:
    """The clearance of the best order over that of the greedy one and of one by chance, the least of all draws."""
    clear = results.select(part="order")["clearance"]
    best = clear.sel(order="best")
    return [float((best / clear.sel(order=other)).min()) for other in ("greedy", "by chance")]


def laws(variable: str, atoms: int) -> Callable[[Results], Any]:
    return lambda results: results.select(part="laws", atoms=atoms)[variable].values.tolist()


def astray_over_chance(results: Results) -> float:
    """The mass astray over that of two samples parted by one and the same rim, mean over sizes and draws."""
    rows = [float((data["astray"] / data["chance"]).mean()) for _, data in results.where(part="samples")]
    return sum(rows) / len(rows)


CLAIMS = [
    claim(
        "pieces",
        "Pieces less N n + 2, clouds of 20 and 50 atoms of which half are common to all",
        0.0,
        surplus,
        "Counts",
    ),
    claim(
        "fixed-steps",
        "N measures of 20 atoms, 10 in common: the largest W₂ after 300 Runge-Kutta steps in each piece, every draw",
        BOUND,
        every("atoms", "fixed_steps"),
        "Measured",
        kind="at_most",
    ),
    claim(
        "adaptive",
        "The same by an adaptive solver",
        BOUND,
        integrated("atoms"),
        "Measured",
        kind="at_most",
    ),
    claim(
        "large",
        "Ten measures of fifty atoms: the largest W₂ by an adaptive solver",
        BOUND,
        integrated("large"),
        "Measured",
        kind="at_most",
    ),
    claim(
        "points-pieces",
        "Five measures to points: pieces, 1 + N",
        6.0,
        every("points", "pieces"),
        "Points as targets",
    ),
    claim(
        "points-rate",
        "… W₂ with V = I for 16 over W₂ for 12, an instance with clusters narrower than a fifth of a band: e⁻⁴",
        math.exp(-4),
        ratio,
        "Points as targets",
        0.006,
    ),
    claim(
        "points-eps",
        "… ε = 10⁻³, 10⁻⁵, 10⁻⁷: the largest W₂ over ε",
        1.0,
        over_eps,
        "Points as targets",
        kind="at_most",
        provenance="theorem",
    ),
    claim(
        "theorem-pieces",
        "The paper's lemma, N = 4, d = 3 to 5: pieces less 2 + N(2d − 1) + N, so O(dN)",
        0.0,
        of_theorem,
        "Counts",
        provenance="theorem",
    ),
    claim(
        "theorem-distance",
        "… the largest W₂ by an adaptive solver",
        BOUND,
        integrated("theorem"),
        "Isolate, cluster, reverse",
        kind="at_most",
    ),
    claim(
        "targets-pieces",
        "Targets that share atoms (undone), equal ones, fewer atoms, unequal masses (merged): pieces less counts",
        0.0,
        of_targets,
        "Counts",
    ),
    claim(
        "targets-distance",
        "… the largest W₂ by an adaptive solver",
        BOUND,
        integrated("targets"),
        "Targets that share places",
        kind="at_most",
    ),
    claim(
        "laws-points",
        "Three laws with a density to points: W₂ of the sample by an adaptive solver, of another by closed forms",
        BOUND,
        lambda results: laws("integrated", 1)(results) + laws("fresh", 1)(results),
        "Laws",
        kind="at_most",
    ),
    claim(
        "laws-atoms",
        "Three laws to three atoms each: W₂ of the sample of n = 2000; a rim between two tokens misplaces a mass of at "
        "most 1/2n for each atom, by at most 2",
        2 * (3 / (2 * SAMPLES)) ** 0.5,
        laws("integrated", 3),
        "Laws",
        kind="at_most",
    ),
    claim(
        "laws-another",
        "Two laws to two atoms each, samples of 500 to 8000: the mass of another sample that goes astray, over "
        "what two samples differ by on either side of a fixed rim, mean over sizes and draws",
        2.0,
        astray_over_chance,
        "Laws",
        kind="at_most",
        provenance="observation",
        note="1 would be rims that attention does not move; that it at most doubles the mass is our reading",
    ),
    claim(
        "order",
        "Clearance of the best order of the atoms over that of the greedy order, and of one by chance, at least",
        1.0,
        better_than_others,
        "The order of the atoms",
        kind="at_least",
    ),
    claim(
        "words",
        "The letters of HEAT to those of FLOW: the largest W₂ by an adaptive solver",
        BOUND,
        integrated("words"),
        "Measured",
        kind="at_most",
    ),
]
