"""Claims about modes on the circle and of clusters, and their measurements on the results of `circle`."""

import math

from ... import Claim, Results
from ..._measures import mean_and_error, with_reference_error

PAGE = "docs/theory/modes.md"
SIGMA = 4.0  # combined standard errors: one false alarm in 16,000
N = 32  # tokens whose clusters are counted
BETAS = (4.0, 9.0, 16.0, 30.0)
COUNTED = (30.0, 100.0)
LIMIT = {4.0: 2.4322, 9.0: 3.6594, 16.0: 4.8871, 30.0: 6.6992, 100.0: 12.2424}  # the closed form
# (n, beta) -> mean number of modes and its standard error, counted on a grid (tests/witnesses/sphere_draws.py);
# None: the closed form holds.
TABLE: dict[tuple[int, float], tuple[float, float] | None] = {
    (32, 4.0): (2.438, 0.014),
    (32, 9.0): (3.639, 0.017),
    (32, 16.0): (4.844, 0.019),
    (32, 30.0): (6.691, 0.023),
    (32, 100.0): (11.73, 0.035),
    (256, 4.0): None,
    (256, 9.0): None,
    (256, 30.0): None,
    (256, 100.0): (12.242, 0.060),
}
# t -> mean number of clusters of 32 tokens at each beta, over 512 draws (tests/witnesses/sphere_draws.py).
CLUSTERS = {30.0: (2.0898, 3.2051, 4.2031, 5.6562), 100.0: (1.9102, 2.8809, 3.8809, 5.2129)}
# What claims must detect: the numbers of initial modes and of clusters at t = 30 that are more than these.
MORE = {30.0: (0.3, 0.4, 0.6, 1.0), 100.0: (0.17, 0.3, 0.3, 0.43)}
REFERENCE_DRAWS = 512


def number_of_modes(results: Results, n: int, beta: float) -> tuple[float, float]:
    """The mean over draws with its standard error."""
    return mean_and_error(results.select(part="modes", n=n, beta=beta)["modes"])


def on_the_plateau(results: Results, beta: float) -> tuple[float, float]:
    """Clusters on the plateau that lasts longest in log t: mean over draws and its standard error."""
    return mean_and_error(results.select(part="plateaus")["held"].sel(beta=beta))


def clusters(results: Results, beta: float, t: float) -> tuple[float, float, int]:
    """Mean and standard deviation over draws, and the number of draws."""
    draws = results.select(part="clusters")["draws"].sel(beta=beta, time=t)
    total = int(draws.sum())
    mean = float((draws * draws["clusters"]).sum()) / total
    square = float((draws * draws["clusters"] ** 2).sum()) / total
    return mean, math.sqrt((square - mean**2) * total / (total - 1)), total


def compared_clusters(beta: float, t: float):
    def measure(results: Results) -> tuple[float, float]:
        value, spread, draws = clusters(results, beta, t)
        return value, spread * math.sqrt(1 / draws + 1 / REFERENCE_DRAWS)

    return measure


def formula(results: Results) -> list[float]:
    return [float(results.select(part="modes", n=32, beta=beta)["formula"]) for beta in LIMIT]


def clusters_below_modes(results: Results) -> list[float]:
    """The difference in standard errors, for each β."""
    differences = []
    for beta in BETAS:
        mean, error = number_of_modes(results, N, beta)
        later, spread, draws = clusters(results, beta, 30.0)
        differences.append((mean - later) / math.hypot(error, spread / math.sqrt(draws)))
    return differences


def modes_below_fastest(results: Results) -> list[float]:
    differences = []
    for beta in BETAS:
        mean, error = number_of_modes(results, N, beta)
        waves = float(results.select(part="clusters")["fastest"].sel(beta=beta))
        differences.append((waves - mean) / error)
    return differences


def plateau_below_modes(results: Results) -> list[float]:
    """The difference in standard errors, for each β."""
    differences = []
    for beta in BETAS:
        (mean, error), (held, own) = number_of_modes(results, N, beta), on_the_plateau(results, beta)
        differences.append((mean - held) / math.hypot(error, own))
    return differences


def plateau_below_clusters(results: Results) -> list[float]:
    """Clusters at t = 100 less those on the plateau, in standard errors, from β = 9 on."""
    differences = []
    for beta in BETAS[1:]:
        (mean, spread, draws), (held, own) = clusters(results, beta, 100.0), on_the_plateau(results, beta)
        differences.append((mean - held) / math.hypot(spread / math.sqrt(draws), own))
    return differences


