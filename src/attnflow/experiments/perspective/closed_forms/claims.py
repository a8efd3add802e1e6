"""Claims about the closed forms, and their measurements on the results of `closed_forms`."""

import math

from ... import Claim, Results

PAGE = "docs/theory/sphere.md"
START = 2.0  # initial angle between the two clusters
MERGING = {
    9.0: 15477.2527,
    30.0: 4.00049338e16,
}  # time to the angle 1e-3/sqrt(beta), p = 0.3: tests/witnesses/staircases.py
FASTEST = {1: 1, 2: 2, 4: 3, 5: 3, 9: 4, 16: 6, 30: 8, 100: 14}  # beta: the fastest growing mode
HEMISPHERES = ((4, 2), (6, 3), (9, 3), (10, 4))  # (n, d) of the draws
RHOS = (0.2, 0.5, 0.8)
CASES = (0.5, 1.0, 1.5)  # c in units of its critical value 1/(1 - rho)
LONG, HUGE = (1e2, 1e3, 1e4, 1e6, 1e8), 1e12  # lengths of the context


def wendel(n: int, d: int) -> float:
    return sum(math.comb(n - 1, k) for k in range(d)) / 2 ** (n - 1)


def difference(one: str, other: str, **part: object):
    """Largest distance of two variables, for each cell."""

    def measure(results: Results) -> list[float]:
        return [float(abs(data[one] - data[other]).max()) for _, data in results.where(**part)]

    return measure


def light_token_values(results: Results) -> list[float]:
    """At t = 0.7 and 2, for each β."""
    return [
        float(value)
        for _, data in results.where(part="light")
        for value in data["particles"].sel(time=[0.7, 2.0], method="nearest", tolerance=1e-9)
    ]


def merging_times(results: Results) -> list[float]:
    return results.select(part="merging", p=0.3)["duration"].sel(beta=list(MERGING)).values.tolist()


def one_mode(results: Results) -> float:
    return float(results.select(part="one mode")["rate"])


def fastest_by_particles(results: Results) -> list[int]:
    cells = (results.select(part="growth", kind="SA", beta=float(b))["particles"] for b in FASTEST)
    return [int(rates["k"][rates.values.argmax()]) for rates in cells]


def fastest_by_formula(results: Results) -> list[int]:
    return [int(results.select(part="growth", kind="SA", beta=float(b))["fastest"]) for b in FASTEST]


def hemisphere_shares(results: Results) -> tuple[list[float], list[float]]:
    data = [results.select(part="hemisphere", n=n, d=d) for n, d in HEMISPHERES]
    return [float(each["share"]) for each in data], [float(each["stderr"]) for each in data]


def hemisphere_formula(results: Results) -> list[float]:
    return [float(results.select(part="hemisphere", n=n, d=d)["closed"]) for n, d in HEMISPHERES]


def context_of_a_million(results: Results) -> list[float]:
    cosine = results.select(part="context", rho=0.5)["cosine"]
    return cosine.sel(n=1e6).sel(c=[1.0, 2.0, 3.0], method="nearest", tolerance=1e-9).values.tolist()


def context_cases(variable: str):
    def measure(results: Results) -> list[list[float]]:
        return [results.select(part="context", rho=rho)[variable].values.tolist() for rho in RHOS]

    return measure


def rate_constant(scheme: str):
    """The slope of the log of the variance against time, per unit of α, once the tokens are close."""

    def measure(results: Results) -> list[float]:
        import numpy as np

        slopes = []
        for cell, data in results.where(part="scheme", scheme=scheme):
            late = data.sel(time=slice(data["time"][-1] / 2, None))
            slope = np.polyfit(late["time"], np.log(late["variance"]), 1)[0]
            slopes.append(-float(slope) / cell["alpha"])
        return slopes

    return measure


def exponent(scheme: str):
    """The slope of the log of the variance against the log of time, over the last decade."""

    def measure(results: Results) -> list[float]:
        import numpy as np

        slopes = []
        for _, data in results.where(part="scheme", scheme=scheme):
            late = data.sel(time=slice(data["time"][-1] / 10, None))
            slopes.append(-float(np.polyfit(np.log(late["time"]), np.log(late["variance"]), 1)[0]))
        return slopes

    return measure


