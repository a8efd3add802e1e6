"""Claims about the limit of zero temperature, and their measurements on the results of `limit`."""

from ... import Claim, Results
from ..._measures import difference, value

PLANAR = {  # diagonals of V and B
    "equal": ((2.0, 1.0), (1.0, 1.0)),
    "escape": ((3.0, 1.0), (1.0, 2.0)),
    "reference": ((1.0, 2.0), (3.0, 1.0)),
}
TIMES = (0.0, 2.0, 4.0, 6.0, 8.0)
ESCAPES = {  # diagonals of M = V Bᵀ and of B; between which times
    "third": ((3.0, 2.0, 1.0), (1.0, 1.0, 10.0), (20.0, 30.0)),
    "second": ((3.0, 2.0, 1.0), (1.0, 2.0, 4.0), (16.0, 24.0)),
}
PAGE = "docs/theory/low-temperature.md"
RATES = f"{PAGE}, Rates"


def rate(case: str, p: int):
    return lambda results: float(results.select(part="planar", case=case)["rate"].sel(p=p))


def predicted(results: Results) -> list[float]:
    planar = [float(results.select(part="planar", case=case)["predicted"].sel(p=p)) for case in PLANAR for p in (1, 2)]
    return [*planar, *(value("predicted", part="escape", case=case)(results) for case in ESCAPES)]


CLAIMS = [
    *(
        Claim(
            id=f"limit-rate-{case}-w{p}",
            statement=f"V = diag{V}, B = diag{B}, uniform law: the rate of W{'₁₂'[p - 1]} for t in [12, 16]",
            kind="equal",
            expected=expected,
            tolerance=0.005,
            measure=rate(case, p),
            source=RATES,
            provenance="derived",
        )
        for case, p, V, B, expected in (
            ("equal", 2, (2, 1), (1, 1), 0.5),
            ("escape", 2, (3, 1), (1, 2), 0.25),
            ("escape", 1, (3, 1), (1, 2), 0.5),
            ("reference", 2, (1, 2), (3, 1), 1 / 3),
        )
    ),
    Claim(
        id="limit-predicted",
        statement="min(c, k c_u/p) of these pairs by `low_temperature_rates`, p = 1, 2; min r_j of the two in R³ below",
        kind="equal",
        expected=[1.0, 0.5, 0.5, 0.25, 1 / 3, 1 / 3, 0.3, 0.5],
        tolerance=1e-12,
        measure=predicted,
        source=RATES,
        provenance="derived",
    ),
    Claim(
        id="limit-plane",
        statement="V = diag(2, 2, 1), B = I, 600 points: W₂ to their images on the circle at t = 0, 2, 4, 6, 8",
        kind="equal",
        expected=[0.6665, 0.1972, 0.0399, 0.00582, 0.00079],
        tolerance=0.01,
        tolerance_kind="rel",
        measure=value("W2", part="plane"),
        source=f"{PAGE}, A plane as limit",
        provenance="derived",
    ),
    *(
        Claim(
            id=f"limit-escape-{case}",
            statement=f"M = diag{M}, B = diag{B}: the rate at which the mass with |x₁| < ½ decays is min r_j",
            kind="equal",
            expected=expected,
            tolerance=0.005,
            measure=value("rate", part="escape", case=case),
            source=RATES,
            provenance="derived",
        )
        for case, M, B, expected in (("third", (3, 2, 1), (1, 1, 10), 0.3), ("second", (3, 2, 1), (1, 2, 4), 0.5))
    ),
    Claim(
        id="limit-closed-form",
        statement="A random pair, d = 3: the closed form less the field integrated by an adaptive solver, t up to 5",
        kind="equal",
        expected=0.0,
        tolerance=1e-8,
        measure=value("difference", part="closed form"),
        source=f"{PAGE}, Zero temperature",
        provenance="derived",
    ),
    Claim(
        id="limit-projection",
        statement="The same: the flow at t = 200 less the projection map, which is oblique here",
        kind="equal",
        expected=0.0,
        tolerance=1e-12,
        measure=value("projection", part="closed form"),
        source=f"{PAGE}, Zero temperature",
        provenance="derived",
    ),
    Claim(
        id="limit-identity",
        statement="V = B = I: nothing moves, and the projection map is the identity",
        kind="equal",
        expected=0.0,
        measure=value("identity", part="closed form"),
        source=f"{PAGE}, Zero temperature",
        provenance="derived",
    ),
    Claim(
        id="limit-two-diracs",
        statement="W₂ to 0.385 δ_e + 0.615 δ_−e by sorting less that by assignment, 200 points of S²",
        kind="equal",
        expected=0.0,
        tolerance=1e-10,
        measure=difference("sorted", "assigned", part="distances"),
        source=f"{PAGE}, Distances",
        provenance="derived",
    ),
    Claim(
        id="limit-sliced",
        statement="The sliced W₂ of a sample and its shift by a, times √d/|a|, 20 000 projections, d = 5",
        kind="equal",
        expected=1.0,
        tolerance=0.03,
        measure=value("sliced", part="distances"),
        source=f"{PAGE}, Distances",
        provenance="derived",
        note="its standard error is 0.4 per cent",
    ),
]
