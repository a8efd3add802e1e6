r"""The last state of a run as the input of the detectors: $z = e^{-tV}x$, its velocity, and the matrices of the model.

$$ \dot z_i = \sum_j P_{ij}(e^{tV}z)\,V(z_j - z_i) . $$
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import expm
from scipy.special import softmax

from ..errors import InputError
from ..flows import Run, rescaled

REACH = 300.0  # tokens are multiplied by e^300 at most: their scores are a hardmax by then, and can be written


class State(NamedTuple):
    """Final rescaled tokens `(n, d)`, the length of the largest at the start, V, B and velocities, where known."""

    z: np.ndarray
    size: float
    V: np.ndarray | None
    B: np.ndarray | None
    velocity: np.ndarray | None


def last_state(run: Run) -> State:
    """The last state of a run, which is rescaled if necessary."""
    run.single()
    if "rescaled" not in run.provenance:
        source, run = run.model, rescaled(run)
    else:
        source = run.model
    zs, ts = np.asarray(run.xs, float), np.asarray(run.ts, float)
    reached = np.flatnonzero(np.isfinite(zs).all(axis=(1, 2)))
    if not len(reached):
        raise InputError("no saved state of this run is finite; end it before it overflows.")
    last = int(reached[-1])
    size = float(np.linalg.norm(zs[0], axis=1).max())
    velocity = _mean_velocity(zs[: last + 1], ts[: last + 1])
    V, B, beta = _matrices(source, zs.shape[2])
    if V is not None and B is not None and run.model is not None:
        velocity = _velocity(zs[last], ts[last], V, beta * B, run.weights)
    return State(zs[last], size, V, B, velocity)


def _matrices(model: Any, d: int) -> tuple[np.ndarray | None, np.ndarray | None, float]:
    """V, B and beta of the model inside its moving frames; B only where attention is softmax over all tokens."""
    inner: Any = model
    while hasattr(inner, "model"):
        inner = inner.model
    if inner is None:
        return None, None, 1.0
    V = inner.linear_part(d)
    if V is None:
        return None, None, 1.0
    attention = inner.attention if inner.attention_alone else None
    if attention is None or not (attention.exponential and attention.score.is_bilinear and inner.pairs.complete):
        return np.asarray(V, float), None, 1.0
    B = np.eye(d) if attention.score.matrix is None else np.asarray(attention.score.matrix, float)
    return np.asarray(V, float), B, float(np.asarray(attention.score.beta))


def _velocity(z: np.ndarray, t: float, V: np.ndarray, B: np.ndarray, weights: Any) -> np.ndarray:
    """The formula of this module's text. Growth that is common to all tokens is left out as far as it overflows."""
    rate = float(np.linalg.eigvals(V).real.max())
    x = np.exp(min(rate * t, REACH)) * z @ expm(t * (V - rate * np.eye(len(V)))).T
    log_w = 0.0 if weights is None else np.log(np.maximum(np.asarray(weights, float), 1e-300))
    P = softmax(x @ B @ x.T + log_w, axis=1)
    return (P @ z - z) @ V.T


def _mean_velocity(zs: np.ndarray, ts: np.ndarray) -> np.ndarray | None:
    """Between the last two saved times: what is left to a discrete run, and more than the last one if motion decays."""
    return None if len(ts) < 2 else (zs[-1] - zs[-2]) / (ts[-1] - ts[-2])
