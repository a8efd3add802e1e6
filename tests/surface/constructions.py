"""Transformers that are built and not trained."""

import jax
import numpy as np

from attnflow import constructions

from .samples import POINTS
from .table import Abstract, Call, ResultOf, arguments

ON_HOST = {
    "jit": "a construction is made of numbers, outside JAX",
    "float32": "it computes in float64, whatever JAX does",
}
INPUTS = np.stack([POINTS[:2, :2], POINTS[2:4, :2]])
OUTPUTS = np.stack([POINTS[:2, 1:], POINTS[1:3, 1:]])
OUTPUT = {**ON_HOST, "junk:outputs:shape": "a sequence may have one output"}
PIECE = {**ON_HOST, "float32": "it warns that numbers have fewer digits"}
NEURON = {"w": np.array([1.0, 0.5]), "a": np.array([0.5, -1.0]), "b": 0.2, "t": 0.7}
PLANE = POINTS[:, :2]
KNOTS = np.array([-1.0, 0.0, 2.0])

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
    Abstract("constructions.AbstractPiece"),
    Call("constructions.ReluPiece", arguments=arguments(**NEURON), without=PIECE),
    Call(
        "constructions.ReluPieces",
        arguments=arguments(W=POINTS[:3], A=POINTS[1:4], b=KNOTS, t=np.array([0.5, 1.0, 0.2])),
        without={**PIECE, "junk:t:0-d": "one time may stand for all"},
    ),
    Call(
        "constructions.ShearProfile",
        arguments=arguments(
            a=np.array([1.0, 0.0]),
            w=np.array([0.0, 2.0]),
            knots=KNOTS,
            values=np.array([0.0, 1.0, -1.0]),
            left_slope=0.5,
            right_slope=-0.5,
        ),
        without=PIECE,
    ),
    Call(
        "constructions.MonotonePL",
        arguments=arguments(
            e=np.array([0.6, 0.8]), x_knots=KNOTS, y_knots=np.array([-2.0, 0.5, 1.0]), left_slope=0.5, right_slope=2.0
        ),
        without={**PIECE, "junk:e:0-d": "a number is a vector of the line"},
    ),
    Call("constructions.Schedule", arguments=lambda: {"pieces": [constructions.ReluPiece(**NEURON)]}, without=PIECE),
    ResultOf("constructions.ScheduleReport", row="constructions.Schedule", part=lambda made: made.report(PLANE)),
    ResultOf("constructions.schedules.Moved", row="constructions.Schedule", part=lambda made: made.carry(PLANE)),
]
