"""Claims about the need for attention, and their measurements on the results of `attention`."""

from typing import Any

from ... import Results
from ..._claim import derived_on
from ..blocks.claims import PAGE, every

FRACTION, DISTANCE = 0.5, 2.0
FRACTIONS = (0.1, 0.3, 0.5, 0.7, 0.9)
SCHEDULES = 20
SECTION = "Why attention is needed"

claim = derived_on(PAGE, "attention")


def bound(fraction: Any) -> Any:
    """What the squared distances sum to at least without attention, in any space."""
    return fraction * DISTANCE**2 / 2


def sharp_bound(fraction: Any) -> Any:
    """The same on the sphere."""
    return fraction * (4 - 2 * (4 - DISTANCE**2) ** 0.5)


def larger(part: str, **cell: Any):
    """The larger distance of the two measures, for every draw."""
    return lambda results: results.select(part=part, **cell)["away"].max("measure").values.reshape(-1).tolist()


def over_bound(results: Results) -> list[float]:
    """The sum of the squared distances without attention less the bound, as built, for every fraction."""
    rows = [(sharp_bound(cell["fraction"]), data) for cell, data in results.where(part="neurons")]
    return [float((data["away"] ** 2).sum()) - least for least, data in rows]


CLAIMS = [
    claim(
        "random",
        "V = 0, half of the atoms in common, antipodal points: the larger W₂ of 20 schedules by chance",
        bound(FRACTION) ** 0.5 / 2**0.5,
        larger("random", draws=SCHEDULES),
        SECTION,
        1e-9,
        kind="at_least",
    ),
    claim(
        "random-sphere",
        "… the bound on the sphere, where an atom is as far from two antipodal points together as they are apart",
        (sharp_bound(FRACTION) / 2) ** 0.5,
        larger("random", draws=SCHEDULES),
        SECTION,
        1e-9,
        kind="at_least",
    ),
    claim(
        "trained",
        "… of neurons trained by gradient descent, every start",
        (sharp_bound(FRACTION) / 2) ** 0.5,
        lambda results: [v for _, data in results.where(part="trained") for v in larger_of(data)],
        SECTION,
        1e-9,
        kind="at_least",
    ),
    claim(
        "sharp",
        "Fractions f = 0.1 to 0.9 in common, bands and gates alone: the sum of squared distances less 4f",
        0.0,
        over_bound,
        SECTION,
        1e-6,
    ),
    claim(
        "neurons",
        "… pieces of these schedules that attend",
        0.0,
        every("neurons", "attends"),
        SECTION,
    ),
    claim(
        "built",
        "With attention, every fraction: W₂ of both measures by an adaptive solver",
        1e-6,
        every("built", "away"),
        "Points as targets",
        kind="at_most",
    ),
    claim(
        "built-pieces",
        "… pieces: one of attention, two bands, and a gate, since the targets are antipodal",
        4.0,
        every("built", "pieces"),
        "Counts",
    ),
]


def larger_of(data: Any) -> list[float]:
    return data["away"].max("measure").values.tolist()
