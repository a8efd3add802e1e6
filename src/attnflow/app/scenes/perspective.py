"""Scenes of arXiv:2312.10794."""

from . import Scene

_PAPER = "perspective"

SCENES = [
    Scene(
        "clusters",
        "Tokens become clusters",
        "Three hundred random tokens on the sphere attend to one another, and within moments they gather in a few "
        "clusters. The energy never falls: it climbs in steps, and each step is a merger.",
        _PAPER,
        "perspective-energy",
        {"beta": 12.0, "n": 300, "d": 3, "seed": 4, "dt": 0.05},
        order=1,
    ),
    Scene(
        "circle",
        "Clusters on the circle",
        "On the circle the first clusters are as many as the crests of the wave that grows fastest, about √(2β). "
        "Move β and watch their number change.",
        _PAPER,
        "perspective-circle",
        {"beta": 16.0, "n": 200, "d": 2, "seed": 1, "dt": 0.05},
        order=2,
    ),
    Scene(
        "equiangular",
        "One equation for all pairs",
        "Tokens that begin orthonormal keep all their inner products equal, so that the whole system is one scalar "
        "equation. The measured energy lies on its curve to the last digit.",
        _PAPER,
        "perspective-equiangular",
        {"beta": 3.0, "n": 32, "d": 32, "init": "orthonormal", "dt": 0.02, "axes": "mean"},
        order=3,
    ),
    Scene(
        "dimension",
        "High dimension, one cluster",
        "In dimension 128 random tokens are almost orthogonal, and they all meet in one point. Their inner products "
        "move together, a narrow hill that follows the equiangular curve.",
        _PAPER,
        "perspective-map",
        {"beta": 2.0, "n": 128, "d": 128, "seed": 2, "dt": 0.02},
        order=4,
    ),
    Scene(
        "values",
        "When values turn",
        "A value matrix that turns by a quarter drives every token around the sphere while attention draws it in. "
        "The flow is no gradient any more, and nothing obliges the energy to climb.",
        _PAPER,
        "perspective-random",
        {"beta": 4.0, "n": 240, "d": 3, "seed": 3, "V": "0.35 -1 0; 1 0.35 0; 0 0 0.35", "dt": 0.05},
        order=8,
    ),
]
