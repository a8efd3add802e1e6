"""Claims about exact interpolation, and their measurements on the results of `exact`."""

from collections.abc import Callable
from typing import NamedTuple

from ... import Claim, Results
from ..._measures import value

PAGE = "docs/theory/interpolation.md"
PAPER = "arXiv:2502.02270, main theorem"
MODES = ("code", "rounds")
BETA = 1e4


class Row(NamedTuple):
    """N sequences of lengths `n` in R^d, M output points; the count of blocks that the construction predicts."""

    N: int
    n: tuple[int, int]
    d: int
    M: int
    modes: tuple[str, ...] = MODES
    slow: bool = False

    def predicted(self, mode: str) -> int:
        """All codes differ, or one class at the beginning: the counts of the page."""
        if self.M == self.N:
            return self.N + 2 if mode == "code" else 2 * self.N + 1
        return 2 * self.M - self.N + 3 if mode == "code" else 2 * self.M + 2

    @property
    def bound(self) -> int:
        return 2 * self.M + 2 * self.N + 1


TABLE = {
    "N=5": Row(5, (15, 29), 2, 5),
    "N=20": Row(20, (15, 29), 2, 20),
    "N=20, d=3": Row(20, (15, 29), 3, 20),
    "N=20, M=49": Row(20, (15, 29), 2, 49),
    "N=20, M=49, d=3": Row(20, (15, 29), 3, 49),
    "N=50, M=146": Row(50, (15, 29), 3, 146),
    "N=1000": Row(1000, (1000, 1000), 2, 1000, ("code",)),
    "N=1000, d=3": Row(1000, (1000, 1000), 3, 1000, ("code",), slow=True),
    "N=300, M=741": Row(300, (300, 300), 2, 741, ("code",), slow=True),
    "N=1000, M=1993": Row(1000, (200, 200), 3, 1993, ("code",), slow=True),
}
SHORT = [name for name, row in TABLE.items() if row.n[1] < 100]
EPS = 2.0**-52


def table(results: Results, variable: str, rows: list[str] | None = None) -> list[float]:
    """A variable of all cells of the table, in order."""
    cells = [(cell, data) for cell, data in results.where(part="table") if rows is None or cell["row"] in rows]
    return [float(data[variable]) for _, data in cells]


def surplus(results: Results) -> list[float]:
    """Blocks less the predicted number."""
    return [float(d["blocks"]) - TABLE[c["row"]].predicted(c["mode"]) for c, d in results.where(part="table")]


def formula(results: Results) -> list[float]:
    """Blocks less A + R + [R > 0] + 1 + E + M, with A and R as counted and E = sum (m - 1) + 1, or 0."""
    differences = []
    for _, data in results.where(part="table"):
        A, R, N, M = (float(data[name]) for name in ("coded", "rounds", "sequences", "points"))
        E = 0 if M == N else M - N + 1
        differences.append(float(data["blocks"]) - (A + R + (R > 0) + 1 + E + M))
    return differences


def over_bound(results: Results) -> list[float]:
    return [float(d["blocks"]) - TABLE[c["row"]].bound for c, d in results.where(part="table")]


def each(part: str, variable: str) -> Callable[[Results], list[float]]:
    """A variable of all cells of one part."""
    return lambda results: [float(v) for _, data in results.where(part=part) for v in data[variable].values.reshape(-1)]


def worst(part: str, variable: str) -> Callable[[Results], float]:
    import math

    def measure(results: Results) -> float:
        values = each(part, variable)(results)
        return math.nan if any(v != v for v in values) else max(values)

    return measure


