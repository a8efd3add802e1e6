r"""A gate on a cap: what is inside moves towards its centre, what is outside rests.

One neuron, $U = z^\top$, $b = -\cos R$, $W = Az$. With $s = \langle x, z\rangle$ and $k = \cos R$,

$$ \dot s = A\,(s - k)_+(1 - s^2) . $$

In the coordinate $y = \log\frac{s - k}{1 - s}$ of the inside this is $F(y(t)) = F(y(0)) + At$ with

$$ F' = \frac1{(1 + s)(1 - k)}, \qquad
   F = \frac{\log(s - k)}{1 - k^2} - \frac{\log(1 - s)}{2(1 - k)} - \frac{\log(1 + s)}{2(1 + k)}, $$

so that $y$ grows at a rate between $A(1+k)(1-k)$ and $2A(1-k)$: points at the distance $\varepsilon$ from the rim take
the time $\log(1/\varepsilon)$ to leave it, and then come to $z$ exponentially fast. (The paper's text prints the other
sign of $b$ and $U$, which acts outside the ball.)
"""

import numpy as np

from ...spaces import Number, Numbers
from ._checked import direction, duration, signed
from .piece import Role, TransformerPiece


def cap_gate(z: Numbers, k: Number, A: Number, T: Number = 1.0, *, role: Role = "merge") -> TransformerPiece:
    r"""The piece that moves the cap $\langle x, z\rangle > k$ towards $z$ (away from it for $A < 0$)."""
    z = direction("z", z)
    level = signed("k", k, most=1.0)
    return TransformerPiece(W=signed("A", A) * z[:, None], U=z[None, :], b=[-level], T=duration(T), role=role)


def gate_moved(x: np.ndarray, z: np.ndarray, k: float, amount: float) -> np.ndarray:
    """Points `(n, d)` after the gate has acted with $At$ = `amount`."""
    s = x @ z
    inside = s > k
    if not inside.any():
        return x
    below = _below(x[inside], z)
    y = np.log((1 - k) - below) - np.log(below)
    share = _share(_inverse(_F(y, k) + amount, k))
    radius = np.sqrt(np.maximum((1 - k) * share * (2 - (1 - k) * share), 0))
    across = x[inside] - s[inside, None] * z
    length = np.linalg.norm(across, axis=1, keepdims=True)
    moved = x.copy()
    new = (1 - (1 - k) * share)[:, None] * z + radius[:, None] * across / np.where(length > 0, length, 1)
    moved[inside] = new / np.linalg.norm(new, axis=1, keepdims=True)
    return moved


def amount_to_reach(k: float, start: float, end: float) -> float:
    r"""$At$ that brings points with $s = k + $ `start` to the distance `end` from $z$."""
    first = np.array([np.log(start) - np.log((1 - k) - start)])
    below = end**2 / 2
    last = np.array([np.log((1 - k) - below) - np.log(below)])
    return float((_F(last, k) - _F(first, k))[0])


def _below(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """1 - s, to its own last digits."""
    return np.maximum(np.sum((x - z) ** 2, axis=1) / 2, 1e-300)


def _share(y: np.ndarray) -> np.ndarray:
    """(1 - s)/(1 - k) of a point."""
    return np.exp(-np.logaddexp(0, y))


def _F(y: np.ndarray, k: float) -> np.ndarray:
    inner, outer = -np.logaddexp(0, -y), -np.logaddexp(0, y)  # logarithms of (s - k)/(1 - k) and (1 - s)/(1 - k)
    log = np.log1p(-k)
    s = 1 - (1 - k) * np.exp(outer)
    return (log + inner) / (1 - k * k) - (log + outer) / (2 * (1 - k)) - np.log1p(s) / (2 * (1 + k))


def _inverse(value: np.ndarray, k: float) -> np.ndarray:
    """The y with F(y) = value: Newton's method on a function whose slope changes by a factor of 2/(1 + k) at most."""
    y = np.zeros_like(value)
    for _ in range(100):
        s = 1 - (1 - k) * _share(y)
        step = (value - _F(y, k)) * (1 + s) * (1 - k)
        y = y + step
        if np.max(np.abs(step), initial=0) <= 1e-14 * (1 + np.max(np.abs(y), initial=0)):
            break
    return y
