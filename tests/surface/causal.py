"""Causal attention: correlations and the retrieval profile."""

import jax
import numpy as np

import attnflow as af

from .table import Call, Constant, ResultOf, arguments

ON_HOST = {"jit": "NumPy and SciPy compute it: values cannot be traced"}
SOURCES = np.array([0.1, 0.5, 0.9])
PROMPT = dict(beta=1.0, context_slope=1.0)

ROWS = [
    Call(
        "reductions.causal.equal_time",
        arguments=arguments(t=1.0, s=SOURCES, a=0.5, context_slope=1.0, target=1.0),
        elementwise=("t", "s", "a", "context_slope", "target"),
        without=ON_HOST,
    ),
    Call(
        "reductions.causal.two_time",
        arguments=arguments(t=1.0, s=SOURCES, a=0.5, context_slope=1.0, target=1.0),
        elementwise=("t", "s", "a", "context_slope", "target"),
        without=ON_HOST,
    ),
    Call(
        "reductions.causal.two_time_total", arguments=arguments(t=1.0, a=0.5), elementwise=("t", "a"), without=ON_HOST
    ),
    Call("reductions.causal.psi", arguments=arguments(c=1.0, y=0.5), elementwise=("c", "y"), without=ON_HOST),
    Call(
        "reductions.causal.psi_derivative", arguments=arguments(c=1.0, y=0.5), elementwise=("c", "y"), without=ON_HOST
    ),
    Call(
        "reductions.causal.equal_time_matrix",
        arguments=lambda: {
            "t": 1.0,
            "a": 0.5,
            "weights": np.asarray(af.pairsums.weight_matrix(af.Causal(strict=True), 4)),
        },
        elementwise=("t", "a"),
        without=ON_HOST,
    ),
    Call(
        "reductions.causal.two_time_matrix",
        arguments=lambda: {
            "t": 1.0,
            "a": 0.5,
            "weights": np.asarray(af.pairsums.weight_matrix(af.Causal(strict=True), 4)),
        },
        elementwise=("t", "a"),
        without=ON_HOST,
    ),
    Call(
        "reductions.causal.bin_means",
        arguments=arguments(values=np.arange(6.0), edges=np.array([0, 2, 6])),
        without=ON_HOST,
    ),
    Call(
        "reductions.causal.estimate_correlations",
        arguments=lambda: {
            "key": jax.random.key(0),
            "n": 6,
            "t": 0.5,
            "modes": 1,
            "replicas": 64,
            "dt": 0.25,
            **PROMPT,
        },
        without={
            "jit": "it draws prompts in batches and keeps their means",
            "float32": "other bits draw other numbers",
        },
    ),
    ResultOf("reductions.causal.Correlations", row="reductions.causal.estimate_correlations"),
    Call(
        "reductions.causal.rates",
        arguments=arguments(beta=1.0, modes=3, d=3, normalize="positional"),
        elementwise=("beta",),
        without=ON_HOST,
    ),
    Call("reductions.causal.zonal", arguments=arguments(u=0.3, modes=3, d=3), elementwise=("u",), without=ON_HOST),
    Constant("reductions.causal.DOUBLE_WELL", reason="the heads of an example"),
    Call(
        "reductions.causal.Head",
        arguments=arguments(weight=0.5, beta=1.0, context_slope=1.0),
        without={"jit": "it makes a record"},
    ),
    Call(
        "reductions.causal.critical_time",
        arguments=arguments(classes=8, **PROMPT),
        elementwise=("beta", "context_slope", "classes"),
        without=ON_HOST,
    ),
    Call(
        "reductions.causal.multi_head_profile",
        arguments=lambda: {"s": SOURCES, "t": 1.0, "heads": af.reductions.causal.DOUBLE_WELL},
        elementwise=("s",),
        without=ON_HOST,
    ),
    Call(
        "reductions.causal.retrieval_profile",
        arguments=arguments(s=SOURCES, t=1.0, classes=8, modes=6, **PROMPT),
        elementwise=("s", "t", "beta", "context_slope", "classes"),
        without=ON_HOST,
    ),
    Call(
        "reductions.causal.window", arguments=arguments(classes=8, modes=6), elementwise=("classes",), without=ON_HOST
    ),
    Call("reductions.causal.profile_minimum", arguments=arguments(t=1.0, **PROMPT), without=ON_HOST),
    Call(
        "reductions.causal.profile_shape",
        arguments=arguments(t=1.0, classes=8, **PROMPT),
        elementwise=("t", "beta", "context_slope", "classes"),
        without={**ON_HOST, "float32": "a word, no numbers"},
    ),
    Call("reductions.causal.turning_points", arguments=arguments(t=1.0, **PROMPT), without=ON_HOST),
    ResultOf("reductions.causal.Point", row="reductions.causal.profile_minimum"),
    ResultOf("reductions.causal.TurningPoints", row="reductions.causal.turning_points"),
]
