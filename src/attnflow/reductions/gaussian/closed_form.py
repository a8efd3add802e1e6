r"""Gaussian flows that have a formula: written for themselves in NumPy, to test the integrator by.

With the score $\beta x^\top By$, $A = \beta B^\top$ and $A + A^\top = \beta(B + B^\top)$. For softmax attention with
$V = I$ the inverse covariance is linear in time, $\Sigma(t)^{-1} = \Sigma_0^{-1} - t(A + A^\top)$.
Formulas go on beyond a blow-up, where there is no law: values from there on are NaN.
Derivations: docs/theory/gaussian.md, Exact solutions.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import expm, null_space, solve_sylvester, sqrtm

from ..._linear_algebra import covariance_factor, finite_array, square_matrix
from ...errors import InputError
from ...spaces import Numbers


def covariance(ts: Numbers, L0: Numbers, *, B: Numbers, beta: float | int = 1.0) -> np.ndarray:
    r"""$\Sigma(t) = L_0(I - tL_0^\top(A + A^\top)L_0)^{-1}L_0^\top$: softmax with $V = I$, any factor $L_0$."""
    L = _factor(L0)
    S, times = _sum(B, beta, len(L)), finite_array("ts", ts)
    times = np.where(times < blow_up_time(L, B=B, beta=beta), times, np.nan)
    late = times[..., None, None] * (L.T @ S @ L)
    return L @ np.linalg.solve(np.eye(L.shape[1]) - late, np.broadcast_to(L.T, (*times.shape, *L.T.shape)))


def mean(ts: Numbers, alpha0: Numbers, Sigma0: Numbers, *, B: Numbers, beta: float | int = 1.0) -> np.ndarray:
    r"""$\alpha(t) = e^t(I - 2t\Sigma_0A)^{-1/2}\alpha_0$: softmax with $V = I$ and a symmetric $B$."""
    Sigma = square_matrix("Sigma0", Sigma0)
    B = square_matrix("B", B, len(Sigma))
    if not np.allclose(B, B.T):
        raise InputError("B is not symmetric; the mean has a closed form only if it is.")
    alpha, times = finite_array("alpha0", alpha0), np.atleast_1d(finite_array("ts", ts))
    end = blow_up_time(covariance_factor("Sigma0", Sigma), B=B, beta=beta)

    def at(t: float) -> np.ndarray:
        root = np.real(sqrtm(np.eye(len(B)) - 2 * t * beta * Sigma @ B))
        return np.exp(t) * np.linalg.solve(root, alpha)

    return np.stack([at(t) if t < end else np.full(len(B), np.nan) for t in times])


def blow_up_time(L0: Numbers, *, B: Numbers, beta: float | int = 1.0) -> float:
    r"""$1/\lambda_{\max}(L_0^\top(A + A^\top)L_0)$ for softmax with $V = I$; infinite if no eigenvalue is positive."""
    L = _factor(L0)
    largest = float(np.linalg.eigvalsh(L.T @ _sum(B, beta, len(L)) @ L)[-1])
    return 1 / largest if largest > 0 else np.inf


def limit(Sigma0: Numbers, *, B: Numbers) -> np.ndarray:
    r"""$P(P^\top\Sigma_0^{-1}P)^{-1}P^\top$ with $P$ a basis of the kernel of $B + B^\top \preceq 0$.

    That is where softmax with $V = I$ takes an invertible covariance.
    """
    Sigma = square_matrix("Sigma0", Sigma0)
    S = _sum(B, 1.0, len(Sigma))
    values = np.linalg.eigvalsh(S)
    if values[-1] > 1e-9 * np.abs(values).max():
        raise InputError(f"B + B^T has the eigenvalue {values[-1]:.3g} > 0: the covariance blows up and has no limit.")
    P = null_space(S, rcond=1e-9)
    return P @ np.linalg.solve(P.T @ np.linalg.solve(Sigma, P), P.T)


class Line(NamedTuple):
    """Mean and variance of a law on the line, and the time of blow-up (infinite if there is none)."""

    mean: np.ndarray
    variance: np.ndarray
    t_star: float


def line(ts: Numbers, *, v: float | int, a: float | int, s0: float | int, alpha0: float | int = 0.0) -> Line:
    r"""$s = s_0/(1 - 2vas_0t)$, $\alpha = \alpha_0e^{vt}\sqrt{s/s_0}$, $t^* = 1/(2vas_0)$: softmax on the line."""
    times, end = finite_array("ts", ts), 1 / (2 * v * a * s0) if v * a * s0 > 0 else np.inf
    s = s0 / np.where(times < end, 1 - 2 * v * a * s0 * times, np.nan)
    return Line(alpha0 * np.exp(v * times) * np.sqrt(s / s0), s, end)


def with_feedforward(ts: Numbers, Sigma0: Numbers, *, B: Numbers, W: Numbers, beta: float | int = 1.0) -> np.ndarray:
    r"""Softmax with $V = I$ beside a feed-forward layer $Wx$: $Y = \Sigma^{-1}$ solves
    $\dot Y = -(A + A^\top) - YW - W^\top Y$, so that $Y = E^\top(Y_0 - Y_p)E + Y_p$, $E = e^{-Wt}$,
    $Y_pW + W^\top Y_p = -(A + A^\top)$. Where $Y$ is not positive definite the law has blown up: NaN."""
    Y0, W = np.linalg.inv(square_matrix("Sigma0", Sigma0)), square_matrix("W", W)
    Yp = feedforward_equilibrium(B=B, W=W, beta=beta)
    moved = [expm(-W * t) for t in np.atleast_1d(finite_array("ts", ts))]
    Y = np.stack([E.T @ (Y0 - Yp) @ E + Yp for E in moved])
    return np.linalg.inv(np.where(np.linalg.eigvalsh(Y)[:, :1, None] > 0, Y, np.nan))


def feedforward_equilibrium(*, B: Numbers, W: Numbers, beta: float | int = 1.0) -> np.ndarray:
    r"""$Y_p$ above, the inverse of the covariance at rest (no covariance unless it is positive definite)."""
    W = square_matrix("W", W)
    return np.asarray(solve_sylvester(W.T, W, -_sum(B, beta, len(W))))


def flat_key_time(*, q: Sequence[float | int], s11: float | int, s12: float | int, g: float | int = 1.0) -> float:
    r"""The blow-up of L2 attention whose keys see one coordinate: $K = (1, 0)$, $Q = q$, $V = \mathrm{diag}(0, 1)$.

    $s_{11}$ is constant and $\dot s_{12} = \kappa s_{12}(q_1s_{11} + q_2s_{12})$, $\kappa = 2g/(1 + 2gs_{11})$; then
    $t^* = \ln(1 + q_1s_{11}/(q_2s_{12}))/(\kappa q_1s_{11})$, and $s_{22}$ has a double pole there.
    """
    rate = 2 * g / (1 + 2 * g * s11) * q[0] * s11
    return float(np.log1p(q[0] * s11 / (q[1] * s12)) / rate)


def _sum(B: Numbers, beta: float | int, d: int) -> np.ndarray:
    B = square_matrix("B", B, d)
    return beta * (B + B.T)


def _factor(L0: Numbers) -> np.ndarray:
    L = finite_array("L0", L0)
    if L.ndim != 2:
        raise InputError(f"L0 has shape {L.shape}; give a factor (d, r).")
    return L
