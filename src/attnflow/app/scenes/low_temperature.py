"""Scenes of arXiv:2605.10931."""

from . import Scene

SCENES = [
    Scene(
        "low-temperature",
        "Gather, wait, leave",
        "At large β tokens first gather at two opposite points, left and right, which keys, queries and values choose "
        "together. There they seem to rest; then they leave for top and bottom, which the value matrix prefers.",
        "low-temperature",
        "low-temperature-phases",
        {"beta": 64.0, "n": 400, "d": 2, "seed": 0, "Q": "3 0; 0 1", "V": "1 0; 0 2", "dt": 0.05},
        order=9,
    ),
]
