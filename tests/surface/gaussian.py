"""Gaussian laws, the equation for a density, and the landscape with a perceptron."""

import functools

import jax
import numpy as np

import attnflow as af

from .samples import WEIGHTS
from .table import Call, Constant, ResultOf, arguments

ON_HOST = {"jit": "NumPy and SciPy compute it: values cannot be traced"}
OF_RUN = {"jit": "it reads a run"}
WORDS = {"float32": "words, no numbers"}
MEAN = np.array([0.3, -0.2])
SIGMA = np.array([[0.5, 0.1], [0.1, 0.3]])
B = np.array([[1.0, 0.2], [0.2, 0.5]])
TIMES = np.array([0.0, 0.1, 0.2])


@functools.cache
def run():
    return af.gaussian.flow(af.Softmax(1.0), MEAN, SIGMA, ts=TIMES)


@functools.cache
def sinkhorn_run():
    return af.gaussian.flow(af.Sinkhorn(1.0), MEAN, SIGMA, ts=TIMES)


def perceptron():
    return af.models.Perceptron([[1.0, 0.0]], omega=3.0, activation="relu")


ROWS = [
    Call(
        "gaussian.flow",
        arguments=lambda: {"attention": af.Softmax(1.0), "alpha0": MEAN, "Sigma0": SIGMA, "ts": TIMES},
        read=lambda run: run.xs,
        without={"jit": "its ending is looked at"},
    ),
    Call(
        "gaussian.velocity",
        arguments=lambda: {"attention": af.Softmax(1.0), "alpha": MEAN, "Sigma": SIGMA, "t": 0.0},
        without=ON_HOST,
    ),
    Call(
        "gaussian.masked_linear_velocity",
        arguments=lambda: {
            "attention": af.Linear(1.0),
            "alpha": np.stack([MEAN, MEAN]),
            "Sigma": np.stack([SIGMA, SIGMA]),
        },
        without={**ON_HOST, "junk:alpha:shape": "means broadcast", "junk:Sigma:shape": "covariances broadcast"},
    ),
    Call(
        "gaussian.score_spread",
        arguments=lambda: {"attention": af.Softmax(1.0), "L": np.linalg.cholesky(SIGMA)},
        without=ON_HOST,
    ),
    Call("gaussian.cloud", arguments=arguments(n=8, alpha=MEAN, Sigma=SIGMA, key=jax.random.key(0)), without=ON_HOST),
    Call("gaussian.midpoints", arguments=arguments(n=4), without={"jit": "its argument is a whole number"}),
    Call("gaussian.cone_coordinates", arguments=arguments(Sigma=SIGMA), without=ON_HOST),
    Call("gaussian.covariance", arguments=lambda: {"run": run()}, without=OF_RUN),
    Call("gaussian.final_covariance", arguments=lambda: {"run": run()}, without=OF_RUN),
    Call("gaussian.limit_rank", arguments=lambda: {"run": run(), "tol": 1e-8}, without=OF_RUN),
    Call("gaussian.energy", arguments=lambda: {"run": sinkhorn_run()}, without=OF_RUN),
    Call("gaussian.describe", arguments=lambda: {"run": run()}, without={**OF_RUN, **WORDS}),
    Call("gaussian.limits", arguments=lambda: {"run": run()}, without={**OF_RUN, **WORDS}),
    Call("gaussian.outcome", arguments=lambda: {"run": run()}, without={**OF_RUN, **WORDS}),
    Constant("gaussian.OUTCOMES", reason="how a Gaussian flow may end"),
    Call(
        "gaussian.closed_form.covariance",
        elementwise=("ts",),
        arguments=arguments(ts=TIMES, L0=np.linalg.cholesky(SIGMA), B=B, beta=1.0),
        without=ON_HOST,
    ),
    Call(
        "gaussian.closed_form.mean",
        elementwise=("ts",),
        arguments=arguments(ts=TIMES, alpha0=MEAN, Sigma0=SIGMA, B=B, beta=1.0),
        without=ON_HOST,
    ),
    Call(
        "gaussian.closed_form.blow_up_time",
        arguments=arguments(L0=np.linalg.cholesky(SIGMA), B=B, beta=1.0),
        without=ON_HOST,
    ),
    Call("gaussian.closed_form.limit", arguments=arguments(Sigma0=SIGMA, B=-B), without=ON_HOST),
    Call(
        "gaussian.closed_form.line",
        elementwise=("ts",),
        arguments=arguments(ts=TIMES, v=1.0, a=0.5, s0=1.0, alpha0=0.3),
        without=ON_HOST,
    ),
    ResultOf("gaussian.closed_form.Line", row="gaussian.closed_form.line"),
    Call(
        "gaussian.closed_form.with_feedforward",
        elementwise=("ts",),
        arguments=arguments(ts=TIMES, Sigma0=SIGMA, B=B, W=-np.eye(2), beta=1.0),
        without=ON_HOST,
    ),
    Call(
        "gaussian.closed_form.feedforward_equilibrium",
        arguments=arguments(B=B, W=-np.eye(2), beta=1.0),
        without=ON_HOST,
    ),
    Call(
        "gaussian.closed_form.flat_key_time",
        arguments=arguments(q=np.array([1.0, 0.5]), s11=1.0, s12=0.5, g=1.0),
        without=ON_HOST,
    ),
    Call(
        "mean_field",
        arguments=lambda: {
            "model": af.SelfAttention(beta=1.0),
            "density": lambda angle: 1 + 0.3 * np.cos(angle),
            "ts": TIMES,
            "cells": 16,
        },
        read=lambda law: law.masses,
        without={"jit": "its ending is looked at"},
    ),
    ResultOf("reductions.MeanField", row="mean_field"),
    Call(
        "reductions.localization.minimizer",
        arguments=lambda: {"perceptron": perceptron(), "beta": 1.0, "atoms": 8},
        read=lambda result: result.energy,
        without=ON_HOST,
    ),
    Call(
        "reductions.localization.certificate",
        arguments=lambda: {
            "x": np.array([0.1, 2.0, 3.0, 4.0, 5.0]),
            "weights": WEIGHTS,
            "perceptron": perceptron(),
            "beta": 1.0,
        },
        read=lambda result: result.energy,
        without=ON_HOST,
    ),
    ResultOf("reductions.localization.Certificate", row="reductions.localization.certificate"),
    Call(
        "reductions.localization.criticality",
        arguments=lambda: {
            "tokens": np.array([[1.0, 0.0], [0.0, 1.0]]),
            "weights": np.array([0.4, 0.6]),
            "perceptron": perceptron(),
            "beta": 1.0,
        },
        without=ON_HOST,
    ),
    Call(
        "reductions.localization.density",
        arguments=lambda: {
            "perceptron": af.models.Perceptron([[1.0, 0.0]], omega=0.1, activation="linear"),
            "beta": 1.0,
        },
        without=ON_HOST,
    ),
    ResultOf("reductions.localization.Density", row="reductions.localization.density"),
    Call(
        "reductions.localization.expected_localization",
        arguments=lambda: {"perceptron": perceptron(), "beta": 1.0},
        without={**ON_HOST, **WORDS},
    ),
    ResultOf("reductions.localization.Expected", row="reductions.localization.expected_localization"),
]