CLAIMS = [
    Claim(
        id="exact-bound",
        statement="Blocks less the published number 2M + 2N + 1, every row of the table",
        kind="at_most",
        expected=0.0,
        measure=over_bound,
        source=PAPER,
        provenance="theorem",
    ),
    Claim(
        id="exact-counts",
        statement="Blocks less A + R + [R > 0] + 1 + E + M, every row",
        kind="equal",
        expected=0.0,
        measure=formula,
        source=f"{PAGE}, Counts",
        provenance="derived",
    ),
    Claim(
        id="exact-predicted",
        statement="Blocks less N + 2 or 2M − N + 3 (codes), 2N + 1 or 2M + 2 (rounds), every row",
        kind="equal",
        expected=0.0,
        measure=surplus,
        source=f"{PAGE}, Counts",
        provenance="derived",
    ),
    Claim(
        id="exact-errors",
        statement="N = 5, 20 and 50, both modes: the largest Hausdorff distance from the wanted outputs",
        kind="at_most",
        expected=1e-9,
        measure=lambda results: table(results, "error", SHORT),
        source=f"{PAGE}, Measured",
        provenance="derived",
    ),
    Claim(
        id="exact-rounding",
        statement="The error relative to the largest output, every row: a few units in the last place",
        kind="at_most",
        expected=64 * EPS,
        measure=lambda results: table(results, "relative_error"),
        source=f"{PAGE}, Placement",
        provenance="derived",
    ),
    Claim(
        id="exact-large",
        statement="N = 1000 sequences of 1000 tokens in the plane, one output each: the error",
        kind="at_most",
        expected=1e-7,
        measure=value("error", part="table", row="N=1000"),
        source=f"{PAGE}, Measured",
        provenance="derived",
    ),
    Claim(
        id="exact-parameters",
        statement="Numbers stored per output point and dimension, every row: O(dM), for all lengths",
        kind="at_most",
        expected=28.0,
        measure=lambda results: table(results, "per_point"),
        source=f"{PAGE}, Counts",
        provenance="derived",
    ),
    Claim(
        id="exact-fractions",
        statement="Integer data, d = 2 and 3, both modes, in rational arithmetic: outputs equal the wanted sets",
        kind="equal",
        expected=1.0,
        measure=each("fractions", "equal"),
        source=f"{PAGE}, Fractions",
        provenance="derived",
    ),
    Claim(
        id="exact-fraction-counts",
        statement="The same, N = 4, M = 8: blocks (d = 2 codes, rounds, d = 3 codes, rounds)",
        kind="equal",
        expected=[15, 18, 15, 18],
        measure=each("fractions", "blocks"),
        source=f"{PAGE}, Counts",
        provenance="derived",
    ),
    *(
        Claim(
            id=f"exact-stress-{family}",
            statement=f"{description}: the largest relative error",
            kind="at_most",
            expected=1e-9,
            measure=value("error", part="stress", family=family),
            source=f"{PAGE}, Measured",
            provenance="derived",
        )
        for family, description in (
            ("subsets", "All 31 nonempty subsets of five points, both modes"),
            ("pool", "Sequences from a pool of twelve points, with repetitions and up to five outputs"),
            ("scaled", "Inputs and outputs of sizes 1e−12 to 1e12, far from the origin or not"),
            ("lengths", "Lengths 1 and 500 side by side, every token three times"),
            ("permuted", "Every input in three orders"),
            ("close", "Tokens 1e−9 apart that must be separated"),
        )
    ),
    Claim(
        id="exact-stress-refused",
        statement="Data sets of these families that were refused",
        kind="equal",
        expected=0.0,
        measure=each("stress", "refused"),
        source=f"{PAGE}, Measured",
        provenance="derived",
    ),
    Claim(
        id="exact-stress-bound",
        statement="Blocks less the published number, the largest difference in these families",
        kind="at_most",
        expected=0.0,
        measure=each("stress", "over"),
        source=PAPER,
        provenance="theorem",
    ),
    Claim(
        id="exact-softmax",
        statement="The same blocks with softmax attention at β = 10⁴, N = 5, 20 and 50, both modes: the error",
        kind="at_most",
        expected=1e-9,
        measure=lambda results: table(results, "soft_error", SHORT),
        source=f"{PAGE}, Softmax",
        provenance="derived",
    ),
    Claim(
        id="exact-softmax-sufficient",
        statement="N = 6, n = 8: the relative error of softmax at the β that suffices by the margins",
        kind="at_most",
        expected=1e-9,
        measure=each("softmax", "at_sufficient"),
        source=f"{PAGE}, Softmax",
        provenance="derived",
    ),
    Claim(
        id="exact-softmax-below",
        statement="The same at half the β from which on the error is below 1e−9: no interpolation there",
        kind="at_least",
        expected=1e-6,
        measure=each("softmax", "below"),
        source=f"{PAGE}, Softmax",
        provenance="observation",
    ),
    Claim(
        id="exact-symmetry",
        statement="Permuted tokens have permuted images, to the last digit, hardmax and β = 3",
        kind="equal",
        expected=0.0,
        measure=worst("symmetry", "away"),
        source=f"{PAGE}, The block",
        provenance="derived",
    ),
]
