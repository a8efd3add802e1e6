"""Scenes of arXiv:2411.04551."""

from . import Scene

SCENES = [
    Scene(
        "words",
        "One transformer, four letters",
        "Every letter is a measure by itself, and all follow the same weights: attention moves the letters apart, and "
        "each token walks home along a band that misses all others. Nothing was trained: every weight was computed.",
        "measure-to-measure",
        "measure-matching",
        {
            "model": "words",
            "init": "letters",
            "n": 80,
            "d": 3,
            "dt": 0.0625,
            "speed": 4,
            "colour": "index",
            "trails": False,
            "yaw": 0.0,
            "pitch": 0.0,
        },
        order=14,
    ),
]
