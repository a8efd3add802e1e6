"""Claims about random matrices, and their measurements on the results of `random_matrices`."""

from ... import Claim, Results
from .ensembles import ENSEMBLES, expected_square

CONTROL_BETA = 4.0
SIZE_DIMENSION = 32  # of the claim on the size of V
SIZE_DETECTS = [0.1 * expected_square(name, SIZE_DIMENSION) for name in ENSEMBLES]
THEORY = "docs/theory/sphere-theorems.md"


def control(results: Results) -> tuple[float, float]:
    """The fraction of pairs that have met at t = 7; its standard error with that of the expected value."""
    data = results.select(part="control").isel(beta=0).sel(time=7.0)
    theirs = {32: 0.0129, 128: 0.0133}[results.where(part="control").cells[0]["d"]]
    return float(data["probability"]), float((data["stderr"] ** 2 + theirs**2) ** 0.5)


def sizes(results: Results) -> tuple[list[float], list[float]]:
    data = results.select(part="size")
    return data["mean"].values.tolist(), data["stderr"].values.tolist()


def least_change(name: str, sign: int):
    """The least change of ± log E_B between saved times, over all draws."""

    def measure(results: Results) -> float:
        return float((sign * results.select(part="exact")[name].diff("time")).min())

    return measure


def whole_change(results: Results) -> list[float]:
    """The least rise of log E_B over the whole run for V = B, and the least fall for V = −B."""
    data = results.select(part="exact")
    rise, fall = (data[name].isel(time=-1) - data[name].isel(time=0) for name in ("goe_ascent", "goe_descent"))
    return [float(rise.min()), float((-fall).min())]


def greatest(variable: str, part: str = "exact"):
    def measure(results: Results) -> float:
        return float(abs(results.select(part=part)[variable]).max())

    return measure


def least(variable: str, part: str = "exact"):
    def measure(results: Results) -> float:
        return float(results.select(part=part)[variable].min())

    return measure


def _control_claim(scale: str, d: int, expected: float) -> Claim:
    return Claim(
        id=f"random-control-d{d}",
        statement=f"The same program with Q = K = V = I, n = 32, d = {d}, β = 4: fraction of pairs that met by t = 7",
        kind="equal",
        expected=expected,
        tolerance=4.5,
        tolerance_kind="sigma",
        detects=0.2,
        possible=(0, 1),
        measure=control,
        source=f"{THEORY}, A map to compare with",
        provenance="derived",
        note="standard errors of ours and of the expected value combined; 0.2 is a jump five per cent earlier or later",
        scales=(scale,),
    )


CLAIMS = [
    _control_claim("quick", 32, 0.4803),
    _control_claim("full", 128, 0.6307),
    Claim(
        id="random-size",
        statement=f"E|Vx|² for a unit vector x, d = {SIZE_DIMENSION}: " + ", ".join(ENSEMBLES),
        kind="equal",
        expected=[expected_square(name, SIZE_DIMENSION) for name in ENSEMBLES],
        tolerance=4.5,
        tolerance_kind="sigma",
        detects=SIZE_DETECTS,
        measure=sizes,
        source=f"{THEORY}, How large V is",
        provenance="derived",
        note="it must detect ten per cent; a forgotten factor of two would be ten times as much",
    ),
    Claim(
        id="random-ascent",
        statement="B GOE, V = B/√(d+1): log E_B never falls, least change between saved times over all draws",
        kind="at_least",
        expected=0.0,
        tolerance=1e-9,
        measure=least_change("goe_ascent", 1),
        source="arXiv:2312.10794, Section 3",
        provenance="theorem",
        note="the factor of V changes the clock alone",
    ),
    Claim(
        id="random-descent",
        statement="B GOE, V = −B/√(d+1): log E_B never rises, least fall between saved times over all draws",
        kind="at_least",
        expected=0.0,
        tolerance=1e-9,
        measure=least_change("goe_descent", -1),
        source="arXiv:2312.10794, Section 3",
        provenance="theorem",
    ),
    Claim(
        id="random-energy-moves",
        statement="The same runs: log E_B rises for V = B and falls for V = −B over the whole run, in every draw",
        kind="at_least",
        expected=0.1,
        measure=whole_change,
        source="arXiv:2312.10794, Section 3",
        provenance="observation",
        note="that it moves is the theorem's; 0.1 is our threshold, far above round-off",
    ),
    Claim(
        id="random-clock",
        statement="V = GGᵀ/√d at time t/√d is V = GGᵀ/d at time t: greatest difference of coordinates, all draws",
        kind="at_most",
        expected=1e-7,
        measure=greatest("clock_error"),
        source=f"{THEORY}, How large V is",
        provenance="derived",
    ),
    Claim(
        id="random-consensus-motion",
        statement="Tokens that met move as e^(tV)x/|e^(tV)x|, for all B and β: greatest distance, three ensembles",
        kind="at_most",
        expected=1e-8,
        measure=greatest("consensus_error"),
        source=f"{THEORY}, Tokens that have met, with a matrix V",
        provenance="derived",
        note="tokens 10⁻⁶ apart, so their mean is off by the square of that, times a factor that grows with time",
    ),
    Claim(
        id="random-consensus-rate",
        statement="Distances of tokens that nearly met change like 1/|e^(tV)x|: greatest relative difference",
        kind="at_most",
        expected=1e-4,
        measure=greatest("rate_error"),
        source=f"{THEORY}, Tokens that have met, with a matrix V",
        provenance="derived",
        note="V Ginibre, positive semi-definite, and equal to a GOE matrix B; the next term is of the order of the "
        "distance, 10⁻⁶",
    ),
    Claim(
        id="random-right-multiplication",
        statement="Rows multiplied by V from the right, twenty steps as the authors take them, are ours with Vᵀ",
        kind="at_most",
        expected=1e-12,
        measure=greatest("transposed", part="step"),
        source=f"{THEORY}, Rows multiplied from the right",
        provenance="derived",
    ),
    Claim(
        id="random-right-multiplication-differs",
        statement="The same with V in place of Vᵀ, V not symmetric: another motion, greatest difference",
        kind="at_least",
        expected=0.01,
        measure=least("as_given", part="step"),
        source=f"{THEORY}, Rows multiplied from the right",
        provenance="observation",
        note="0.01 is our threshold, far above round-off",
    ),
]
