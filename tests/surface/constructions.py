"""Transformers that are built and not trained."""

import jax
import numpy as np

from .samples import POINTS
from .table import Call, ResultOf, arguments

ON_HOST = {
    "jit": "a construction is made of numbers, outside JAX",
    "float32": "it computes in float64, whatever JAX does",
}
INPUTS = np.stack([POINTS[:2, :2], POINTS[2:4, :2]])
OUTPUTS = np.stack([POINTS[:2, 1:], POINTS[1:3, 1:]])
OUTPUT = {**ON_HOST, "junk:outputs:shape": "a sequence may have one output"}

ROWS = [
    Call(
        "interpolate",
        arguments=arguments(inputs=INPUTS, outputs=OUTPUTS, mode="auto", key=jax.random.key(0)),
        without=OUTPUT,
    ),
    ResultOf("constructions.InterpolatingTransformer", row="interpolate"),
    Call(
        "constructions.interpolation_classifier",
        arguments=arguments(inputs=INPUTS, labels=[0, 1], mode="auto", key=jax.random.key(0)),
        without=ON_HOST,
    ),
    ResultOf("constructions.InterpolatingClassifier", row="constructions.interpolation_classifier"),
]
