"""Claims about the smoothness of attention, and their measurements on the results of `smoothness`."""

import math

from ... import Claim, Results
from ..._measures import difference, value

GAMMAS, LENGTHS = (1.0, 2.0), (2, 4, 8, 16, 32, 64)
SLOPE = {"gamma": 6.0, "lengths": (16, 32, 64, 128)}
CESARO = (8, 32, 64, 256)
BETAS = (0.1, 0.2, 0.3, 0.4, 0.5)
NORMS = {"V": 0.854, "A": 0.8, "R": 0.5}  # of the stability test: |V|, |β B|, and the radius of the disc
PAGE = "docs/theory/smoothness.md"
UPPER, LOWER, STABILITY = f"{PAGE}, Upper bounds", f"{PAGE}, A lower bound", f"{PAGE}, Stability"


def derivative_error(column: int):
    return lambda results: results.select(part="derivative")["difference"].values[:, column].tolist()


def norms(gamma: float):
    return lambda results: results.select(part="adversarial")["norm"].sel(gamma=gamma).values.tolist()


def over_bounds(results: Results) -> list[float]:
    data = results.select(part="adversarial")
    return [float((data["norm"] / data[name]).max()) for name in ("columns", "root-n", "kantorovich")]


def over_lower(results: Results) -> float:
    data = results.select(part="adversarial")
    return float((data["norm"] / data["lower"]).min())


def peaks(results: Results) -> list[float]:
    heights = value("peak", part="adversarial")(results)
    return [peak / (math.exp(gamma) * (1 + gamma) / 2) for peak, gamma in zip(heights, GAMMAS, strict=True)]


def two_and_many(results: Results) -> float:
    data = results.select(part="adversarial")
    return float(abs(data["norm"] - data["two"]).max())


def growth_of_gaussian_tokens(beta: float):
    """From the fewest tokens to the most, in standard errors."""

    def measure(results: Results) -> float:
        (data,) = [data for cell, data in results if cell["part"] == "gaussian tokens"]
        chosen = data.sel(beta=beta)
        rise = float(chosen["log norm"][-1] - chosen["log norm"][0])
        return rise / float((chosen["stderr"][-1] ** 2 + chosen["stderr"][0] ** 2) ** 0.5)

    return measure


def far_from_the_origin(results: Results) -> list[float]:
    data = results.select(part="radius")
    return [float(abs(data["norm"][-1] - data["limit"]).max()), float(abs(data["hardmax"] - data["limit"]).max())]


def median_peak(results: Results) -> float:
    return float(results.select(part="radius")["norm"].max("R").median())


def over_stability(masked: bool, variable: str):
    def measure(results: Results) -> float:
        data = results.select(part="stability", masked=masked)
        return float((data["ratio"] / data[variable])[..., 1:].max())  # at t = 0 both are one

    return measure


def reach(results: Results) -> list[float]:
    both = [results.select(part="stability", masked=masked) for masked in (False, True)]
    return [float((data["reach"] / data["radius"]).max()) for data in both]


def masked_change(results: Results) -> tuple[list[float], list[float]]:
    (data,) = [data for cell, data in results if cell["part"] == "masked gaussian"]
    return data["change"].values.tolist(), data["stderr"].values.tolist()


