"""Sums over pairs, and the small objects that say which."""

import jax.numpy as jnp
import numpy as np

import attnflow as af

from .samples import MATRIX, OTHERS, POINTS, SYMMETRIC, WEIGHTS
from .table import Abstract, Call, arguments, same

OBJECT = {"jit": "it makes an object; what that computes is traced in the rows of `pair_sums`"}
LOG_W = np.log(WEIGHTS)
MINUS_INFINITY = {
    "nonfinite:log_w:-inf": "a log weight of minus infinity removes a key",
    "junk:values:0-d": "one number stands for a column of it",
}


def sums(**more):
    return lambda: {"score": af.pairsums.Inner(2.0), "x": OTHERS, "y": POINTS, "values": POINTS, "log_w": LOG_W, **more}


def nearest_keys(**more):
    return lambda: {
        "score": af.pairsums.SquaredDistance(1.5),
        "x": OTHERS,
        "y": POINTS,
        "values": POINTS,
        "log_w": LOG_W,
        **more,
    }


ROWS = [
    Abstract("pairsums.AbstractScore"),
    Abstract("pairsums.AbstractPairs"),
    Abstract("pairsums.AbstractPairSumEngine"),
    Abstract("pairsums.AbstractReduction"),
    *(
        Call(
            "pairsums.pair_sums",
            case=kernel,
            arguments=sums(kernel=kernel),
            traced=("x", "y", "values", "log_w"),
            points=("x", "y", "values"),
            permutation=lambda out, order: out[order],
            rotation=lambda out, turn: out @ turn.T if out.ndim == 2 else out,
            without={
                **MINUS_INFINITY,
                "translation": "inner products see the origin",
                "scale": "the exponential is not homogeneous",
                "splitting": "weights belong to keys, and are logarithms",
            },
        )
        for kernel in ("dense", "native")
    ),
    Call(
        "pairsums.pair_sums",
        case="distances",
        arguments=nearest_keys(),
        traced=("x", "y", "values", "log_w"),
        points=("x", "y", "values"),
        permutation=lambda out, order: out[order],
        rotation=lambda out, turn: out @ turn.T if out.ndim == 2 else out,
        translation=lambda out, vector: out + vector if out.ndim == 2 else out,
        without={
            **MINUS_INFINITY,
            "scale": "the exponential is not homogeneous",
            "splitting": "weights belong to keys, and are logarithms",
        },
    ),
    Call(
        "pairsums.pair_weights",
        arguments=lambda: {"score": af.pairsums.Inner(2.0), "x": OTHERS, "y": POINTS, "log_w": LOG_W},
        traced=("x", "y", "log_w"),
        points=("x", "y"),
        permutation=lambda out, order: out[order],
        rotation=same,
        without={
            **MINUS_INFINITY,
            "translation": "inner products see the origin",
            "scale": "the exponential is not homogeneous",
            "splitting": "weights belong to keys, and are logarithms",
        },
    ),
    Call(
        "pairsums.weight_matrix",
        arguments=lambda: {"pairs": af.Causal(slope=0.5), "n": 4},
        without={"jit": "a whole number"},
    ),
    Call("pairsums.Inner", arguments=arguments(beta=2.0, B=SYMMETRIC), without=OBJECT),
    Call("pairsums.SquaredDistance", arguments=arguments(g=2.0, Q=MATRIX, K=SYMMETRIC), without=OBJECT),
    Call("pairsums.Groups", arguments=lambda: {"labels": np.array([0, 0, 1])}, without=OBJECT),
    Call("pairsums.Groups", case="count", arguments=arguments(count=4), without=OBJECT),
    Call("pairsums.Full", arguments=lambda: {"skip": np.arange(5)}, without=OBJECT),
    Call("Causal", arguments=arguments(slope=0.5), without=OBJECT),
    Call("pairsums.Positional", arguments=arguments(weights=np.array([1.0, 0.5, 0.25])), without=OBJECT),
    Call("pairsums.Hardmax", arguments=arguments(tol=0.1), without=OBJECT),
    Call(
        "pairsums.Pointwise",
        arguments=lambda: {"phi": jnp.tanh},
        without={**OBJECT, "float32": "it has no numbers"},
    ),
    Call("pairsums.Total", arguments=arguments(shift=1.0, factor=2.0), without=OBJECT),
]
