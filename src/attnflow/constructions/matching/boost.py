r"""Boosts of the sphere, and attention of rank one, which is a boost by a time of the measure's own.

$$ B_\tau^e(x) = \frac{x + \big((\cosh\tau - 1)s + \sinh\tau\big)e}{\cosh\tau + s\sinh\tau}, \qquad
   s = \langle x, e\rangle, $$

that is, $\operatorname{artanh}s$ grows by $\tau$ and the component orthogonal to $e$ keeps its direction. It is the
flow of $\dot x = gP_xe$ for the time $\tau/g$, conformal with the factor $1/(\cosh\tau + s\sinh\tau)$.

With $V = c\,\alpha\alpha^\top$, $B = 0$ a measure moves by $B_{\tau(t)}^\alpha$, where

$$ \dot\tau = c\int\tanh\big(\tau + \operatorname{artanh}\langle x, \alpha\rangle\big)\,d\mu_0(x), \qquad
   \tau(0) = 0 . $$

So a measure with $\langle\alpha, \int x\,d\mu\rangle > 0$ tends to $+\alpha$, one with $< 0$ to $-\alpha$, and one with
$= 0$ rests: measures that share points are moved apart.
"""

import numpy as np
from scipy.integrate import solve_ivp

from ...spaces import Number, Numbers
from ._checked import direction, duration, signed
from ._measure import Side, unit
from .piece import Role, TransformerPiece


def boost(e: Numbers, tau: Number, T: Number = 1.0, *, role: Role = "gather") -> TransformerPiece:
    r"""The piece whose map is $B_\tau^e$: no attention, $U = 0$, $b = 1$, $W1 = (\tau/T)\,e$. `boosted` is the map."""
    e, T = direction("e", e), duration(T)
    W = (signed("tau", tau) / T) * e[:, None]
    return TransformerPiece(W=W, U=np.zeros((1, len(e))), b=np.ones(1), T=T, role=role)


def rank_one_attention(alpha: Numbers, T: Number, *, speed: Number = 1.0, role: Role = "separate") -> TransformerPiece:
    r"""The piece with $V = c\,\alpha\alpha^\top$, $B = 0$; `speed` is $c$, negative for the inverse map."""
    alpha = direction("alpha", alpha)
    return TransformerPiece(V=signed("speed", speed) * np.outer(alpha, alpha), T=duration(T), role=role)


def boosted(x: np.ndarray, e: np.ndarray, tau: float | np.ndarray) -> np.ndarray:
    """$B_\\tau^e(x)$ for points `(..., d)`; `tau` one number, or one for each."""
    s = x @ e
    ahead, behind = np.sum((x + e) ** 2, axis=-1) / 2, np.sum((x - e) ** 2, axis=-1) / 2  # 1 + s, 1 - s, every digit
    # Divided by e^|tau|, which would overflow.
    up, down = np.exp(np.minimum(2 * np.asarray(tau), 0.0)), np.exp(np.minimum(-2 * np.asarray(tau), 0.0))
    below, along = (up * ahead + down * behind) / 2, (up * ahead - down * behind) / 2
    across = np.exp(-np.abs(tau)) * np.ones_like(s)
    moved = across[..., None] * (x - s[..., None] * e) + along[..., None] * e
    moved = moved / np.where(below > 0, below, 1)[..., None]
    moved = np.where((below > 0)[..., None], moved, x)  # x = -e, to the last digit
    return unit(moved)


def log_det_boost(x: np.ndarray, e: np.ndarray, tau: float) -> np.ndarray:
    r"""$\log|\det DB_\tau^e| = -(d-1)\log(\cosh\tau + s\sinh\tau)$ on $S^{d-1}$, at points `(n, d)`."""
    s = x @ e
    return -(x.shape[-1] - 1) * np.log(np.cosh(tau) + s * np.sinh(tau))


def rank_one_times(side: Side, alpha: np.ndarray, t: float, speed: float = 1.0) -> np.ndarray:
    r"""$\tau(t)$ of every measure, by the scalar equation."""
    with np.errstate(divide="ignore"):
        a = np.arctanh(np.clip(side.x @ alpha, -1, 1))
    owner, count = side.owner, len(side.starts)

    def slope(_: float, tau: np.ndarray) -> np.ndarray:
        return speed * np.bincount(owner, np.tanh(tau[owner] + a) * side.w, count)

    return solve_ivp(slope, (0.0, t), np.zeros(count), method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
