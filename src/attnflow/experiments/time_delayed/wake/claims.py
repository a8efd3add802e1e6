"""Claims about the model of a wake, and their measurements on the results of `wake`."""

from ... import Results
from ..._claim import derived_on
from ..measured import PAGE, median

DELAYS, STEPS = 5, 1000
LOSSES = ("plain", "relative")
SECTION = "A wake"

claim = derived_on(PAGE, "wake")


def true_late(results: Results) -> float:
    return float(results.select(part="network", loss="plain")["true_late"])


def plain_over_relative(results: Results) -> float:
    """The ratio of median errors."""
    plain, relative = (median("rollout", part="network", loss=loss)(results) for loss in ("plain", "relative"))
    return plain / relative


CLAIMS = [
    claim("cycle", "The system: x² + y² at the end, on its cycle, −μ/A = 1", 1.0, true_late, SECTION, 1e-3),
    claim(
        "relative",
        "TD-TF, relative loss: NRMSE of 1000 steps from a start of 0.01, the median seed",
        0.2,
        median("rollout", part="network", loss="relative"),
        SECTION,
        kind="at_most",
        provenance="observation",
    ),
    claim(
        "plain",
        "… the error with the plain loss over that with the relative one, medians",
        3.0,
        plain_over_relative,
        SECTION,
        kind="at_least",
        provenance="observation",
    ),
]
