"""Claims about long times, cones and extremes, and their measurements on the results of `single_cluster`."""

import math
from collections.abc import Callable

from ... import Claim, Results
from .energy import WAVES

THEORY = "docs/theory/sphere-theorems.md"
PAPER = "arXiv:2312.10794"
DIMENSIONS = (2, 3, 5)
BETA = 3.0  # of the extremes of the energy
BETA_FIXED = 4.0  # of the stationary configurations
BETA_RATE = 1.0


def bessel(order: float | int, beta: float, terms: int = 60) -> float:
    """The modified Bessel function I, from its power series."""
    return math.fsum(
        (beta / 2) ** (2 * m + order) / (math.factorial(m) * math.gamma(m + order + 1)) for m in range(terms)
    )


def farthest(theorem: str) -> Callable[[Results], list[float]]:
    """The greatest 1 − ⟨xᵢ, xⱼ⟩ over all draws, for each cell."""

    def measure(results: Results) -> list[float]:
        return [float(data["gap"].max()) for _, data in results.where(part="consensus", theorem=theorem)]

    return measure


def speeds(results: Results) -> list[float]:
    return [float(v) for _, data in results.where(part="stationary") for v in data["speed"]]


def leaving(results: Results) -> list[float]:
    return [float(data["leaving"]) for _, data in results.where(part="stationary")]


def least_rise(results: Results) -> list[float]:
    return [float(data["least"].diff("time").min()) for _, data in results.where(part="cone")]


def whole_rise(results: Results) -> list[float]:
    rises = (data["least"].isel(time=-1) / data["least"].isel(time=0) for _, data in results.where(part="cone"))
    return [float(rise.min()) for rise in rises]


def growth(results: Results) -> float:
    return float(results.select(part="cone", start="independent")["ratio"])


def rates(results: Results) -> list[float]:
    """For SA and USA, the slope farthest from the theory's."""
    worst = []
    for kind, rate in (("SA", 1.0), ("USA", math.exp(BETA_RATE))):
        slopes = results.select(part="rate", kind=kind)["rate"].values
        worst.append(float(slopes[abs(slopes - rate).argmax()]))  # argmax chooses a slope that is NaN
    return worst


def above_uniform(results: Results) -> list[float]:
    """The least E over random measures less that of the uniform measure, in each dimension."""
    import attnflow as af

    data = [(d, results.select(part="extremes", d=d)) for d in DIMENSIONS]
    return [float(each["energy"].min() - af.reductions.uniform_energy(d, beta=BETA, scale="E")) for d, each in data]


def curvature(results: Results) -> list[float]:
    data = results.select(part="near extremes")
    return [*data["rise"].values.tolist(), float(data["fall"])]


def not_monotone(results: Results) -> list[float]:
    """The total rise and the total fall of the energy."""
    change = results.select(part="no gradient")["energy"].diff("time").values
    return [float(change[change > 0].sum()), float(-change[change < 0].sum())]


def slope_error(results: Results) -> float:
    """Between the energy's gain and the integral of its derivative by Simpson's rule, over the whole run."""
    from scipy.integrate import simpson

    data = results.select(part="no gradient")
    gain = float(data["energy"][-1] - data["energy"][0])
    return abs(gain - float(simpson(data["slope"].values, x=data["time"].values)))


def _meet(name: str, theorem: str, statement: str, note: str = "") -> Claim:
    return Claim(
        id=f"single-cluster-{name}",
        statement=f"{statement}: greatest 1 − ⟨xᵢ, xⱼ⟩ over all draws after a long time",
        kind="at_most",
        expected=1e-9,
        measure=farthest(theorem),
        source=f"{PAPER}, Theorem {theorem}",
        provenance="theorem",
        note=note or "the theorem gives the limit; the time is derived in docs/theory/sphere-theorems.md",
    )


_K = math.exp(-2 * BETA_FIXED)

