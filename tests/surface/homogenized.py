"""Stacks of random layers, reduced."""

import jax
import numpy as np

from .samples import SPHERE, WEIGHTS
from .table import Call, ResultOf, arguments

ON_HOST = {"jit": "NumPy and SciPy compute it: values cannot be traced"}
COLDEST = {**ON_HOST, "nonfinite:beta:inf": "an infinite beta is allowed: the limit of hard attention"}
DRAWN = {"jit": "it draws matrices and keeps their means", "float32": "other bits draw other numbers"}

ROWS = [
    Call(
        "reductions.homogenized.collapse_flow",
        arguments=arguments(ts=np.array([0.0, 1.0]), n=8, beta=1.0, q0=0.1),
        without=COLDEST,
    ),
    Call(
        "reductions.homogenized.collapse_rate",
        arguments=arguments(q=0.3, n=8, beta=1.0),
        elementwise=("q",),
        without=COLDEST,
    ),
    Call(
        "reductions.homogenized.collapse_time", arguments=arguments(level=0.9, n=8, beta=1.0, q0=0.1), without=COLDEST
    ),
    Call(
        "reductions.homogenized.collisions",
        arguments=arguments(q=0.3, n=8, beta=1.0),
        elementwise=("q",),
        without=COLDEST,
    ),
    ResultOf("reductions.homogenized.Collisions", row="reductions.homogenized.collisions"),
    Call(
        "reductions.homogenized.covariance",
        arguments=lambda: {"x": SPHERE, "beta": 1.0, "key": jax.random.key(0), "samples": 16},
        without=DRAWN,
    ),
    ResultOf("reductions.homogenized.SampledCovariance", row="reductions.homogenized.covariance"),
    Call(
        "reductions.homogenized.mean_field_covariance",
        arguments=lambda: {
            "x": SPHERE[0],
            "y": SPHERE[1],
            "beta": 1.0,
            "points": SPHERE,
            "weights": WEIGHTS,
            "key": jax.random.key(0),
            "samples": 16,
        },
        without=DRAWN,
    ),
    Call(
        "reductions.homogenized.two_token_covariance",
        arguments=arguments(q=0.3, beta=1.0),
        elementwise=("q",),
        without=ON_HOST,
    ),
    Call(
        "reductions.homogenized.collapse_probability",
        arguments=arguments(q0=0.3, d=2, beta=1.0),
        elementwise=("q0",),
        without=ON_HOST,
    ),
    Call(
        "reductions.homogenized.antipodal_constants",
        arguments=arguments(beta=1.0),
        elementwise=("beta",),
        without=ON_HOST,
    ),
    Call(
        "reductions.homogenized.antipodal_exponent",
        arguments=arguments(d=3, beta=1.0, sigma_V=0.5),
        elementwise=("beta",),
        without=ON_HOST,
    ),
    Call("reductions.homogenized.collapse_exponent", arguments=arguments(d=3, sigma_V=0.5), without=ON_HOST),
    Call(
        "reductions.homogenized.inner_product_drift",
        arguments=arguments(q=np.array([[1.0, 0.3], [0.3, 1.0]]), C=np.array([[1.0, 0.2], [0.2, 1.0]]), d=3),
        without=ON_HOST,
    ),
    Call(
        "reductions.homogenized.inner_product_variance",
        arguments=arguments(q=np.array([[1.0, 0.3], [0.3, 1.0]]), C=np.array([[1.0, 0.2], [0.2, 1.0]])),
        without=ON_HOST,
    ),
    Call(
        "reductions.homogenized.two_token_expectation",
        arguments=lambda: {"phi": np.cos, "q0": 0.3, "T": 0.5, "d": 3, "beta": 1.0, "sigma_V": 0.5, "drift": 0.1},
        elementwise=("q0",),
        without=ON_HOST,
    ),
    Call(
        "reductions.homogenized.two_token_law",
        arguments=arguments(q0=0.3, T=0.5, d=3, beta=1.0, sigma_V=0.5, drift=0.1),
        without=ON_HOST,
    ),
    ResultOf("reductions.homogenized.TwoTokenLaw", row="reductions.homogenized.two_token_law"),
]