def growth_of_lengths(results: Results) -> list[float]:
    """The mean slope of the length over the last decade of time, for Pre-LN and then Peri-LN."""
    slopes = []
    for scheme in ("pre", "peri"):
        data = results.select(part="scheme", scheme=scheme, beta=4.0, n=32)
        late = data["length"].sel(time=slice(data["time"][-1] / 10, None))
        slopes.append(float((late[-1] - late[0]) / (late["time"][-1] - late["time"][0])))
    return slopes


CLAIMS = [
    Claim(
        id="two-clusters-particles",
        statement="Two weighted tokens on the circle follow the scalar equation for their angle (each clock and mass)",
        kind="at_most",
        expected=1e-8,
        measure=difference("particles", "reference", part="clusters"),
        source=f"{PAGE}, Two clusters",
        provenance="derived",
    ),
    Claim(
        id="two-clusters-reduction",
        statement="The library's angle agrees with SciPy's for the equation as printed (each clock and mass)",
        kind="at_most",
        expected=1e-9,
        measure=difference("reduced", "reference", part="clusters"),
        source=f"{PAGE}, Two clusters",
        provenance="derived",
    ),
    Claim(
        id="two-clusters-merging",
        statement="SA, masses 0.3 and 0.7, from u = 2: time until u = 0.001/√β, for β = 9 and 30",
        kind="equal",
        expected=list(MERGING.values()),
        tolerance=1e-5,
        tolerance_kind="rel",
        measure=merging_times,
        source=f"{PAGE}, Two clusters",
        provenance="derived",
    ),
    Claim(
        id="light-token-values",
        statement="A token without mass beside a cluster, from ⟨x, y⟩ = −0.2: ⟨x, y⟩ at t = 0.7 and 2; β = 0, 3, 30",
        kind="equal",
        expected=[0.45996543, 0.9465223] * 3,
        tolerance=1e-7,
        measure=light_token_values,
        source=f"{PAGE}, A light token",
        provenance="derived",
    ),
    Claim(
        id="light-token-tanh",
        statement="The same for all t ≤ 5: particles against tanh(t + artanh ⟨x, y⟩₀), for each β",
        kind="at_most",
        expected=1e-8,
        measure=difference("particles", "closed", part="light"),
        source=f"{PAGE}, A light token",
        provenance="derived",
    ),
    Claim(
        id="growth-one-mode",
        statement="SA, β = 9, 400 tokens on a grid with a wave sin 4s of size 1e−6: its rate of growth until t = 1",
        kind="equal",
        expected=0.704497,
        tolerance=1e-3,
        measure=one_mode,
        source=f"{PAGE}, Growth of patterns",
        provenance="derived",
    ),
    Claim(
        id="growth-particles",
        statement="24 waves among particles grow at rates k² I_k/(β I₀) (SA), k² I_k/β (USA): error of each cell",
        kind="at_most",
        expected=1e-5,
        measure=difference("particles", "reference", part="growth"),
        source=f"{PAGE}, Growth of patterns",
        provenance="derived",
        note="Bessel functions as Fourier coefficients of the kernel",
    ),
    Claim(
        id="growth-formula",
        statement="The library's rates agree with Fourier coefficients of the kernel, greatest error of each cell",
        kind="at_most",
        expected=1e-11,
        measure=difference("closed", "reference", part="growth"),
        source=f"{PAGE}, Growth of patterns",
        provenance="derived",
    ),
    Claim(
        id="growth-fastest-particles",
        statement="SA: the wave that particles amplify fastest, for β = 1, 2, 4, 5, 9, 16, 30, 100",
        kind="equal",
        expected=list(FASTEST.values()),
        measure=fastest_by_particles,
        source=f"{PAGE}, Growth of patterns",
        provenance="derived",
    ),
    Claim(
        id="growth-fastest-formula",
        statement="The same by the formula, arg max of k² I_k(β)",
        kind="equal",
        expected=list(FASTEST.values()),
        measure=fastest_by_formula,
        source=f"{PAGE}, Growth of patterns",
        provenance="derived",
    ),
    Claim(
        id="hemisphere-sample",
        statement="Share of draws of n uniform tokens in a hemisphere, for (n, d) = (4, 2), (6, 3), (9, 3), (10, 4)",
        kind="equal",
        expected=[wendel(n, d) for n, d in HEMISPHERES],
        tolerance=4.0,
        tolerance_kind="sigma",
        detects=0.054,
        possible=(0, 1),
        measure=hemisphere_shares,
        source="J. G. Wendel, A problem in geometric probability, Math. Scand. 11 (1962)",
        provenance="theorem",
        note="with n in place of n − 1 in the sum it would differ by 0.055 or more",
    ),
    Claim(
        id="hemisphere-formula",
        statement="The library's probabilities for the same n and d",
        kind="equal",
        expected=[wendel(n, d) for n, d in HEMISPHERES],
        tolerance=1e-15,
        measure=hemisphere_formula,
        source="J. G. Wendel, A problem in geometric probability, Math. Scand. 11 (1962)",
        provenance="theorem",
    ),
    Claim(
        id="long-context-million",
        statement="One layer on a million tokens with inner products ½, β = c log n: output cosine at c = 1, 2, 3",
        kind="equal",
        expected=[1.0, 0.8, 0.5005],
        tolerance=1e-4,
        measure=context_of_a_million,
        source=f"{PAGE}, Long context",
        provenance="derived",
    ),
    Claim(
        id="long-context-tokens",
        statement="Tokens through softmax attention against the closed form, for ρ = 0.2, 0.5, 0.8: greatest error",
        kind="at_most",
        expected=1e-12,
        measure=difference("tokens", "closed", part="context"),
        source=f"{PAGE}, Long context",
        provenance="derived",
    ),
    Claim(
        id="long-context-cases",
        statement="n = 10¹²: 1 below the critical c, 4ρ/(1 + 3ρ) at it, ρ above it, for ρ = 0.2, 0.5, 0.8",
        kind="equal",
        expected=[[1.0, 4 * rho / (1 + 3 * rho), rho] for rho in RHOS],
        tolerance=1e-5,
        measure=context_cases("far"),
        source="arXiv:2512.01868, Section 6",
        provenance="theorem",
        note="c = 0.5, 1 and 1.5 times 1/(1 − ρ)",
    ),
    Claim(
        id="long-context-limit",
        statement="The library's limit n → ∞ in the same nine cases",
        kind="equal",
        expected=[[1.0, 4 * rho / (1 + 3 * rho), rho] for rho in RHOS],
        tolerance=1e-14,
        measure=context_cases("at_infinity"),
        source="arXiv:2512.01868, Section 6",
        provenance="theorem",
    ),
    Claim(
        id="normalise-post",
        statement="Post-LN: the variance of directions within clusters decays like e^(−2t), its rate (each cell)",
        kind="equal",
        expected=2.0,
        tolerance=0.01,
        measure=rate_constant("post"),
        source=f"{PAGE}, Where to normalise",
        provenance="derived",
        note="the papers give orders in t; the constants are derived near consensus",
    ),
    Claim(
        id="normalise-ngpt",
        statement="nGPT: the variance within clusters decays like e^(−2αt), the rate divided by α (each cell)",
        kind="equal",
        expected=2.0,
        tolerance=0.01,
        measure=rate_constant("ngpt"),
        source=f"{PAGE}, Where to normalise",
        provenance="derived",
    ),
    Claim(
        id="normalise-pre",
        statement="Pre-LN: the variance in clusters decays like t^(−2), the exponent, 10³ ≤ t ≤ 10⁴ (each cell)",
        kind="equal",
        expected=2.0,
        tolerance=0.01,
        measure=exponent("pre"),
        source=f"arXiv:2510.22026; {PAGE}, Where to normalise",
        provenance="derived",
        note="a rate of order 1/t is the papers'; the constant 2 is derived near consensus",
    ),
    Claim(
        id="normalise-peri",
        statement="Peri-LN: the variance in clusters decays like t^(−2), the exponent, 10³ ≤ t ≤ 10⁴ (each cell)",
        kind="equal",
        expected=2.0,
        tolerance=0.01,
        measure=exponent("peri"),
        source=f"arXiv:2510.22026; {PAGE}, Where to normalise",
        provenance="derived",
    ),
    Claim(
        id="normalise-lengths",
        statement="Pre-LN and Peri-LN, β = 4: lengths grow by 1 in a unit of time, 10³ ≤ t ≤ 10⁴",
        kind="equal",
        expected=1.0,
        tolerance=1e-3,
        measure=growth_of_lengths,
        source=f"{PAGE}, Where to normalise",
        provenance="derived",
    ),
]
