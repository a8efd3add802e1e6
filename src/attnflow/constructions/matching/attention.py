r"""Attention without neurons: averaging, and softmax at a finite temperature.

$V = I$, $B = 0$ is $\dot x = P_xm$ with $m = \int y\,d\mu$, the same conformal flow for every point of a measure: a
measure in an open hemisphere contracts to a point, in the end like $e^{-t}$. With $X = X_0(1, x)$ it is linear,

$$ \dot X = \begin{pmatrix} 0 & m^\top \\ m & 0 \end{pmatrix}X, \qquad x = X_{1\dots d}/X_0, $$

so that one Lorentz transformation $G(t) \in \mathbb R^{(d+1)\times(d+1)}$ moves a measure, however many points it has.

$V = I$, $B = \beta I$ is softmax attention, whose clusters depend on the measure; it is integrated.
"""

import numpy as np
from scipy.integrate import solve_ivp

from ...checks import whole
from ...errors import InputError
from ...spaces import Count, Number
from ._checked import duration, signed
from ._measure import Side, unit
from .piece import Role, TransformerPiece

ANEW = 6.0  # the time after which a Lorentz transformation is begun anew


def full_averaging(d: Count, T: Number, *, speed: Number = 1.0, role: Role = "cluster") -> TransformerPiece:
    r"""The piece with $V = cI$, $B = 0$; `speed` is $c$."""
    return TransformerPiece(V=signed("speed", speed) * np.eye(_dimension(d)), T=duration(T), role=role)


def softmax_attention(
    d: Count, beta: Number, T: Number, *, speed: Number = 1.0, role: Role = "separate"
) -> TransformerPiece:
    r"""The piece with $V = cI$, $B = \beta I$."""
    eye = np.eye(_dimension(d))
    return TransformerPiece(V=signed("speed", speed) * eye, B=signed("beta", beta) * eye, T=duration(T), role=role)


def _dimension(d: Count) -> int:
    d = whole("d", d)
    if d < 2:
        raise InputError("d = 1 leaves two points of a sphere; take d >= 2.")
    return d


def averaged(side: Side, t: float, speed: float) -> np.ndarray:
    """Measures after V = cI, by their Lorentz transformations; begun anew now and then, since these grow like e^t."""
    count = max(1, int(np.ceil(abs(speed) * t / ANEW)))
    for _ in range(count):
        side = side._replace(x=_transformed(side, t / count, speed))
    return side.x


def _transformed(side: Side, t: float, speed: float) -> np.ndarray:
    lifted = [(np.concatenate([np.ones((len(x), 1)), x], axis=1), w) for x, w in side.split()]
    shape = (len(lifted), side.x.shape[1] + 1, side.x.shape[1] + 1)

    def velocity(_: float, y: np.ndarray) -> np.ndarray:
        change = np.empty(shape)
        for (X, w), G, dG in zip(lifted, y.reshape(shape), change, strict=True):
            moved = X @ G.T
            m = speed * ((w / moved[:, 0]) @ moved[:, 1:])
            dG[0], dG[1:] = m @ G[1:], np.outer(m, G[0])
        return change.ravel()

    start = np.tile(np.eye(shape[1]), (len(lifted), 1, 1)).ravel()
    ends = solve_ivp(velocity, (0.0, t), start, method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1].reshape(shape)
    x = np.concatenate([(X @ G.T)[:, 1:] for (X, _), G in zip(lifted, ends, strict=True)])
    return unit(x)


def integrated(piece: TransformerPiece, side: Side, t: float) -> np.ndarray:
    """The flow of any piece for the time t, by Dormand and Prince's method of order eight."""

    def velocity(_: float, y: np.ndarray) -> np.ndarray:
        return _field(piece, side._replace(x=y.reshape(side.x.shape))).ravel()

    y = (
        solve_ivp(velocity, (0.0, t), side.x.ravel(), method="DOP853", rtol=1e-12, atol=1e-14)
        .y[:, -1]
        .reshape(side.x.shape)
    )
    return unit(y)


def _field(piece: TransformerPiece, side: Side) -> np.ndarray:
    """The velocities of measures side by side; where only means matter, of all at once."""
    if piece.B.any():
        return np.concatenate([piece.field(one.x, one.w) for one in side.split()])
    x = side.x
    force = np.maximum(x @ piece.U.T + piece.b, 0) @ piece.W.T
    if piece.attends:
        means = np.add.reduceat(side.w[:, None] * x, side.starts)
        force = force + (means @ piece.V.T)[side.owner]
    return force - np.sum(x * force, axis=1, keepdims=True) * x