def unfinished(results: Results) -> float:
    return float(results.select(part="plateaus")["unfinished"])


def all_certified(results: Results) -> list[bool]:
    return [bool((data["certified"] == 1).all()) for _, data in results.where(part="modes")]


def _modes_claim(n: int, beta: float, number: tuple[float, float] | None) -> Claim:
    expected, error = (LIMIT[beta], 0.0) if number is None else number
    fewer = {4.0: 0.3, 9.0: 0.4, 16.0: 0.6, 30.0: 1.0, 100.0: 0.5}  # clusters at t = 30; at β = 100, modes of 32 tokens
    return Claim(
        id=f"circle-modes-n{n}-beta{beta:g}",
        statement=f"n = {n}, β = {beta:g}: the mean number of modes",
        kind="equal",
        expected=expected,
        tolerance=SIGMA,
        tolerance_kind="sigma",
        detects=fewer[beta],
        measure=with_reference_error(number_of_modes, n, beta, error=error),
        source=f"{PAGE}, The circle",
        provenance="derived",
        note="the closed form for many tokens" if number is None else "against modes counted on a grid, by NumPy",
    )


CLAIMS = [
    Claim(
        id="circle-modes-formula",
        statement="The expected number of modes of many uniform tokens, at β = 4, 9, 16, 30, 100",
        kind="equal",
        expected=list(LIMIT.values()),
        tolerance=1e-4,
        measure=formula,
        source=f"{PAGE}, The circle",
        provenance="derived",
    ),
    *(_modes_claim(n, beta, number) for (n, beta), number in TABLE.items()),
    *(
        Claim(
            id=f"circle-clusters-beta{beta:g}-t{t:g}",
            statement=f"n = 32, β = {beta:g}: the mean number of clusters at t = {t:g}",
            kind="equal",
            expected=means[BETAS.index(beta)],
            tolerance=SIGMA,
            tolerance_kind="sigma",
            detects=MORE[t][BETAS.index(beta)],
            measure=compared_clusters(beta, t),
            source=f"{PAGE}, Modes and clusters",
            provenance="derived",
            note="standard errors of ours and of the reference draws combined; it distinguishes clusters from "
            + ("the initial modes" if t < 50 else "those at t = 30"),
        )
        for t, means in CLUSTERS.items()
        for beta in BETAS
    ),
    Claim(
        id="circle-fewer-clusters-than-modes",
        statement="There are fewer clusters at t = 30 than initial modes, at each β",
        kind="at_least",
        expected=SIGMA,
        measure=clusters_below_modes,
        source=f"{PAGE}, Modes and clusters",
        provenance="derived",
        note="the difference in standard errors",
    ),
    Claim(
        id="circle-fewer-modes-than-waves",
        statement="There are fewer initial modes than waves in the fastest growing pattern, at each β",
        kind="at_least",
        expected=SIGMA,
        measure=modes_below_fastest,
        source=f"{PAGE}, Modes and clusters",
        provenance="derived",
        note="the difference in standard errors",
    ),
    Claim(
        id="circle-plateau-below-modes",
        statement="On the longest plateau of log t there are fewer clusters than initial modes, at each β",
        kind="at_least",
        expected=SIGMA,
        measure=plateau_below_modes,
        source=f"{PAGE}, Modes and clusters",
        provenance="observation",
        note="the difference in standard errors; the plateau is defined by us",
    ),
    Claim(
        id="circle-plateau-below-clusters",
        statement="On the longest plateau of log t there are fewer clusters than at t = 100, at β = 9, 16, 30",
        kind="at_least",
        expected=SIGMA,
        measure=plateau_below_clusters,
        source=f"{PAGE}, Modes and clusters",
        provenance="observation",
        note="the difference in standard errors; the plateau is defined by us",
    ),
    Claim(
        id="circle-plateau-finished",
        statement="Every draw was followed until one cluster was left: draws that were not",
        kind="equal",
        expected=0.0,
        measure=unfinished,
        source="arXiv:2410.06833, Section 1: all tokens meet in infinite time",
        provenance="theorem",
    ),
    Claim(
        id="circle-certified",
        statement="Every number of modes is certified",
        kind="property",
        measure=all_certified,
        source=f"{PAGE}, Counting modes",
        provenance="derived",
    ),
]
