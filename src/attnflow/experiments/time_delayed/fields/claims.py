"""Claims about spiral waves, and their measurements on the results of `fields`."""

from ... import Results
from ..._claim import derived_on
from ..measured import PAGE, every, least, median

SNAPSHOTS, TRAIN = 601, 300
DELAYS, RANK = 10, 4
SECTION = "Reaction and diffusion"

claim = derived_on(PAGE, "fields")


def energy(results: Results) -> float:
    return float(results.select(part="modes")["energy"][RANK - 1])


def against_linear(results: Results) -> float:
    """The error of the automatic choice, the median of seeds, over that of TD-DMD with as many delays."""
    linear = results.select(part="linear", delays=DELAYS, rank=RANK)
    return median("rollout", part="network", recipe="auto")(results) / float(linear["rollout"])


CLAIMS = [
    claim(
        "energy",
        "The part of the energy that four modes keep",
        0.9980,
        energy,
        SECTION,
        0.0005,
        possible=(0.0, 1.0),
    ),
    claim(
        "projection",
        "The error of the projection on four modes, on the test part",
        0.102,
        every("projection", part="modes"),
        SECTION,
        0.002,
    ),
    claim(
        "linear",
        "TD-DMD, 10 delays: NRMSE of 301 steps of the coefficients",
        2e-2,
        every("rollout", part="linear", delays=DELAYS, rank=RANK),
        SECTION,
        kind="at_most",
        provenance="observation",
    ),
    claim(
        "noise",
        "TD-TF alone, with input noise 0.03: the best seed",
        0.25,
        least("rollout", part="network", recipe="noise"),
        SECTION,
        kind="at_most",
        provenance="observation",
    ),
    claim(
        "auto",
        "TD-TF that chooses by what is held back: its error over that of TD-DMD",
        1.2,
        against_linear,
        SECTION,
        kind="at_most",
        provenance="observation",
    ),
]
