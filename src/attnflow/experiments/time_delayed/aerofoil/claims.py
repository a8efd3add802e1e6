"""Claims about the pitching aerofoil, and their measurements on the results of `aerofoil`."""

from ... import Results
from ..._claim import derived_on
from ..measured import PAGE

DELAYS, TWIN = 16, 4
TESTS = ("A", "B")
LIFT, DRAG = 0, 1
SECTION = "A pitching aerofoil"

claim = derived_on(PAGE, "aerofoil")


def twin_lift(results: Results) -> list[float]:
    """Lift without stall, both tests."""
    data = results.select(part="twin")
    return [float(data[f"error_{test}"][LIFT]) for test in TESTS]


def network(output: int, test: str = "A"):
    """The median over seeds."""
    return lambda results: float(results.select(part="network")[f"error_{test}"].median("draw")[output])


def drag_ratio(results: Results) -> float:
    """Error in drag of TD-DMD over the median one of the network, test A."""
    return float(results.select(part="linear")["error_A"][DRAG]) / network(DRAG)(results)


CLAIMS = [
    claim(
        "twin",
        "Without stall: TD-DMD with inputs, 4 delays, NRMSE of lift over the whole test, which is rounding alone",
        1e-8,
        twin_lift,
        SECTION,
        kind="at_most",
    ),
    claim(
        "lift",
        "With stall, test A: TD-TF, NRMSE of lift, the median seed",
        0.12,
        network(LIFT),
        SECTION,
        kind="at_most",
        provenance="observation",
    ),
    claim(
        "drag",
        "… of drag",
        0.15,
        network(DRAG),
        SECTION,
        kind="at_most",
        provenance="observation",
    ),
    claim(
        "ratio",
        "… the error in drag of TD-DMD over that of TD-TF",
        3.0,
        drag_ratio,
        SECTION,
        kind="at_least",
        provenance="observation",
    ),
]
