"""Transformers that are built and not trained."""

import jax
import numpy as np

from attnflow import constructions
from witness import weyl

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
SAMPLES = {**PIECE, "junk:x:shape": "a vector is a sample on the line"}
TRANSPORT = {**PIECE, "junk:target:shape": "a vector is a sample on the line"}
LOCATED = {**ON_HOST, "junk:location:array": "a vector may be a place", "junk:location:empty": "it is broadcast"}
ON_LINE, ON_PLANE = constructions.laws.StandardNormal(1), constructions.laws.StandardNormal(2)
PAIR = constructions.laws.GaussianMixture(np.array([-2.0, 2.0]), 0.5)
CELLS = constructions.laws.GridDensity(np.array([[1.0, 2.0], [3.0, 0.5]]))
CLOUD = weyl(240, 2) * np.array([1.0, 0.6]) + np.array([0.2, 0.0])


def bend(x):
    """A diffeomorphism of the unit square, in NumPy and in JAX."""
    return x + 0.1 * x * (1 - x) * (1 - 2 * x[:, ::-1])


MAP = {"phi": bend, "n": 4, "d": 2, "box": ([0.0, 0.0], [1.0, 1.0]), "eta": 1e-6}

ROWS = [
    Call("approximate_map", arguments=arguments(**MAP, method="auto"), without=ON_HOST),
    Call("constructions.polar_flow", arguments=arguments(**MAP), without=ON_HOST),
    Call(
        "constructions.permutation_flow",
        arguments=arguments(psi=np.array([1.0, 0.0, 3.0, 2.0]), n=2, d=2, eta=1e-6),
        without={**ON_HOST},
    ),
    ResultOf("constructions.CellFlow", row="approximate_map"),
    Call(
        "constructions.maurey_schedule",
        arguments=arguments(W=POINTS[:4, :2], A=POINTS[1:, :2], b=POINTS[:4, 2], pieces=16, key=jax.random.key(0)),
        without=ON_HOST,
    ),
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
    *(
        Call(
            "transport",
            case=method,
            arguments=arguments(
                base=base, target=target, budget=budget, method=method, condition=condition, key=jax.random.key(0)
            ),
            without={**TRANSPORT, "repeats": "it tells its seconds"},
        )
        for method, base, target, budget, condition in (
            ("knots", ON_LINE, PAIR, 9, []),
            ("auto", ON_PLANE, CLOUD, 12, []),
            ("field", ON_LINE, CLOUD, 8, [1]),
        )
    ),
    ResultOf("constructions.Transport", row="transport[knots]"),
    ResultOf("constructions.TailCheck", row="transport[knots]", part=lambda made: made.check),
    ResultOf("constructions.TransportReport", row="transport[knots]", part=lambda made: made.report(n=100)),
    ResultOf("constructions.Divergence", row="transport[knots]", part=lambda made: made.report(n=100).kl),
    Call("constructions.transport_1d", arguments=arguments(base=ON_LINE, target=PAIR, K=5), without=ON_HOST),
    Call("constructions.optimal_knots", arguments=arguments(base=ON_LINE, target=PAIR, K=5), without=ON_HOST),
    ResultOf("constructions.Knots", row="constructions.optimal_knots"),
    Call(
        "constructions.switching_flow",
        arguments=arguments(
            velocity=lambda t, x: -x,
            sampler=lambda t, n, *, key: jax.random.normal(key, (n, 2)),
            n_t=1,
            m=3,
            method="strang",
            condition=(),
            refine=0,
            key=jax.random.key(0),
        ),
        without=ON_HOST,
    ),
    Call(
        "constructions.ridge_gaussianize",
        arguments=arguments(target=CLOUD, K=3, iters=1, key=jax.random.key(0)),
        without=TRANSPORT,
    ),
    Call(
        "constructions.grid_transport",
        arguments=arguments(density=CELLS, n=2, low=np.zeros(2), high=np.ones(2)),
        without={**TRANSPORT, "nonfinite:n": "whole numbers are finite"},
    ),
    Call("constructions.tail_check", arguments=arguments(base=ON_LINE, target=PAIR), without=ON_HOST),
    Abstract("constructions.laws.AbstractLaw"),
    Call(
        "constructions.laws.GaussianMixture",
        arguments=arguments(means=PLANE[:3], sds=np.array([0.5, 1.0, 2.0]), weights=np.array([0.2, 0.3, 0.5])),
        without={
            **PIECE,
            "junk:means:shape": "a vector is a mixture on the line",
            "junk:sds:0-d": "one may stand for all",
        },
    ),
    Call("constructions.laws.StandardNormal", arguments=arguments(d=2), without=ON_HOST),
    Call("constructions.laws.Student", arguments=arguments(nu=3.0, d=2, location=0.5, scale=2.0), without=LOCATED),
    Call("constructions.laws.Cauchy", arguments=arguments(location=0.5, scale=2.0), without=LOCATED),
    Call("constructions.laws.Laplace", arguments=arguments(location=0.5, scale=2.0), without=LOCATED),
    Call("constructions.laws.UniformBox", arguments=arguments(low=np.zeros(2), high=np.ones(2)), without=PIECE),
    Call(
        "constructions.laws.GridDensity",
        arguments=arguments(weights=np.array([[1.0, 2.0], [3.0, 0.5]]), low=np.zeros(2), high=np.ones(2)),
        without=PIECE,
    ),
    Call("constructions.laws.Samples", arguments=arguments(x=CLOUD), without=SAMPLES),
    Call(
        "constructions.laws.FromDensity",
        arguments=arguments(
            log_density=lambda x: -(x**2).sum(axis=1),
            d=2,
            sample=lambda n, *, key: jax.random.normal(key, (n, 2)),
            box=(np.zeros(2), np.ones(2)),
            normalized=True,
        ),
        without=ON_HOST,
    ),
    ResultOf("constructions.schedules.Moved", row="constructions.Schedule", part=lambda made: made.carry(PLANE)),
]
