"""Claims about the rivals, and their measurements on the results of `rivals`."""

from ... import Results
from ..._claim import derived_on
from ..blocks.claims import PAGE, every

BETAS = (0.5, 1.0, 2.0, 4.0, 8.0)
LIMIT_TIME = 40.0
SECTION = "Rivals"

claim = derived_on(PAGE, "rivals")


def pieces(way: str):
    """Pieces of one way, every draw."""
    return lambda results: [float(data["pieces"]) for _, data in results.where(part="ways", way=way)]


def distances(results: Results) -> list[float]:
    return every("ways", "away")(results)


def failures(results: Results) -> float:
    """The share of trained starts that miss a target by more than a hundredth."""
    (_, data), *_ = results.where(part="trained")
    return float((data["trained"].max("measure") > 1e-2).mean())


CLAIMS = [
    claim("softmax-pieces", "Softmax attention, N = 5, n = 20: pieces, N n + 1", 101.0, pieces("softmax"), SECTION),
    claim("generic-pieces", "Attention of rank one: pieces, N n + 2", 102.0, pieces("generic"), SECTION),
    claim(
        "distances",
        "Both ways: the largest W₂ by an adaptive solver",
        1e-6,
        distances,
        SECTION,
        kind="at_most",
    ),
    claim(
        "limits-points",
        "V = I, B = I on five samples of twenty uniform points, t = 40: the largest diameter of a measure",
        1e-6,
        every("limits", "diameter"),
        SECTION,
        kind="at_most",
    ),
    claim(
        "limits-distinct",
        "… the smallest distance of two of the limit points, which Proposition 6.2 says are different",
        1e-3,
        every("limits", "apart"),
        SECTION,
        kind="at_least",
        provenance="observation",
        note="different in theory; that a thousandth is seen is our reading",
    ),
    claim(
        "built",
        "Three pairs of eight atoms: W₂ of the built transformer by an adaptive solver",
        1e-6,
        every("trained", "built"),
        SECTION,
        kind="at_most",
    ),
    claim(
        "trained-fail",
        "… the share of trained starts that miss a target by more than 0.01",
        0.5,
        failures,
        SECTION,
        kind="at_least",
        provenance="observation",
        possible=(0.0, 1.0),
        note="of our own optimiser and its settings; another one may do better",
    ),
]
