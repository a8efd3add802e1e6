"""The potentials of the experiments: one neuron in the plane, in the direction of angle 0."""

from typing import Any

# I_0(1) and I_1(1), from tables of Bessel functions.
I0, I1 = 1.2660658777520084, 0.5651591039924851
E = 2.718281828459045

# case: activation, length of a, b, omega, beta
CASES = {
    "relu": ("relu", 1.0, 0.0, 3.0, 1.0),
    "relu-minus": ("relu", 1.0, 0.0, -3.0, 1.0),
    "relu-bias": ("relu", 1.0, -0.5, 3.0, 1.0),
    "tanh": ("tanh", 3.0, 0.0, 1.0, 1.0),
    "gelu": ("gelu", 2.0, 0.0, 2.0, 1.0),
    "exp-long": ("exp", 1.5, 0.0, 0.3 / E**1.5, 1.0),
    "relu-cold": ("relu", 1.0, 0.0, 3.0, 4.0),
    "tanh-cold": ("tanh", 3.0, 0.0, 1.0, 4.0),
    "linear": ("linear", 1.0, 0.0, I1 / 2, 1.0),
    "linear-large": ("linear", 1.0, 0.0, 2 * I1, 1.0),
    "exp-short": ("exp", 0.5, 0.0, 0.3 / E**0.5, 1.0),
}
NAMES = {
    "relu": "ReLU, ω = 3",
    "relu-minus": "ReLU, ω = −3",
    "relu-bias": "ReLU, ω = 3, b = −1/2",
    "tanh": "tanh(3z)",
    "gelu": "2 GELU(2z)",
    "exp-long": "exp(1.5 z)",
    "relu-cold": "ReLU, ω = 3, β = 4",
    "tanh-cold": "tanh(3z), β = 4",
    "linear": "linear potential, half of the threshold",
    "linear-large": "linear potential, twice the threshold",
    "exp-short": "exp(z/2)",
}
ATOMIC = ("relu", "relu-minus", "relu-bias", "tanh", "gelu", "relu-cold", "tanh-cold", "linear-large")
DENSITIES = ("linear", "exp-short")
VERDICTS = ("atomic", "density", "undecided")
PAGE = "docs/theory/perceptron.md"


def perceptron(case: str) -> tuple[Any, float]:
    """The perceptron of a case, and beta."""
    import attnflow as af

    activation, length, b, omega, beta = CASES[case]
    return af.models.Perceptron([[length, 0.0]], b, omega, activation), beta


def external(case: str, theta: Any) -> Any:
    """The potential U of a case at some angles, in NumPy."""
    import numpy as np

    from attnflow.models.activations import named

    activation, length, b, omega, _ = CASES[case]
    return omega * named(activation).primitive(length * np.cos(theta) + b)
