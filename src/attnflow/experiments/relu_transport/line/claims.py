"""Claims about transport on the line, and their measurements on the results of `line`."""

import math
from collections.abc import Callable

from ... import Claim, Results
from ..._measures import value

PAGE = "docs/theory/relu-transport.md"
MIXTURES = ("mix2", "mix3")
CONSTANTS = {"mix2": 2.086, "mix3": 4.357}
DERIVED = "The page derives this construction for the claim of the paper, whose own constants are not known."


def best(variable: str, target: str, *Ks: int) -> Callable[[Results], list[float]]:
    return lambda results: [float(results.select(part="best", target=target, K=K)[variable]) for K in Ks]


def over_prediction(target: str, K: int) -> Callable[[Results], list[float]]:
    """Both relative entropies over C/(K - 1)^2, with the constant that was computed for the law."""

    def measure(results: Results) -> list[float]:
        data = results.select(part="best", target=target, K=K)
        return [float(data[name]) * (K - 1) ** 2 / float(data["constant"]) for name in ("kl", "reverse_kl")]

    return measure


def surplus(results: Results) -> list[float]:
    """Switches less K + 1, every number of knots."""
    return [float(data["switches"]) - cell["K"] - 1 for cell, data in results.where(part="best")]


def off_mass(results: Results) -> list[float]:
    return [abs(float(data["mass"]) - 1) for _, data in results.where(part="best")]


def growth(results: Results) -> list[float]:
    """The slope of the truncated divergence at large R, times pi m^2."""
    slopes = []
    for _, data in results.where(part="cauchy"):
        last = data.isel(radius=[-2, -1])
        slope = float(last["kl"].diff("radius")[0]) / float(last["radius"].diff("radius")[0])
        slopes.append(slope * math.pi * float(data["slope"]) ** 2)
    return slopes


def uniform_over_best(results: Results) -> float:
    """How much larger the divergence is with 64 knots at equal distances."""
    uniform, ours = (float(results.select(part=part, target="mix3", K=64)["kl"]) for part in ("uniform", "best"))
    return uniform / ours


CLAIMS = [
    Claim(
        id="line-mix3",
        statement="N(0, 1) to three Gaussians with 64 knots: KL(target|flow)",
        kind="equal",
        expected=1.21e-3,
        tolerance=0.05,
        tolerance_kind="rel",
        measure=value("kl", part="best", target="mix3", K=64),
        source=f"{PAGE}, The line",
        provenance="derived",
        note=DERIVED,
    ),
    Claim(
        id="line-mix2",
        statement="N(0, 1) to two Gaussians with 16, 32 and 64 knots: KL(target|flow)",
        kind="equal",
        expected=[1.24e-2, 2.59e-3, 5.79e-4],
        tolerance=0.03,
        tolerance_kind="rel",
        measure=best("kl", "mix2", 16, 32, 64),
        source=f"{PAGE}, The line",
        provenance="derived",
        note=DERIVED,
    ),
    *(
        Claim(
            id=f"line-constant-{target}",
            statement=f"N(0, 1) to {count} Gaussians: the constant C, computed before any schedule is built",
            kind="equal",
            expected=CONSTANTS[target],
            tolerance=0.002,
            tolerance_kind="rel",
            measure=value("constant", part="best", target=target, K=64),
            source=f"{PAGE}, The line",
            provenance="derived",
            note="Computed again by tests/witnesses/relu_transport.py",
        )
        for target, count in (("mix2", "two"), ("mix3", "three"))
    ),
    Claim(
        id="line-rate",
        statement="Three Gaussians, 256 knots: (K − 1)² KL over C = 4.357, which tends to 1",
        kind="equal",
        expected=1.0,
        tolerance=0.1,
        measure=lambda results: best("kl", "mix3", 256)(results)[0] * 255**2 / CONSTANTS["mix3"],
        source=f"{PAGE}, The line",
        provenance="derived",
    ),
    *(
        Claim(
            id=f"line-rate-{target}",
            statement=f"{name}, 256 knots: (K − 1)² KL over its own C, both relative entropies",
            kind="equal",
            expected=[1.0, 1.0],
            tolerance=0.1,
            measure=over_prediction(target, 256),
            source=f"{PAGE}, Tails",
            provenance="derived",
        )
        for target, name in (("laplace", "Laplace's law"), ("student", "Student's law with ν = 3"))
    ),
    Claim(
        id="line-switches",
        statement="Switches less K + 1, every target and number of knots",
        kind="equal",
        expected=0.0,
        measure=surplus,
        source=f"{PAGE}, The line",
        provenance="derived",
    ),
    Claim(
        id="line-mass",
        statement="The mass of every law that was built, by quadrature, less 1",
        kind="at_most",
        expected=1e-10,
        measure=off_mass,
        source=f"{PAGE}, The line",
        provenance="derived",
    ),
    Claim(
        id="line-uniform",
        statement="Three Gaussians, 64 knots: KL with knots at equal distances over that with the best ones",
        kind="at_least",
        expected=10.0,
        measure=uniform_over_best,
        source=f"{PAGE}, The line",
        provenance="observation",
        note="The valleys of the target are narrow in x; the ratio is about 30.",
    ),
    Claim(
        id="line-cauchy",
        statement="N(0, 1) to a Cauchy law: the slope of the divergence between −R and R, times πm², 8 and 64 knots",
        kind="equal",
        expected=1.0,
        tolerance=0.01,
        measure=growth,
        source=f"{PAGE}, Tails",
        provenance="derived",
        note="m is the slope beyond the last knot.",
    ),
    Claim(
        id="line-cauchy-said",
        statement="Its relative entropy is reported as infinite, not as what finitely many points show",
        kind="equal",
        expected=1.0,
        measure=lambda results: [float(data["infinite"]) for _, data in results.where(part="cauchy")],
        source=f"{PAGE}, Tails",
        provenance="derived",
    ),
]
