"""Claims about the sum of two sinusoids, and their measurements on the results of `signals`."""

import math

from ... import Results
from ..._claim import derived_on
from ..measured import PAGE, every, least

TRAIN, STEPS = 1000, 1000
DELAYS = (4, 8, 16, 32)
SHORT, LONG = 16, 40
SECTION = "Two sinusoids"

claim = derived_on(PAGE, "signals")


def first_feasible(results: Results) -> float:
    """The shortest window whose residual is rounding."""
    data = results.select(part="feasible")
    fits = data["window"].values[data["residual"].values < 1e-9]
    return float(fits.min())


CLAIMS = [
    claim(
        "frequencies",
        "TD-DMD, 8 delays: the angular frequencies, 1 and √5",
        [1.0, math.sqrt(5)],
        every("frequencies", part="linear", delays=8),
        SECTION,
        1e-8,
    ),
    claim(
        "linear",
        "TD-DMD, 4 to 32 delays: NRMSE of 1000 steps, which is rounding alone",
        1e-8,
        every("rollout", part="linear"),
        SECTION,
        kind="at_most",
    ),
    claim(
        "feasible",
        "Static shared values: the shortest window that can continue both tones",
        31.0,
        first_feasible,
        SECTION,
    ),
    claim(
        "short",
        "TD-TF with shared values, 16 delays: the least NRMSE of 1000 steps, of all seeds",
        0.5,
        least("rollout", part="network", delays=SHORT, values="shared"),
        SECTION,
        kind="at_least",
        provenance="observation",
        note="static weights cannot continue the signal from such a window; moving ones might",
    ),
    claim(
        "long",
        "… 40 delays: the least of all seeds",
        0.05,
        least("rollout", part="network", delays=LONG, values="shared"),
        SECTION,
        kind="at_most",
        provenance="observation",
    ),
    claim(
        "linear-part",
        "TD-TF with the linear part, 32 delays: NRMSE of 1000 steps",
        1e-7,
        every("rollout", part="linear part"),
        SECTION,
        kind="at_most",
    ),
]
