"""Claims about the three scalings of random layers, and their measurements on the results of `scalings`."""

from typing import Any

from ... import Claim, Results
from ..._measures import value
from .. import tables

DEPTHS = ((50, 1), (200, 1), (50, 4), (400, 1))  # layers and heads; the last at full scale only
MIXED = ((200, 1), (100, 4))
SETTINGS = ((0.1, 1), (0.025, 1), (0.1, 4), (0.025, 4), (0.00625, 4))  # eta and heads, deterministic scaling
INTEGRATED = ((0.0, 1.0), (-0.9, 4.0))  # initial q, and the final time
RANKS = (0, 1, 16)  # 0: a full matrix
LAW = {beta: law for (d, beta), law in tables.LAW.items() if d == 4}  # mean and deviation of q, by beta

PAGE = "docs/theory/random-layers.md"


def moments(name: str, beta: float, v: float, layers: int, heads: int):
    def measure(results: Results) -> tuple[float, float]:
        data = results.select(part="layers", beta=beta, v=v, layers=layers, heads=heads)
        return float(data[name]), float(data[f"{name}_stderr"])

    return measure


def same_depth(results: Results) -> tuple[float, float]:
    one, four = (moments("mean", 1.0, 0.0, 50, H)(results) for H in (1, 4))
    return four[0] - one[0], (one[1] ** 2 + four[1] ** 2) ** 0.5


def limit(name: str):
    def measure(results: Results) -> tuple[float, float]:
        data = results.select(part="limit")
        return float(data[name]), float(data[f"{name}_stderr"])

    return measure


def constants(results: Results) -> Any:
    """The deviation over sqrt(eta/H), for every setting."""
    data = results.select(part="deterministic")
    return (data["deviation"] / data["unit"]).values


def spread(results: Results) -> float:
    ratios = constants(results)
    return float((ratios.max() - ratios.min()) / ratios.mean())


def power(results: Results) -> tuple[float, float]:
    """The exponent of the deviation as a power of eta/H, a line through all settings."""
    import numpy as np

    data = results.select(part="deterministic")
    x, y = 2 * np.log(data["unit"].values), np.log(data["deviation"].values)
    weights = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    return float(weights @ y), float(np.sqrt(np.sum((weights * data["stderr"] / data["deviation"]).values ** 2)))


def integrator(first: str, second: str, q0: float):
    """The difference of two means of q, with its standard error; the backward equation has none."""

    def measure(results: Results) -> tuple[float, float]:
        data = results.select(part="integrators", q0=q0)
        means = [float(data[name]) if data[name].ndim == 0 else float(data[name][-1]) for name in (first, second)]
        errors = [float(data[f"{name}_stderr"]) if data[name].ndim == 0 else 0.0 for name in (first, second)]
        return means[0] - means[1], sum(e * e for e in errors) ** 0.5

    return measure


def standard_errors(first: str, second: str, q0: float):
    def measure(results: Results) -> float:
        difference, error = integrator(first, second, q0)(results)
        return abs(difference) / error

    return measure


def witness(name: str):
    def measure(results: Results) -> tuple[float, float]:
        data = results.select(part="integrators", q0=0.0)
        return float(data[f"euler{name}"]), float(data[f"euler{name}_stderr"])

    return measure


def second_moments(rank: int):
    def measure(results: Results) -> tuple[list[float], list[float]]:
        data = results.select(part="rank", rank=rank)
        return data["covariance"].values.tolist(), data["stderr"].values.tolist()

    return measure


def approach(results: Results) -> bool:
    """Whether each rank is closer to the full matrix than the one before, until it is within four standard errors."""
    import numpy as np

    full = results.select(part="rank", rank=0)
    gaps, errors = [], []
    for rank in RANKS[1:]:
        data = results.select(part="rank", rank=rank)
        gaps.append(np.abs(data["covariance"].values - full["covariance"].values))
        errors.append(np.hypot(data["stderr"].values, full["stderr"].values))
    closer = [np.all((b + 4 * e < a) | (b < 4 * e)) for a, b, e in zip(gaps, gaps[1:], errors[1:], strict=False)]
    return bool(all(closer) and np.any(gaps[0] > 4 * errors[0]))


def _row(name: str, what: str, beta: float, v: float, L: int, H: int, expected: float, tolerance: float) -> Claim:
    return Claim(
        id=f"scalings-{'mixed' if v else f'beta-{beta:g}'}-{L}-layers-{H}-heads-{name}",
        statement=f"{what} of q at time 1 from q = 0, d = 4, β = {beta:g}, {L} layers of {H} heads"
        + (", V around (η/H) I" if v else ""),
        kind="equal",
        expected=expected,
        tolerance=tolerance,
        measure=moments(name, beta, v, L, H),
        source=f"{PAGE}, {'The mixed scaling' if v else 'The stochastic scaling'}",
        provenance="derived",
        scales=None if v or (beta == 1.0 and (L, H) != DEPTHS[-1]) else ("full",),
    )


