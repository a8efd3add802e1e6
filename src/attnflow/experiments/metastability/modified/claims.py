"""Claims about merging by force, and their measurements on the results of `modified`."""

from itertools import pairwise

from ... import Claim, Results

SECTION = "arXiv:2410.06833, Section 6; docs/theory/metastability.md, Merging by force"


def durations_over_formula(results: Results) -> list[float]:
    """Lengths of the plateaus over those of the formula for finite β, from β = 1000 on."""
    return [float(v) for c, d in results if c["beta"] >= 1000 for v in d["duration"] / d["formula"]]


def distance_from_limit(results: Results) -> list[float]:
    """Relative distance of the lengths of the plateaus from n/2k, the greatest for each β."""
    return [float(abs(data["duration"] / data["limit"] - 1).max()) for _, data in results]


def approaches(results: Results) -> list[bool]:
    far = distance_from_limit(results)
    return [later < before for before, later in pairwise(far)]


def heights(results: Results) -> list[float]:
    return [float(v) for v in next(data for cell, data in results if cell["beta"] == 1e5)["height"]]


def rises_over_formula(results: Results) -> list[float]:
    """The time for which the energy rises before a merge, over the formula, from β = 1000 on."""
    return [float(v) for c, d in results if c["beta"] >= 1000 for v in d["rise"] / d["rise_formula"]]


CLAIMS = [
    Claim(
        id="modified-durations",
        statement="Lengths of the plateaus in the time of the proof over the formula for finite β, β from 1000 on",
        kind="equal",
        expected=1.0,
        tolerance=0.005,
        measure=durations_over_formula,
        source=SECTION,
        provenance="derived",
    ),
    Claim(
        id="modified-limit",
        statement="The lengths come closer to n/2k, k = 2, …, n, each time β grows tenfold",
        kind="property",
        measure=approaches,
        source=SECTION,
        provenance="theorem",
        note="the distance falls like log log β over log β",
    ),
    Claim(
        id="modified-heights",
        statement="Heights of the plateaus at β = 10⁵: (k² + n − k)/n² for k = 2, …, n",
        kind="equal",
        expected=[(k * k + 5 - k) / 25 for k in range(2, 6)],
        tolerance=1e-9,
        measure=heights,
        source=SECTION,
        provenance="theorem",
    ),
    Claim(
        id="modified-rise",
        statement="From a tenth of a step to a merge the energy rises in log(2 log 10 log β)/(2(W + W') log β): ratio",
        kind="equal",
        expected=1.0,
        tolerance=0.02,
        measure=rises_over_formula,
        source=SECTION,
        provenance="derived",
        note="it vanishes as β grows: a step; β from 1000 on, all merges",
    ),
]
