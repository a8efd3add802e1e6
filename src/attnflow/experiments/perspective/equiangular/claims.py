"""Claims about equiangular tokens, and their measurements on the results of `equiangular`."""

import itertools
import math

from ... import Claim, Results

DELTA = 1e-3
CROSSED = (0, 2, 4, 6)  # values of beta at which particles are followed to t*, at both scales
PAPER = "arXiv:2312.10794, Theorem 6.8"
PHASE = "docs/theory/sphere.md, The phase curve"
AT_ZERO = "docs/theory/sphere.md, Equiangular tokens at β = 0"
# t*(beta) for beta = 0, 1, ..., 9, by quadrature and by an ODE event.
TABLE = {
    32: [5.186261, 5.270284, 5.458394, 5.897609, 6.953502, 9.544329, 15.995314, 32.233105, 73.445676, 178.73093],
    128: [5.879396, 5.909020, 5.978673, 6.148087, 6.569550, 7.634246, 10.353018, 17.350424, 35.467473, 82.593358],
}


def off_curve(kind: str):
    """Largest distance of any inner product from the scalar equation, for each n."""

    def measure(results: Results) -> list[float]:
        return [
            max(float(abs(data[side] - data["reference"]).max()) for side in ("least", "greatest"))
            for _, data in results.where(part="flow", kind=kind, beta=3.0)
        ]

    return measure


def value_at_2(results: Results) -> list[float]:
    chosen = (results.select(part="flow", kind="SA", n=n, beta=3.0) for n in (5, 32))
    return [float((data["least"] + data["greatest"])[-1] / 2) for data in chosen]


def reduction_error(results: Results) -> float:
    flows = results.where(part="flow")
    return max(float(abs(data["reduced"] - data["reference"]).max()) for _, data in flows)


def off_closed_form(n: int):
    def measure(results: Results) -> float:
        import numpy as np

        data = results.select(part="flow", n=n, beta=0.0)
        exact = np.expm1(2 * data["time"]) / (np.exp(2 * data["time"]) + n - 1)  # tanh t for n = 2
        return max(float(abs(data[side] - exact).max()) for side in ("least", "greatest"))

    return measure


def phase_row(n: int):
    def measure(results: Results) -> list[float]:
        curve = results.select(part="phase", n=n)["quadrature"]
        return curve.sel(beta=list(range(10)), method="nearest", tolerance=1e-9).values.tolist()

    return measure


def phase_at_zero(results: Results) -> list[float]:
    return [phase_row(n)(results)[0] for n in (32, 128)]


def quadrature_error(results: Results) -> float:
    return max(float(abs(data["quadrature"] - data["event"]).max()) for _, data in results.where(part="phase"))


def crossings(results: Results) -> list[float]:
    return [float(results.select(part="crossing", n=32, beta=float(b))["crossing"]) for b in CROSSED]


def crossing_error(results: Results) -> float:
    return max(abs(float(data["crossing"] - data["event"])) for _, data in results.where(part="crossing"))


def concentration(results: Results) -> list[bool]:
    """Whether each larger dimension brings the worst pair nearer to the curve."""
    worst = [float(data["worst"].max()) for _, data in results.where(part="random")]
    return [later < earlier for earlier, later in itertools.pairwise(worst)]


def _closed_form_time(n: int) -> float:
    return math.log((1 + (n - 1) * (1 - DELTA)) / DELTA) / 2


CLAIMS = [
    Claim(
        id="equiangular-sa-particles",
        statement="SA, β = 3, orthonormal start: every ⟨xᵢ, xⱼ⟩ follows the scalar equation for t ≤ 2 (each n)",
        kind="at_most",
        expected=1e-8,
        measure=off_curve("SA"),
        source=PAPER,
        provenance="theorem",
    ),
    Claim(
        id="equiangular-usa-particles",
        statement="USA, β = 3, orthonormal start: every ⟨xᵢ, xⱼ⟩ follows the scalar equation for t ≤ 2 (each n)",
        kind="at_most",
        expected=1e-8,
        measure=off_curve("USA"),
        source=PAPER,
        provenance="theorem",
    ),
    Claim(
        id="equiangular-sa-value",
        statement="SA, β = 3, orthonormal start: ⟨xᵢ, xⱼ⟩ at t = 2, for n = 5 and 32",
        kind="equal",
        expected=[0.2939541119, 0.3231908732],
        tolerance=1e-8,
        measure=value_at_2,
        source=PAPER,
        provenance="derived",
    ),
    Claim(
        id="equiangular-reduction",
        statement="The library's scalar solution agrees with SciPy's for the formula as printed, in all cells",
        kind="at_most",
        expected=1e-9,
        measure=reduction_error,
        source=PAPER,
        provenance="theorem",
    ),
    Claim(
        id="equiangular-tanh",
        statement="n = 2, β = 0: ⟨x₁, x₂⟩ = tanh t",
        kind="at_most",
        expected=1e-8,
        measure=off_closed_form(2),
        source=AT_ZERO,
        provenance="derived",
    ),
    Claim(
        id="equiangular-beta-0",
        statement="n = 32, β = 0: ⟨xᵢ, xⱼ⟩ = (e²ᵗ − 1)/(e²ᵗ + n − 1)",
        kind="at_most",
        expected=1e-8,
        measure=off_closed_form(32),
        source=AT_ZERO,
        provenance="derived",
    ),
    Claim(
        id="phase-curve-n32",
        statement="Phase curve t*(β) for n = 32, β = 0, 1, …, 9",
        kind="equal",
        expected=TABLE[32],
        tolerance=1e-5,
        measure=phase_row(32),
        source=PHASE,
        provenance="derived",
    ),
    Claim(
        id="phase-curve-n128",
        statement="Phase curve t*(β) for n = 128, β = 0, 1, …, 9",
        kind="equal",
        expected=TABLE[128],
        tolerance=1e-5,
        measure=phase_row(128),
        source=PHASE,
        provenance="derived",
    ),
    Claim(
        id="phase-curve-beta-0",
        statement="t*(0) = ½ ln((1 + (n − 1)(1 − δ))/δ), for n = 32 and 128",
        kind="equal",
        expected=[_closed_form_time(32), _closed_form_time(128)],
        tolerance=1e-9,
        measure=phase_at_zero,
        source=PHASE,
        provenance="derived",
    ),
    Claim(
        id="phase-curve-event",
        statement="Quadrature and the event of the differential equation give the same t*, at every β and n",
        kind="at_most",
        expected=1e-6,
        measure=quadrature_error,
        source=PHASE,
        provenance="derived",
    ),
    Claim(
        id="phase-curve-particles",
        statement="32 particles reach ⟨xᵢ, xⱼ⟩ = 1 − δ at t*(β), β = 0, 2, 4, 6",
        kind="equal",
        expected=[TABLE[32][b] for b in CROSSED],
        tolerance=1e-5,
        measure=crossings,
        source=PAPER,
        provenance="theorem",
    ),
    Claim(
        id="phase-curve-particles-event",
        statement="Particles and the event of the differential equation give the same t*, wherever particles were run",
        kind="at_most",
        expected=1e-5,
        measure=crossing_error,
        source=PAPER,
        provenance="theorem",
    ),
    Claim(
        id="equiangular-concentration",
        statement="32 uniform tokens, β = 3, t ≤ 8: the worst pair comes nearer to the curve with each larger d",
        kind="property",
        measure=concentration,
        source="arXiv:2312.10794, Theorem 6.9",
        provenance="theorem",
        note="the theorem's own constants are far too large to be tested",
    ),
]