CLAIMS = [
    *(
        _row(name, what, beta, 0.0, L, H, LAW[beta][k], (0.025, 0.02)[k])
        for beta in LAW
        for L, H in DEPTHS
        for k, (name, what) in enumerate((("mean", "Mean"), ("sd", "Standard deviation")))
    ),
    *(
        _row(name, what, 0.0, 1.0, L, H, expected, tolerance)
        for L, H in MIXED
        for name, what, expected, tolerance in (
            ("mean", "Mean", 0.805, 0.012),
            ("sd", "Standard deviation", 0.187, 0.016),  # few low paths make it: its standard error is 0.0038
        )
    ),
    Claim(
        id="scalings-heads",
        statement="Four heads less one, at 50 layers and one η²/H: the difference of the means of q",
        kind="equal",
        expected=0.0,
        tolerance=4,
        tolerance_kind="sigma",
        detects=0.15,
        measure=same_depth,
        source=f"{PAGE}, One layer",
        provenance="derived",
        note="a quarter of the time changes the mean by 0.15, four times as much by 0.35",
    ),
    *(
        Claim(
            id=f"scalings-limit-{name}",
            statement=f"{what} of q at time 1, d = 4, β = 1: the limit by its own 200 steps, covariance by quadrature",
            kind="equal",
            expected=LAW[1.0][k],
            tolerance=(0.025, 0.02)[k],
            measure=limit(name),
            source=f"{PAGE}, The stochastic scaling",
            provenance="derived",
        )
        for k, (name, what) in enumerate((("mean", "Mean"), ("sd", "Standard deviation")))
    ),
    Claim(
        id="scalings-deterministic-constant",
        statement="Deviation from the averaged flow over √(η/H), five settings from one start: (max - min)/mean",
        kind="at_most",
        expected=0.1,
        measure=spread,
        source=f"{PAGE}, The deterministic scaling",
        provenance="observation",
    ),
    Claim(
        id="scalings-deterministic-power",
        statement="Deviation from the averaged flow as a power of η/H, over a factor of 64",
        kind="equal",
        expected=0.5,
        tolerance=0.03,
        measure=power,
        source=f"{PAGE}, The deterministic scaling",
        provenance="derived",
    ),
    *(
        Claim(
            id=f"scalings-witness-{name or 'mean'}",
            statement=f"{what} of q at time 1 from q = 0, d = 4, β = 1: Euler's scheme in the ambient space (diffrax)",
            kind="equal",
            expected=LAW[1.0][k],
            tolerance=(0.027, 0.016)[k],
            measure=witness(f"_{name}" if name else ""),
            source=f"{PAGE}, The equation of Itô",
            provenance="derived",
        )
        for k, (name, what) in enumerate((("", "Mean"), ("sd", "Standard deviation")))
    ),
    *(
        Claim(
            id=f"scalings-{scheme}-{equation}",
            statement=f"{what} less the mean of the {word} equation, q at time 4 from -0.9, d = 4, β = 1",
            kind="equal",
            expected=0.0,
            tolerance=4,
            tolerance_kind="sigma",
            detects=0.2,
            measure=integrator(scheme, equation, -0.9),
            source=f"{PAGE}, {section}",
            provenance="derived",
            note="the equations of Itô and of Stratonovich differ by 0.21",
        )
        for scheme, equation, what, word, section in (
            ("layers", "ito", "Layers", "Itô", "The equation of Itô"),
            ("euler", "ito", "Euler's scheme", "Itô", "The equation of Itô"),
            ("heun", "stratonovich", "Heun's scheme", "Stratonovich", "Why not Stratonovich"),
        )
    ),
    Claim(
        id="scalings-not-stratonovich",
        statement="Standard errors between layers and Heun's scheme, the mean of q at time 4 from -0.9",
        kind="at_least",
        expected=8.0,
        measure=standard_errors("layers", "heun", -0.9),
        source=f"{PAGE}, Why not Stratonovich",
        provenance="derived",
        note="16 are expected with 5000 replicas each",
    ),
    Claim(
        id="scalings-rank-full",
        statement="E|m₁|² and E⟨m₁, m₂⟩ at β = 1.5, q = 0.3 from displacements of one layer, Gaussian B",
        kind="equal",
        expected=[0.7730, 0.6850],
        tolerance=4,
        tolerance_kind="sigma",
        detects=[0.04, 0.014],
        measure=second_moments(0),
        source=f"{PAGE}, Two tokens",
        provenance="derived",
        note="B of rank one changes them by 0.04 and 0.014",
    ),
    Claim(
        id="scalings-rank-grows",
        statement="B = QᵀK/√k: second moments approach those of a Gaussian B as k = 1, 16",
        kind="property",
        measure=approach,
        source=f"{PAGE}, Heads of low rank",
        provenance="derived",
    ),
    Claim(
        id="scalings-coincident",
        statement="Tokens that start at one place: their distance after 50 layers of one or four heads, every scaling",
        kind="at_most",
        expected=1e-12,
        measure=value("apart", part="coincident"),
        source=f"{PAGE}, One layer",
        provenance="derived",
    ),
]
