"""Claims about modes of Gaussian data, and their measurements on the results of `gaussian`."""

import math
from typing import NamedTuple

from ... import Claim, Results
from ..._measures import mean_and_error, with_reference_error

PAGE = "docs/theory/modes.md"
SIGMA = 4.0  # combined standard errors: one false alarm in 16,000


class Row(NamedTuple):
    """Counted on a grid: mean and standard error in all and up to the belt's end, and the formula there.

    `draws` are ours at full scale. `beyond` is the number of modes beyond the belt, which a claim must detect.
    """

    draws: int
    total: tuple[float, float]
    beyond: float
    inside: tuple[float, float] | None = None
    kac_rice: float | None = None


class Picture(NamedTuple):
    """Parameters of the authors' plot."""

    n: int
    beta: float
    draws: int


PICTURE = Picture(10_000, 100.0, 80)
QUICK = {1000: 1000, 10_000: 80}  # number of draws at quick scale, by n
TABLE = {  # tests/witnesses/line_modes.py counts them again
    (1000, 10.0): Row(8000, (1.127, 0.004), 0.12, (1.007, 0.001), 1.0108),
    (1000, 100.0): Row(8000, (8.726, 0.020), 1.4, (7.268, 0.017), 7.3268),
    (10_000, 100.0): Row(1000, (4.193, 0.044), 1.1, (3.011, 0.035), 3.0169),
    (10_000, 300.0): Row(800, (14.023, 0.082), 2.3, (11.709, 0.070), 11.7089),
    (10_000, 1000.0): Row(400, (40.20, 0.15), 4.5, (35.66, 0.13), 35.797),
    (100, 10.0): Row(20_000, (1.653, 0.006), 0.26),
    (1000, 30.0): Row(3200, (2.28, 0.02), 0.58),
    (100_000, 1000.0): Row(80, (24.9, 0.6), 4.0),
}


def mean(results: Results, variable: str, n: int, beta: float) -> tuple[float, float]:
    """Over the draws, with its standard error."""
    return mean_and_error(results.select(part="counts", n=n, beta=beta)[variable])


def plain_mean(variable: str):
    return lambda results: mean(results, variable, 1000, 100.0)


def formula(results: Results) -> list[float]:
    return [float(results.select(part="counts", n=n, beta=b)["kac_rice"]) for (n, b) in JUDGED]


def inside(results: Results) -> tuple[list[float], list[float]]:
    """Numbers up to the end of the belt; one per cent of the formula counts as four standard errors."""
    means = [mean(results, "inside", n, beta) for n, beta in JUDGED]
    own = (0.01 * (TABLE[key].kac_rice or math.nan) / SIGMA for key in JUDGED)
    return [value for value, _ in means], [math.hypot(e, o) for (_, e), o in zip(means, own, strict=True)]


def all_certified(results: Results) -> list[bool]:
    return [bool((data["certified"] == 1).all()) for _, data in results]


def leading_is_too_large(results: Results) -> list[float]:
    """The leading order over the number counted, at n = 10⁴ and β = 100, 1000."""
    cases = ((10_000, 100.0), (10_000, 1000.0))
    return [
        float(results.select(part="counts", n=n, beta=b)["leading"]) / mean(results, "modes", n, b)[0] for n, b in cases
    ]


def leading_falls(results: Results) -> list[bool]:
    small, large = leading_is_too_large(results)[::-1]
    return [1 < small, small < large]


JUDGED = [key for key, row in TABLE.items() if row.kac_rice is not None]


def _claims(n: int, beta: float, row: Row) -> list[Claim]:
    counted = [("modes", "modes", row.total), ("inside", "modes up to the end of the belt", row.inside)]
    return [
        Claim(
            id=f"gaussian-n{n}-beta{beta:g}-{variable}",
            statement=f"n = {n}, β = {beta:g}: the mean number of {what}",
            kind="equal",
            expected=number[0],
            tolerance=SIGMA,
            tolerance_kind="sigma",
            detects=row.beyond,
            measure=with_reference_error(mean, variable, n, beta, error=number[1]),
            source=f"{PAGE}, Numbers on the line",
            provenance="derived",
            scales=None if n in QUICK else ("full",),
            note="standard errors of ours and of the reference combined; modes beyond the belt are detected",
        )
        for variable, what, number in counted
        if number is not None
    ]


CLAIMS = [
    *(
        Claim(
            id=f"gaussian-acceptance-{variable}",
            statement=f"n = 1000, β = 100: the mean number of {what}, to ±{tolerance}",
            kind="equal",
            expected=expected,
            tolerance=tolerance,
            measure=plain_mean(variable),
            source=f"{PAGE}, Numbers on the line",
            provenance="derived",
        )
        for variable, what, expected, tolerance in (
            ("modes", "modes", 8.726, 0.25),
            ("inside", "modes up to the end of the belt", 7.268, 0.22),
        )
    ),
    Claim(
        id="gaussian-kac-rice",
        statement="The formula of Kac and Rice, integrated to the end of the belt (each n and β of the table)",
        kind="equal",
        expected=[TABLE[key].kac_rice or math.nan for key in JUDGED],
        tolerance=2e-5,
        tolerance_kind="rel",
        measure=formula,
        source=f"{PAGE}, Kac and Rice",
        provenance="derived",
    ),
    Claim(
        id="gaussian-kac-rice-one-per-cent",
        statement="Up to the end of the belt the number of modes is that of the formula, to one per cent of it",
        kind="equal",
        expected=[TABLE[key].kac_rice or math.nan for key in JUDGED],
        tolerance=SIGMA,
        tolerance_kind="sigma",
        detects=[TABLE[key].beyond for key in JUDGED],
        measure=inside,
        source=f"{PAGE}, Kac and Rice",
        provenance="derived",
        note="it distinguishes these modes from all modes",
    ),
    Claim(
        id="gaussian-leading-order",
        statement="The leading order is too large at n = 10⁴, less so at β = 1000 than at β = 100",
        kind="property",
        measure=leading_falls,
        source=f"arXiv:2412.09080, main theorem; {PAGE}, The leading order",
        provenance="derived",
    ),
    Claim(
        id="gaussian-certified",
        statement="Every number of modes is certified",
        kind="property",
        measure=all_certified,
        source=f"{PAGE}, Counting modes",
        provenance="derived",
    ),
    *(claim for (n, beta), row in TABLE.items() for claim in _claims(n, beta, row)),
]
