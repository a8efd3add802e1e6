"""Scenes of arXiv:2412.09080."""

from . import Scene

SCENES = [
    Scene(
        "modes",
        "Clusters begin as modes",
        "The first force on a token climbs a kernel density of the tokens, the inner curve, and its modes attract. "
        "On the circle their expected number grows like √(3β/2); compare it with the clusters that form.",
        "modes",
        "modes-circle",
        {"beta": 100.0, "n": 500, "d": 2, "seed": 5, "dt": 0.02},
        order=7,
    ),
]
