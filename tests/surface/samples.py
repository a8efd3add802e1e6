"""Small inputs that rows share: points without symmetry, weights, and runs that are computed once."""

import functools

import numpy as np

import attnflow as af
from witness import weyl

CIRCLE = weyl(5, 2)
SPHERE = weyl(5, 3)  # unit tokens
POINTS = 0.7 * weyl(5, 3) + np.array([0.3, -0.2, 0.1])  # tokens in space
OTHERS = weyl(9, 3)[5:] * np.array([[0.9], [1.2], [0.7], [1.1]])
WEIGHTS = np.array([0.1, 0.3, 0.2, 0.15, 0.25])
OTHER_WEIGHTS = np.array([0.4, 0.1, 0.2, 0.3])
MATRIX = np.array([[1.0, 0.3, -0.2], [0.1, 0.8, 0.4], [-0.3, 0.2, 1.1]])
LEADING = np.diag([2.0, 1.0, 0.5])
SYMMETRIC = np.array([[1.0, 0.3, -0.2], [0.3, 0.8, 0.1], [-0.2, 0.1, 1.1]])


@functools.cache
def run(weighted: bool = False) -> af.Run:
    """Softmax attention on the sphere, five tokens, three saved times."""
    weights = WEIGHTS if weighted else None
    return af.simulate(af.SelfAttention(beta=2.0), SPHERE, ts=[0.0, 0.5, 1.0], weights=weights)


@functools.cache
def long_run() -> af.Run:
    """Three tokens that merge, over exponentially long times."""
    return af.long_time(af.SelfAttention(beta=9.0), SPHERE[:3])


@functools.cache
def hardmax_run() -> af.Run:
    """Hardmax layers run until their leaders are final."""
    return af.simulate(af.HardmaxLayers(alpha=0.5), af.models.hardmax_cloud("faces"), t1=30.0, solver="layers")


@functools.cache
def euclidean_run() -> af.Run:
    """Softmax attention in space, integrated with its linear part."""
    model = af.SelfAttention(af.Softmax(1.0, V=LEADING), space=af.Euclidean())
    return af.simulate(model, POINTS, ts=[0.0, 1.0, 2.0], solver="ifrk4", dt=0.1)
