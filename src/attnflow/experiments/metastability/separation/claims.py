"""Claims about separated tokens, and their measurements on the results of `separation`."""

from ... import Claim, Results
from ..._measures import difference

EPS, LAMBDA = 0.005, 0.5
NUMBERS = "docs/theory/metastability.md, Separated caps"
THEOREM = "arXiv:2410.06833, Theorem of Section 2; docs/theory/metastability.md, Separated caps"


def _example(results: Results):
    return results.select(part="flow", kind="SA", beta=30.0)


def report(results: Results) -> list[float]:
    import math

    data = _example(results)
    return [float(data["alpha"]), float(data["gamma"]), *(math.exp(data[name]) for name in ("log_T1", "log_T2"))]


def admissible(results: Results) -> list[float]:
    return _example(results)["lambda_bounds"].values.tolist()


def merge_times(results: Results) -> list[float]:
    import math

    return [math.exp(v) for v in _example(results)["merge_log_t"].values]


def depth(results: Results) -> list[float]:
    return _example(results)["depth"].values.tolist()


def _separated(results: Results):
    return [(cell, data) for cell, data in results.where(part="flow") if float(data["separated"]) > 0.5]


def excess_spread(results: Results) -> list[float]:
    """Greatest squared distance within a cap at T1 and T2, over the one promised."""
    import math

    return [
        float(v) / (2 * math.exp(-LAMBDA * cell["beta"])) for cell, data in _separated(results) for v in data["spread"]
    ]


def depths(results: Results) -> list[float]:
    return [float(v) for _, data in _separated(results) for v in data["depth"]]


def early(results: Results) -> list[float]:
    """Logarithm of the time at which the tokens of each cap have met, over the bound of T1."""
    return [float(data["merge_log_t"].sel(left=3) - data["log_T1"]) for _, data in _separated(results)]


def late(results: Results) -> list[float]:
    """Logarithm of the time of the first merge of caps over the bound of T2."""
    return [float(data["merge_log_t"].sel(left=2) - data["log_T2"]) for _, data in _separated(results)]


def lemma_quadrature(results: Results) -> list[float]:
    data = results.select(part="lemma")
    return (data["quadrature"] / data["solved"]).values.tolist()


CLAIMS = [
    Claim(
        id="separation-report",
        statement="Three orthogonal caps, n = 6, ε = 0.005, β = 30, λ = ½: α, γ and the bounds of T₁ and T₂",
        kind="equal",
        expected=[0.279313, 0.361521, 292.923, 2.04421e6],
        tolerance=1e-5,
        tolerance_kind="rel",
        measure=report,
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="separation-lambda",
        statement="The same: the two upper bounds of λ",
        kind="equal",
        expected=[0.536770, 4038.6],
        tolerance=2e-5,
        tolerance_kind="rel",
        measure=admissible,
        source=NUMBERS,
        provenance="derived",
        note="with the constant c of the second condition where the print has its inverse",
    ),
    Claim(
        id="separation-merges",
        statement="The same, SA: times of the merges that leave 3, 2 and 1 clusters",
        kind="equal",
        expected=[6.10458, 2.8820647e10, 3.0246024e10],
        tolerance=1e-6,
        tolerance_kind="rel",
        measure=merge_times,
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="separation-depth",
        statement="The same: least inner product of a token with the centre of its cap at the bounds of T₁ and T₂",
        kind="equal",
        expected=[0.99821, 0.99821],
        tolerance=6e-6,
        measure=depth,
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="separation-stay",
        statement="Separated tokens are in the caps of twice the size at T₁ and T₂: least inner product, for each β",
        kind="at_least",
        expected=1 - 2 * EPS,
        measure=depths,
        source=THEOREM,
        provenance="theorem",
    ),
    Claim(
        id="separation-collapse",
        statement="Tokens of one cap have |x − y|² ≤ 2 exp(−λβ) at T₁ and T₂: |x − y|² over this bound, for each β",
        kind="at_most",
        expected=1.0,
        measure=excess_spread,
        source=THEOREM,
        provenance="theorem",
    ),
    Claim(
        id="separation-early",
        statement="Tokens of each cap have met before the bound of T₁: logarithm of the ratio, for each β",
        kind="at_most",
        expected=0.0,
        measure=early,
        source=THEOREM,
        provenance="theorem",
    ),
    Claim(
        id="separation-late",
        statement="The first merge of caps comes after the bound of T₂: logarithm of the ratio, for each β",
        kind="at_least",
        expected=0.0,
        measure=late,
        source=THEOREM,
        provenance="theorem",
    ),
    Claim(
        id="separation-lemma",
        statement="u' = u(1 − u)exp(β(u − 1)) has 1 − u ≤ exp(−cβ) by the time of the lemma: true time less that",
        kind="at_most",
        expected=0.0,
        measure=difference("solved", "lemma", part="lemma"),
        source="arXiv:2410.06833, Section 2; docs/theory/metastability.md, A scalar lemma",
        provenance="theorem",
    ),
    Claim(
        id="separation-lemma-quadrature",
        statement="The time of the scalar equation by quadrature over that of a solver of the equation",
        kind="equal",
        expected=1.0,
        tolerance=1e-8,
        measure=lemma_quadrature,
        source="docs/theory/metastability.md, A scalar lemma",
        provenance="derived",
    ),
]
