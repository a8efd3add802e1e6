"""Integration of models, and what it leaves behind."""

import tempfile
from pathlib import Path

import jax
import numpy as np

import attnflow as af

from .samples import MATRIX, SPHERE, SYMMETRIC, WEIGHTS, euclidean_run, run
from .table import Abstract, Call, Constant, ResultOf, first_rows, rows_permuted, turned

OBJECT = {"jit": "it makes an object for `ensemble`", "float32": "it has no numbers"}
SPHERICAL = {"translation": "the sphere is not translated", "scale": "the sphere is not scaled"}


def saved():
    path = Path(tempfile.mkdtemp()) / "run.nc"
    run().save(path)
    return path


def stack():
    heads = af.attention.SoftmaxHeads(*(M[None] for M in (MATRIX, SYMMETRIC, MATRIX, SYMMETRIC)))
    return af.models.LayerStack(af.models.Block(heads, attention_norm=af.models.Normalization("rms")), order=[0] * 2)


def first(t, x, w):
    return x[0, 0]


ROWS = [
    Call(
        "simulate",
        arguments=lambda: {
            "model": af.SelfAttention(beta=2.0),
            "x0": SPHERE,
            "t0": 0.0,
            "t1": 0.5,
            "weights": WEIGHTS,
            "rtol": 1e-9,
            "atol": 1e-12,
            "save": 2,
            "max_steps": 1000,
            "solver": "tsit5",
            "kernel": "auto",
        },
        read=lambda run: run.xs,
        traced=("x0", "weights"),
        points=("x0",),
        weights="weights",
        permutation=rows_permuted,
        rotation=turned,
        splitting=first_rows,
        tolerance=1e-7,
        without={**SPHERICAL, "jvp": "its solver stores checkpoints for reverse mode"},
    ),
    ResultOf("Run", row="simulate"),
    ResultOf("flows.Info", row="simulate", part=lambda run: run.info),
    Call(
        "long_time",
        arguments=lambda: {
            "model": af.SelfAttention(beta=9.0),
            "x0": SPHERE[:3],
            "weights": np.array([0.2, 0.3, 0.5]),
            "points": 4,
            "rtol": 1e-8,
        },
        read=lambda run: run.info["merge_log_t"],
        traced=("x0",),
        tolerance=1e-6,
        without={
            "float32": "it needs float64, and says so",
            "vmap": "batches are tested by themselves, they take long to compile",
            "vjp": "a loop that ends by itself has no reverse mode",
        },
    ),
    Call(
        "flows.layer_states",
        arguments=lambda: {"model": stack(), "x0": SPHERE, "t0": 0, "t1": 2, "weights": WEIGHTS, "kernel": "dense"},
        read=lambda states: np.stack([state.x for state in states]),
        points=("x0",),
        weights="weights",
        permutation=rows_permuted,
        splitting=first_rows,
        without={
            "jit": "it gives one state after the other, for programs that look at them",
            "repeats": "it is an iterator",
            "rotation": "matrices of a layer have directions of their own",
            "translation": "normalisations have an origin",
            "scale": "normalisations have a size",
        },
    ),
    ResultOf(
        "flows.LayerState", row="flows.layer_states", part=lambda states: next(af.flows.layer_states(stack(), SPHERE))
    ),
    Call("rescaled", arguments=lambda: {"run": euclidean_run()}, without={"jit": "it reads a run"}),
    Call(
        "load",
        arguments=lambda: {"path": saved()},
        without={
            "jit": "it reads a file",
            "float32": "a file has the numbers of its run",
            "junk:path": "a text is a path",
        },
    ),
    Call(
        "ensemble",
        arguments=lambda: {
            "model": af.SelfAttention(beta=1.0),
            "sampler": lambda key: af.sphere.uniform(n=4, d=2, key=key),
            "realizations": 8,
            "ts": np.array([0.1, 0.2]),
            "reduce": af.flows.Mean(first),
            "key": jax.random.key(0),
            "dt": 0.1,
            "solver": "rk4",
        },
        without={
            "jit": "it draws in chunks and keeps their statistics",
            "float32": "other bits draw other numbers",
            "junk:ts:0-d": "one time is enough",
        },
    ),
    ResultOf("flows.EnsembleResult", row="ensemble"),
    ResultOf("flows.Estimate", row="ensemble", part=lambda result: result.values),
    Abstract("flows.AbstractStatistic"),
    Abstract("flows.AbstractTrajectoryEngine"),
    Constant("flows.Tableau", reason="the numbers of a scheme"),
    Call("flows.Mean", arguments=lambda: {"observable": first}, without=OBJECT),
    Call(
        "flows.Histogram",
        arguments=lambda: {"observable": first, "edges": np.array([-1.0, 0.0, 1.0])},
        without={"jit": OBJECT["jit"]},
    ),
    Call(
        "flows.Quantiles",
        arguments=lambda: {"observable": first, "q": np.array([0.5]), "bounds": (-1.0, 1.0), "bins": 16},
        without={"jit": OBJECT["jit"]},
    ),
    Call("flows.LastState", without=OBJECT),
    Constant("Outcome", reason="how a solve can end"),
]
