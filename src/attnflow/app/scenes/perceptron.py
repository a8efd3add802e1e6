"""Scenes of arXiv:2601.21366."""

from . import Scene

SCENES = [
    Scene(
        "atoms",
        "A neuron makes atoms",
        "These tokens repel one another, and yet the potential of one ReLU neuron gathers them in a few points "
        "while the energy falls. Set ω to 0: without the neuron they only spread out, and no atoms form.",
        "perceptron",
        "perceptron-flow",
        {
            "model": "perceptron-relu",
            "beta": 1.0,
            "neurons": 1,
            "omega": 3.0,
            "bias": 0.0,
            "repulsive": True,
            "n": 100,
            "d": 2,
            "seed": 0,
            "dt": 0.2,
            "speed": 4,
        },
        order=10,
    ),
]
