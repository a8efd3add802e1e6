"""Scenes of arXiv:2410.06833."""

from . import Scene

_PAPER = "metastability"

SCENES = [
    Scene(
        "metastability",
        "Clusters that seem to rest",
        "At large β clusters form at once and then hardly move: they wait exponentially long before they meet. "
        "The energy stands on a plateau whose height is the sum of the squared masses.",
        _PAPER,
        "metastability-staircases",
        {"beta": 30.0, "n": 200, "d": 3, "seed": 7, "dt": 0.05, "speed": 2},
        order=5,
    ),
    Scene(
        "staircase",
        "The staircase",
        "Time is logarithmic here: the last merger waits a million million times longer than the first ones. "
        "Every merger is one stair of the energy, from one sum of squared masses to the next.",
        _PAPER,
        "metastability-staircases",
        {"beta": 16.0, "n": 32, "d": 2, "seed": 3, "long": True},
        order=6,
    ),
]
