"""Scenes of arXiv:2605.09213 and arXiv:2411.04990."""

from . import Scene

SCENES = [
    Scene(
        "causal",
        "The past draws together",
        "Every token sees only those before it: the first one never moves, and early tokens that are far from all "
        "others, the strong Rényi centers, hardly do. The rest gather at them, and clusters merge later one by one.",
        "causal",
        "causal-clustering",
        {"beta": 64.0, "n": 200, "d": 2, "pairs": "causal", "seed": 1, "dt": 0.05},
        order=12,
    ),
]