CLAIMS = [
    *(
        Claim(
            id=f"smoothness-{name}",
            statement=f"A random case, n = 7, d = 3, full and masked: {what}",
            kind="equal",
            expected=[0.0, 0.0],
            tolerance=1e-8,
            measure=derivative_error(column),
            source=f"{PAGE}, The derivative",
            provenance="derived",
        )
        for column, (name, what) in enumerate(
            {
                "formula": "the formula of the derivative less central differences of fourth order",
                "jvp": "`jvp` less the formula",
                "vjp": "`vjp` less the transposed formula",
            }.items()
        )
    ),
    *(
        Claim(
            id=f"smoothness-adversarial-{gamma:g}",
            statement=f"Adversarial tokens, d = 2, β B = -{gamma:g} I, V = I, R = 1: the norm at n = 2, 4, …, 64",
            kind="equal",
            expected=expected,
            tolerance=1e-3,
            measure=norms(gamma),
            source=LOWER,
            provenance="derived",
        )
        for gamma, expected in (
            (1.0, [1.6015, 2.2078, 2.8741, 3.0638, 2.8054, 2.3482]),
            (2.0, [1.2466, 2.0686, 3.5854, 5.9417, 9.0239, 11.8379]),
        )
    ),
    Claim(
        id="smoothness-upper",
        statement="The same: the norm over the bounds `columns`, `root-n`, `kantorovich`, the largest ratios",
        kind="at_most",
        expected=1.0,
        measure=over_bounds,
        source=UPPER,
        provenance="derived",
    ),
    Claim(
        id="smoothness-lower",
        statement="The same: the norm over its lower bound √(n-1) p (1 + 2(1-p)γR²), the smallest ratio",
        kind="at_least",
        expected=1.0,
        measure=over_lower,
        source=LOWER,
        provenance="derived",
    ),
    Claim(
        id="smoothness-kantorovich",
        statement="The bound a + (1 + 2a) cosh a for a = 1, 2",
        kind="equal",
        expected=[5.629, 20.81],
        tolerance=0.005,
        measure=value("kantorovich", part="adversarial"),
        source=UPPER,
        provenance="derived",
    ),
    Claim(
        id="smoothness-peak",
        statement="The maximum of the lower bound over n, γR² = 1, 2, over its value e^γ (1 + γ)/2 at n - 1 = e^2γ",
        kind="equal",
        expected=[1.10, 1.16],
        tolerance=0.01,
        measure=peaks,
        source=LOWER,
        provenance="derived",
    ),
    Claim(
        id="smoothness-weights",
        statement="n tokens, n - 1 of them at one place, against two of weights 1/n and 1 - 1/n: largest difference",
        kind="at_most",
        expected=1e-10,
        measure=two_and_many,
        source=f"{PAGE}, The norm",
        provenance="derived",
    ),
    Claim(
        id="smoothness-root-n",
        statement="Adversarial tokens, γR² = 6, n = 16, …, 128: the slope of log |Df| against log(n - 1)",
        kind="equal",
        expected=0.5,
        tolerance=0.02,
        measure=value("slope", part="slope"),
        source=LOWER,
        provenance="theorem",
    ),
    Claim(
        id="smoothness-counterexample",
        statement="Tokens at ±3e₁, A = e₁e₂ᵀ: the norm is that of I + 9A, though every query A x_i is zero",
        kind="equal",
        expected=(9 + 85**0.5) / 2,
        tolerance=1e-9,
        measure=value("norm", part="counterexample"),
        source=UPPER,
        provenance="derived",
        note="with max |A x_i| in place of |A| R, the bound by diameter would be 2",
    ),
    Claim(
        id="smoothness-cesaro",
        statement="Masked attention without scores, V = I, n = 8, 32, 64, 256: the norm of the Cesàro matrix",
        kind="equal",
        expected=[1.37978, 1.53929, 1.59785, 1.68643],
        tolerance=1e-4,
        measure=value("norm", part="cesaro"),
        source=f"{PAGE}, The masked bound",
        provenance="derived",
    ),
    Claim(
        id="smoothness-unmasked-mean",
        statement="The same without a mask: every token reads the mean, and the norm is 1",
        kind="equal",
        expected=1.0,
        tolerance=1e-12,
        measure=value("unmasked", part="cesaro"),
        source=f"{PAGE}, The masked bound",
        provenance="derived",
    ),
    Claim(
        id="smoothness-gaussian-law",
        statement="The law N(0, 1), β = 0.1, …, 0.5: the norm at 40 weighted nodes less that of the operator",
        kind="equal",
        expected=[0.0] * len(BETAS),
        tolerance=1e-9,
        measure=difference("norm", "operator", part="gaussian law"),
        source=f"{PAGE}, Gaussian tokens",
        provenance="derived",
    ),
    Claim(
        id="smoothness-gaussian-growth",
        statement="Independent tokens of N(0, 1) at β = 2 > 1/√2: log |Df| at the largest n less that at n = 16",
        kind="at_least",
        expected=4.0,
        measure=growth_of_gaussian_tokens(2.0),
        source=f"{PAGE}, Gaussian tokens",
        provenance="derived",
        note="in standard errors; the operator of the law is unbounded there, and no rate of growth is derived",
    ),
    Claim(
        id="smoothness-large-radius",
        statement="|Df(RX)| at R = 1e5, and |Df| of hardmax, less √(most followers of a key): largest of 16 clouds",
        kind="equal",
        expected=[0.0, 0.0],
        tolerance=1e-9,
        measure=far_from_the_origin,
        source=f"{PAGE}, Large radius",
        provenance="derived",
    ),
    Claim(
        id="smoothness-not-monotone",
        statement="The same clouds, n = 20: the median of the largest |Df(RX)| over R exceeds √n, the largest limit",
        kind="at_least",
        expected=20**0.5,
        measure=median_peak,
        source=f"{PAGE}, Large radius",
        provenance="derived",
    ),
    *(
        Claim(
            id=f"smoothness-stability-{name}",
            statement=(
                f"Discs R₀ = 0.5, |V| = 0.854, |A| = 0.8, 1/8 ≤ t ≤ 1: {what} over the bound {bound}, the largest ratio"
            ),
            kind="at_most",
            expected=1.0,
            tolerance=1e-9,
            measure=over_stability(masked, variable),
            source=STABILITY,
            provenance="derived",
        )
        for name, masked, variable, what, bound in (
            ("full", False, "bound", "W₂(t)/W₂(0)", "by Kantorovich"),
            ("full-columns", False, "columns", "W₂(t)/W₂(0)", "by columns"),
            ("masked", True, "bound", "masked attention, d₂(t)/d₂(0)", "by Hardy"),
            ("masked-columns", True, "columns", "masked attention, d₂(t)/d₂(0)", "by columns"),
        )
    ),
    Claim(
        id="smoothness-stability-factor",
        statement="The bound at t = 1: exp ½[Δa + 2Δ sinh a + Δ Chi(a)], a from 0.2 to 0.2 e^{2·0.854}",
        kind="equal",
        expected=13.48066,
        tolerance=1e-5,
        measure=value("printed", part="stability", masked=False),
        source=STABILITY,
        provenance="derived",
    ),
    Claim(
        id="smoothness-support",
        statement="The farthest token over R₀ e^{|V|t}, full and masked",
        kind="at_most",
        expected=1.0,
        tolerance=1e-12,
        measure=reach,
        source=STABILITY,
        provenance="derived",
    ),
    Claim(
        id="smoothness-masked-gaussian",
        statement="Independent Gaussian tokens, masked: the change of s₁₁, s₁₂, s₂₂ until t = 1 is that without mask",
        kind="equal",
        expected=[0.314554, 0.177435, 0.243425],
        tolerance=4.5,  # three entries, 31 degrees of freedom: a false alarm in 4000
        tolerance_kind="sigma",
        detects=[0.08, 0.044, 0.06],
        measure=masked_change,
        source=f"{PAGE}, Masked Gaussian tokens",
        provenance="derived",
        note="it detects a mask that changes each of them by a quarter",
    ),
    Claim(
        id="smoothness-conditional",
        statement="d₂ of two sequences less the root mean square of distances; the same with one refined threefold",
        kind="equal",
        expected=[0.0, 0.0],
        tolerance=1e-12,
        measure=lambda results: [value(name, part="conditional")(results) for name in ("difference", "refined")],
        source=f"{PAGE}, The conditional distance",
        provenance="derived",
    ),
    Claim(
        id="smoothness-conditional-order",
        statement="d_p less W_p of the tokens without positions: 8 pairs, p = 1, 2, 3, and two laws; the smallest",
        kind="at_least",
        expected=0.0,
        measure=lambda results: min(value("excess", part="conditional")(results)),
        source=f"{PAGE}, The conditional distance",
        provenance="derived",
    ),
]
