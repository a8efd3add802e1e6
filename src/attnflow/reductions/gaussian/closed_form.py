r"""Gaussian flows that have a formula: written for themselves in NumPy, to test the integrator by.

With the score $\beta x^\top By$, $A = \beta B^\top$ and $A + A^\top = \beta(B + B^\top)$. For softmax attention with
$V = I$ the inverse covariance is linear in time, $\Sigma(t)^{-1} = \Sigma_0^{-1} - t(A + A^\top)$.
Formulas go on beyond a blow-up, where there is no law: values from there on are NaN.
Derivations: docs/theory/gaussian.md, Exact solutions.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import expm, null_space, solve_sylvester, sqrtm

from ...checks import finite_array, number, square_matrix
from ...errors import InputError
from ...linear_algebra import covariance_factor
from ...spaces import Numbers


def covariance(ts: Numbers, L0: Numbers, *, B: Numbers, beta: Any = 1.0) -> np.ndarray:
    r"""$\Sigma(t) = L_0(I - tL_0^\top(A + A^\top)L_0)^{-1}L_0^\top$: softmax with $V = I$, any factor $L_0$."""
    L = _factor(L0)
    S, times = _sum(B, beta, len(L)), finite_array("ts", ts)
    times = np.where(times < blow_up_time(L, B=B, beta=beta), times, np.nan)
    late = times[..., None, None] * (L.T @ S @ L)
    return L @ np.linalg.solve(np.eye(L.shape[1]) - late, np.broadcast_to(L.T, (*times.shape, *L.T.shape)))


def mean(ts: Numbers, alpha0: Numbers, Sigma0: Numbers, *, B: Numbers, beta: Any = 1.0) -> np.ndarray:
    r"""$\alpha(t) = e^t(I - 2t\Sigma_0A)^{-1/2}\alpha_0$: softmax with $V = I$ and a symmetric $B$."""
    Sigma = square_matrix("Sigma0", Sigma0)
    B = square_matrix("B", B, len(Sigma))
    if not np.allclose(B, B.T):
        raise InputError("B is not symmetric; the mean has a closed form only if it is.")
    alpha, times = finite_array("alpha0", alpha0), _times(ts)
    if alpha.shape != (len(B),):
        raise InputError(f"alpha0 has shape {alpha.shape} and B dimension {len(B)}; give a mean ({len(B)},).")
    beta = number("beta", beta)
    end = blow_up_time(covariance_factor("Sigma0", Sigma), B=B, beta=beta)

    def at(t: float) -> np.ndarray:
        root = np.real(sqrtm(np.eye(len(B)) - 2 * t * beta * Sigma @ B))
        return np.exp(t) * np.linalg.solve(root, alpha)

    return np.stack([at(t) if t < end else np.full(len(B), np.nan) for t in times])


def blow_up_time(L0: Numbers, *, B: Numbers, beta: Any = 1.0) -> float:
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
    _check_invertible(Sigma)
    P = null_space(S, rcond=1e-9)
    return P @ np.linalg.solve(P.T @ np.linalg.solve(Sigma, P), P.T)


class Line(NamedTuple):
    """Mean and variance of a law on the line, and the time of blow-up (infinite if there is none)."""

    mean: np.ndarray
    variance: np.ndarray
    t_star: float


def line(ts: Numbers, *, v: Any, a: Any, s0: Any, alpha0: Any = 0.0) -> Line:
    r"""$s = s_0/(1 - 2vas_0t)$, $\alpha = \alpha_0e^{vt}\sqrt{s/s_0}$, $t^* = 1/(2vas_0)$: softmax on the line."""
    v, a, alpha0, s0 = number("v", v), number("a", a), number("alpha0", alpha0), number("s0", s0, least=0)
    times, end = finite_array("ts", ts), 1 / (2 * v * a * s0) if v * a * s0 > 0 else np.inf
    grown = 1 / np.where(times < end, 1 - 2 * v * a * s0 * times, np.nan)
    return Line(alpha0 * np.exp(v * times) * np.sqrt(grown), s0 * grown, end)


def with_feedforward(ts: Numbers, Sigma0: Numbers, *, B: Numbers, W: Numbers, beta: Any = 1.0) -> np.ndarray:
    r"""Softmax with $V = I$ beside a feed-forward layer $Wx$: $Y = \Sigma^{-1}$ solves
    $\dot Y = -(A + A^\top) - YW - W^\top Y$, so that $Y = E^\top(Y_0 - Y_p)E + Y_p$, $E = e^{-Wt}$,
    $Y_pW + W^\top Y_p = -(A + A^\top)$. Where $Y$ is not positive definite the law has blown up: NaN."""
    Sigma = square_matrix("Sigma0", Sigma0)
    _check_invertible(Sigma)
    Y0, W = np.linalg.inv(Sigma), square_matrix("W", W, len(Sigma))
    Yp = feedforward_equilibrium(B=B, W=W, beta=beta)
    moved = [expm(-W * t) for t in _times(ts)]
    Y = np.stack([E.T @ (Y0 - Yp) @ E + Yp for E in moved])
    return np.linalg.inv(np.where(np.linalg.eigvalsh(Y)[:, :1, None] > 0, Y, np.nan))


def feedforward_equilibrium(*, B: Numbers, W: Numbers, beta: Any = 1.0) -> np.ndarray:
    r"""$Y_p$ above, the inverse of the covariance at rest (no covariance unless it is positive definite)."""
    W = square_matrix("W", W)
    return np.asarray(solve_sylvester(W.T, W, -_sum(B, beta, len(W))))


def flat_key_time(*, q: Any, s11: Any, s12: Any, g: Any = 1.0) -> float:
    r"""The blow-up of L2 attention whose keys see one coordinate: $K = (1, 0)$, $Q = q$, $V = \mathrm{diag}(0, 1)$.

    $s_{11}$ is constant and $\dot s_{12} = \kappa s_{12}(q_1s_{11} + q_2s_{12})$, $\kappa = 2g/(1 + 2gs_{11})$; then
    $t^* = \ln(1 + q_1s_{11}/(q_2s_{12}))/(\kappa q_1s_{11})$, and $s_{22}$ has a double pole there.
    """
    first, second = _pair("q", q)
    s11, s12, g = number("s11", s11, least=0), number("s12", s12), number("g", g, least=0)
    rate = 2 * g / (1 + 2 * g * s11) * first * s11
    with np.errstate(divide="ignore", invalid="ignore"):
        time = np.log1p(first * s11 / np.float64(second * s12)) / np.float64(rate)
    if not 0 < time < np.inf:
        raise InputError(f"q = {q!r}, s11 = {s11:g}, s12 = {s12:g}, g = {g:g}: by this formula there is no blow-up.")
    return float(time)


def _sum(B: Numbers, beta: Any, d: int) -> np.ndarray:
    B = square_matrix("B", B, d)
    return number("beta", beta) * (B + B.T)


def _times(ts: Numbers) -> np.ndarray:
    times = np.atleast_1d(finite_array("ts", ts))
    if times.ndim != 1 or times.size == 0:
        raise InputError(f"ts has shape {times.shape}; give one time, or a list of them.")
    return times


def _pair(name: str, value: Any) -> tuple[float, float]:
    pair = finite_array(name, value)
    if pair.shape != (2,):
        raise InputError(f"{name} has shape {pair.shape}; give two numbers.")
    return float(pair[0]), float(pair[1])


def _check_invertible(Sigma: np.ndarray) -> None:
    if np.linalg.matrix_rank(covariance_factor("Sigma0", Sigma)) < len(Sigma):
        raise InputError("Sigma0 is singular; this formula needs the inverse of a covariance.")


def _factor(L0: Numbers) -> np.ndarray:
    L = finite_array("L0", L0)
    if L.ndim != 2:
        raise InputError(f"L0 has shape {L.shape}; give a factor (d, r).")
    return L
