"""One transformer for many measures, and the parts it is made of."""

import jax
import numpy as np

from attnflow import constructions

from .samples import SPHERE
from .table import Call, ResultOf, arguments

ON_HOST = {
    "jit": "a construction is made of numbers, outside JAX",
    "float32": "it needs 64 bits, and says so",
}
SOURCES = np.stack([SPHERE[:2], SPHERE[1:3]])
TARGETS = np.stack([SPHERE[2:4], SPHERE[3:5]])
ALPHA, GAMMA, OMEGA = np.eye(3)
TIME = {**ON_HOST, "float32": "its numbers are computed in float64, whatever JAX does"}

ROWS = [
    Call(
        "match_measures",
        arguments=arguments(
            sources=SOURCES, targets=TARGETS, T=1.0, eps=1e-6, method="auto", samples=50, key=jax.random.key(0)
        ),
        without={**ON_HOST, "repeats": "it tells the seconds it took; the weights repeat (test_matching.py)"},
    ),
    ResultOf("constructions.MeasureMatching", row="match_measures"),
    ResultOf("constructions.MatchingReport", row="match_measures", part=lambda made: made.report()),
    ResultOf("constructions.Verification", row="match_measures", part=lambda made: made.verify()),
    Call(
        "constructions.TransformerPiece",
        arguments=arguments(V=np.eye(3), B=0.5 * np.eye(3), W=np.eye(3), U=np.eye(3), b=np.ones(3), T=2.0),
        without=TIME,
    ),
    Call(
        "constructions.TransformerSchedule",
        arguments=lambda: {"pieces": [constructions.boost(ALPHA, 1.0)]},
        without=TIME,
    ),
    Call("constructions.boost", arguments=arguments(e=ALPHA, tau=0.5, T=2.0), without=TIME),
    Call("constructions.rank_one_attention", arguments=arguments(alpha=ALPHA, T=2.0, speed=-1.0), without=TIME),
    Call("constructions.full_averaging", arguments=arguments(d=3, T=2.0, speed=1.0), without=TIME),
    Call("constructions.softmax_attention", arguments=arguments(d=3, beta=2.0, T=2.0, speed=1.0), without=TIME),
    Call("constructions.cap_gate", arguments=arguments(z=ALPHA, k=0.5, A=2.0, T=2.0), without=TIME),
    Call(
        "constructions.hat_band", arguments=arguments(gamma=GAMMA, omega=OMEGA, eps=0.1, A=2.0, T=2.0), without=TIME
    ),
    Call("constructions.gather_orthant", arguments=arguments(clouds=SOURCES, key=jax.random.key(0)), without=ON_HOST),
    Call(
        "constructions.disentangle",
        arguments=arguments(clouds=SOURCES, method="generic", beta=1.0, key=jax.random.key(0)),
        without=ON_HOST,
    ),
    Call("constructions.isolate", arguments=arguments(clouds=SOURCES, j=0, T=8.0, diameter=1e-9), without=ON_HOST),
    Call(
        "constructions.match_atoms",
        arguments=arguments(
            clouds=np.stack([SPHERE[:2]]), targets=np.stack([SPHERE[2:4]]), key=jax.random.key(0), share=0.5
        ),
        without=ON_HOST,
    ),
]
