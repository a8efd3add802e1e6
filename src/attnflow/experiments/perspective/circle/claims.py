"""Claims about clusters on the circle, and their measurements on the results of `circle`."""

import math

from ... import Claim, Results

N, DELTA = 32, 1e-3
BETAS = (4.0, 9.0)
COUNTED = (18.0, 30.0)
FIGURE = "arXiv:2312.10794, Figure 4"
NUMBERS = "docs/theory/sphere.md, Clusters on the circle"
SIGMA = 3.9  # standard errors: one false alarm in 10,000, and for 256 draws no wider than 0.12

# (beta, t) -> {number of clusters: probability} and how many draws they come from (tests/witnesses/sphere_draws.py).
LATE = {(4.0, 30.0): ({1: 0.011, 2: 0.898, 3: 0.091}, 2048), (9.0, 30.0): ({2: 0.055, 3: 0.722, 4: 0.223}, 1536)}
COUNTS = {(4.0, 18.0): {1: 10, 2: 1587, 3: 451}, (9.0, 18.0): {2: 64, 3: 1241, 4: 732, 5: 11}}
EARLY = {key: ({k: c / sum(row.values()) for k, c in row.items()}, sum(row.values())) for key, row in COUNTS.items()}
REFERENCE = LATE | EARLY
BETWEEN = {4.0: 0.12, 9.0: 0.1}  # the least difference of the probabilities at the two times


def frequency(results: Results, beta: float, t: float, clusters: int) -> tuple[float, int]:
    """The fraction of draws with that many clusters, and the number of draws."""
    draws = results.select(part="counts")["draws"].sel(beta=beta, time=t)
    total = int(draws.sum())
    return float(draws.sel(clusters=clusters)) / total, total


def compared(beta: float, t: float, clusters: int):
    """A frequency with the binomial standard error of its difference from the reference, if both have one law."""

    def measure(results: Results) -> tuple[float, float]:
        law, size = REFERENCE[beta, t]
        share, draws = frequency(results, beta, t, clusters)
        p = law[clusters]
        return share, math.sqrt(p * (1 - p) * (1 / draws + 1 / size))

    return measure


def fewer_later(results: Results) -> list[bool]:
    """Whether the mean number of clusters falls, for each beta."""
    draws = results.select(part="counts")["draws"]
    mean = (draws * draws["clusters"]).sum("clusters") / draws.sum("clusters")
    return (mean.sel(time=30.0) < mean.sel(time=18.0)).values.tolist()


def _claim(beta: float, t: float, clusters: int) -> Claim:
    law, size = REFERENCE[beta, t]
    return Claim(
        id=f"circle-beta{beta:g}-t{t:g}-{clusters}-clusters",
        statement=f"β = {beta:g}, t = {t:g}: the probability of {clusters} clusters",
        kind="equal",
        expected=law[clusters],
        tolerance=SIGMA,
        tolerance_kind="sigma",
        detects=BETWEEN[beta],
        possible=(0, 1),
        measure=compared(beta, t, clusters),
        source=f"{FIGURE}; {NUMBERS}",
        provenance="derived",
        note=f"binomial standard errors of ours and of {size} reference draws; the two times are distinguished",
    )


# Numbers of clusters too rare for a normal law of their frequency are left out.
JUDGED = [
    (4.0, 30.0, 2),
    (9.0, 30.0, 3),
    (4.0, 30.0, 3),
    (9.0, 30.0, 4),
    (4.0, 18.0, 2),
    (9.0, 18.0, 3),
    (9.0, 18.0, 4),
]

CLAIMS = [
    *(_claim(*which) for which in JUDGED),
    Claim(
        id="circle-clusters-merge",
        statement="There are fewer clusters on average at t = 30 than at t = 18, at β = 4 and 9",
        kind="property",
        measure=fewer_later,
        source=NUMBERS,
        provenance="derived",
    ),
]
