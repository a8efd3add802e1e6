"""Claims about the parts of a schedule, and their measurements on the results of `blocks`."""

import math

from ... import Results
from ..._claim import derived_on
from ..._measures import value

PAGE = "docs/theory/measure-to-measure.md"
FORMS = (
    "boost",
    "rank one",
    "rank one reversed",
    "cap gate",
    "cap gate outwards",
    "band",
    "band backwards",
    "averaging",
    "softmax",
)
DIMENSIONS = (3, 5)

claim = derived_on(PAGE, "blocks")


def every(part: str, variable: str):
    """A variable of all cells of a part, in order."""
    return lambda results: [float(v) for _, data in results.where(part=part) for v in data[variable].values.reshape(-1)]


def from_the_rim(results: Results) -> list[float]:
    """The angle of the farthest atom after the first boost, and after the second, less the radii of Lemma 3.2."""
    found = []
    for cell, data in results.where(part="gather"):
        second = min(0.3, 0.9 * math.asin(cell["d"] ** -0.5))
        found += [float(data["first"]) - math.pi / 8, float(data["last"]) - second]
    return found


CLAIMS = [
    claim(
        "closed-forms",
        "Nine pieces in d = 3 and 5: the largest distance of a token from where an adaptive solver takes it",
        0.0,
        every("closed forms", "error"),
        "Closed forms",
        1e-9,
    ),
    claim(
        "log-det",
        "The logarithm of the determinant of a boost, −(d − 1) log(cosh τ + s sinh τ), less that by differences",
        0.0,
        every("closed forms", "log_det"),
        "Closed forms",
        1e-6,
    ),
    claim(
        "gate-sign",
        "The shares of points inside and outside of the ball B(z, R) that the gate U = 1zᵀ, b = −cos R moves",
        [1.0, 0.0],
        lambda results: [value(name, part="gate")(results) for name in ("inside", "outside")],
        "Closed forms",
    ),
    claim(
        "gather-radii",
        "After the two boosts: the angle of the farthest atom less π/8, and less the radius of the second",
        0.0,
        from_the_rim,
        "Gather",
        1e-7,
    ),
    claim(
        "gather-orthant",
        "… and the least coordinate of an atom",
        0.0,
        every("gather", "least"),
        "Gather",
        kind="at_least",
    ),
    claim(
        "lemma-pieces",
        "Lemma 3.3 in d = 3: pieces, 2(d − 1) + 1",
        5.0,
        every("lemma", "pieces"),
        "Isolate, cluster, reverse",
    ),
    claim(
        "lemma-point",
        "… the diameter of the measure that is to become a point",
        1e-6,
        every("lemma", "diameter"),
        "Isolate, cluster, reverse",
        kind="at_most",
    ),
    claim(
        "lemma-others",
        "… the largest distance of an atom of the others from where it began",
        1e-6,
        every("lemma", "restored"),
        "Isolate, cluster, reverse",
        kind="at_most",
    ),
]