CLAIMS: list[Claim] = [
    _meet("small-beta", "4.3", "Circle, 16 uniform tokens, β = 1/16, 1/2, 1, SA and then USA, all meet"),
    _meet(
        "large-beta", "5.1", "Circle, three uniform tokens, β = 3 (full: also 4, 5), all meet", note="C(d) is not known"
    ),
    _meet("high-dimension", "6.1", "S², 16 uniform tokens, β = 0, 1, 2 (full: up to 4, and USA), all meet"),
    Claim(
        id="single-cluster-stationary",
        statement="Not for all starts: speed of an antipodal pair, a simplex, 3 and 5 equal clusters; SA, shifted USA",
        kind="at_most",
        expected=1e-13,
        measure=speeds,
        source=f"{THEORY}, Configurations that do not move",
        provenance="theorem",
    ),
    Claim(
        id="single-cluster-leaving",
        statement="A nearly antipodal pair opens at the rate 2K/(1 + K) (SA) and K (shifted USA), K = e^(−2β), β = 4",
        kind="equal",
        expected=[2 * _K / (1 + _K), _K],
        tolerance=1e-6,
        tolerance_kind="rel",
        measure=leaving,
        source=f"{THEORY}, How long is long",
        provenance="derived",
        note="at an angle 10⁻⁴ from antipodal; the next term is of the order β 10⁻⁸",
    ),
    Claim(
        id="single-cluster-cone",
        statement="Cone lemma: min ⟨xᵢ(t), v⟩ never falls, least change between saved times over all draws",
        kind="at_least",
        expected=0.0,
        tolerance=1e-12,
        measure=least_rise,
        source=f"{PAPER}, Section 6 (cone lemma)",
        provenance="theorem",
        note="8 tokens in dimension 8; 32 tokens in a hemisphere of S²",
    ),
    Claim(
        id="single-cluster-cone-moves",
        statement="The same: it rises in every draw, least factor over the whole run",
        kind="at_least",
        expected=1.1,
        measure=whole_rise,
        source=f"{PAPER}, Section 6 (cone lemma)",
        provenance="observation",
        note="that it rises is the lemma's; 1.1 is our threshold, far above round-off",
    ),
    Claim(
        id="single-cluster-cone-rate",
        statement="α = min ⟨xᵢ, x*⟩ ≥ ½: α′ over (1 − α)/(2n e^(2β)), least over all draws and times",
        kind="at_least",
        expected=1.0,
        measure=growth,
        source=f"{PAPER}, Theorem 6.3; {THEORY}, The cone lemma",
        provenance="theorem",
    ),
    Claim(
        id="single-cluster-rate",
        statement="d = n = 8, β = 1: spread falls like e^(−t) (SA) and e^(−e^β t) (USA), the rate farthest from that",
        kind="equal",
        expected=[1.0, math.exp(BETA_RATE)],
        tolerance=1e-5,
        tolerance_kind="rel",
        measure=rates,
        source=f"{THEORY}, The rate of consensus and its next term",
        provenance="derived",
        note="spread s between 10⁻³ and 10⁻⁵; the next term is at most (1 + 2β)s², 3·10⁻⁶ of the rate",
    ),
    Claim(
        id="single-cluster-least-energy",
        statement="β = 3: every random measure has more energy than the uniform one, least difference, d = 2, 3, 5",
        kind="at_least",
        expected=0.0,
        measure=above_uniform,
        source=f"{PAPER}, Proposition 3.4",
        provenance="theorem",
    ),
    Claim(
        id="single-cluster-curvature",
        statement="β = 3: waves k = 1, 2, 3, 5 on the circle raise E by ε²k²I_k/4β; spread lowers a point's by e^β/2",
        kind="equal",
        expected=[*(k * k * bessel(k, BETA) / BETA for k in WAVES), math.exp(BETA)],
        tolerance=1e-4,
        tolerance_kind="rel",
        measure=curvature,
        source=f"{THEORY}, Near the extremes of the energy",
        provenance="derived",
        note="times 4/ε², and 2 over the variance; ε = 10⁻³, the next term is of the order k²β ε²",
    ),
    Claim(
        id="single-cluster-no-gradient",
        statement="B = I, V a quarter turn, β = 2, six tokens: E is not monotone: its total rise and total fall",
        kind="at_least",
        expected=0.01,
        measure=not_monotone,
        source=f"{PAPER}, Section 3.4",
        provenance="observation",
        note="0.01 is our threshold, far above the error of the integration",
    ),
    Claim(
        id="single-cluster-no-gradient-slope",
        statement="The same run: what E gains is the integral of its derivative from the definition, difference",
        kind="at_most",
        expected=1e-5,
        measure=slope_error,
        source="docs/theory/sphere.md, What the energy gains",
        provenance="derived",
        note="Simpson's rule with 201 nodes",
    ),
]
