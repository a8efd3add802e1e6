r"""A band around a great circle: points on it move along it, points outside rest.

Three neurons, $U = 1\gamma^\top$, $b = (\varepsilon, 0, -\varepsilon)$, $W = \frac A\varepsilon\,\omega\,(1, -2, 1)$:

$$ \dot x = A\,\mathrm{hat}\Big(\frac{\langle x, \gamma\rangle}\varepsilon\Big)P_x\omega, \qquad
   \mathrm{hat}(u) = (1 - |u|)_+, \qquad \omega \perp \gamma . $$

The great circle $\gamma^\perp$ is invariant, and there $\mathrm{hat} = 1$: its points move by the boost
$B_{At}^\omega$. Beside it the boost runs on a slower clock: with $s$ and $u$ the first values of $\langle x,
\omega\rangle$ and $\langle x, \gamma\rangle$, and $q = |u|/\varepsilon < 1$,

$$ At = \int_0^\tau\frac{D(\tau')\,d\tau'}{D(\tau') - q}, \qquad D(\tau) = \cosh\tau + s\sinh\tau . $$
"""

import numpy as np

from ...spaces import Number, Numbers
from ._checked import direction, duration, orthogonal, positive, signed
from .boost import boosted
from .piece import Role, TransformerPiece

ITERATIONS = 200  # of Newton's method inside a bisection, at most


def hat_band(
    gamma: Numbers, omega: Numbers, eps: Number, A: Number, T: Number = 1.0, *, role: Role = "match"
) -> TransformerPiece:
    r"""The piece that moves the band $|\langle x, \gamma\rangle| < \varepsilon$ towards $\omega$."""
    gamma, omega = direction("gamma", gamma), direction("omega", omega)
    orthogonal(gamma, omega)
    eps = positive("eps", eps)
    W = (signed("A", A) / eps) * np.outer(omega, [1.0, -2.0, 1.0])
    return TransformerPiece(W=W, U=np.tile(gamma, (3, 1)), b=[eps, 0.0, -eps], T=duration(T), role=role)


def band_moved(x: np.ndarray, gamma: np.ndarray, omega: np.ndarray, eps: float, amount: float) -> np.ndarray:
    """Points `(n, d)` after the band has acted with $At$ = `amount`."""
    u = np.abs(x @ gamma)
    inside = u < eps
    if not inside.any():
        return x
    moved = x.copy()
    s, q = x[inside] @ omega, u[inside] / eps
    moved[inside] = boosted(x[inside], omega, _clock(s, q, amount))
    return moved


def _clock(s: np.ndarray, q: np.ndarray, amount: float) -> np.ndarray:
    """The boost after `amount`: between 0, where the band is as thin as can be, and `amount`, on the circle."""
    if amount < 0:
        return -_clock(-s, q, -amount)
    tau = np.full_like(s, amount)
    slow = q > 0
    if not slow.any():
        return tau
    s, q = np.clip(s[slow], -1 + 1e-16, 1 - 1e-16), q[slow]
    low, high, guess = np.zeros_like(s), np.full_like(s, amount), np.full_like(s, amount)
    for _ in range(ITERATIONS):
        late = _lasting(guess, s, q) - amount
        low, high = np.where(late <= 0, guess, low), np.where(late > 0, guess, high)
        D = np.cosh(guess) + s * np.sinh(guess)
        with np.errstate(invalid="ignore"):
            newton = guess - late * (D - q) / D
        new = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
        step, guess = np.abs(new - guess), new
        if np.all(step <= 1e-15 * (1 + guess)):
            break
    tau[slow] = guess
    return tau


def _lasting(tau: np.ndarray, s: np.ndarray, q: np.ndarray) -> np.ndarray:
    r"""$\tau + q\int_0^\tau d\tau'/(D - q)$; infinite beyond the rim of the band.

    $D = R\cosh(\tau' + \sigma)$ with $R = \sqrt{1 - s^2}$, $\tanh\sigma = s$; in $v = \tanh\frac{\tau' + \sigma}2$ the
    integrand is $2\,dv/((R - q) + (R + q)v^2)$.
    """
    R, sigma = np.sqrt((1 - s) * (1 + s)), np.arctanh(s)
    first, last = np.tanh(sigma / 2), np.tanh((tau + sigma) / 2)
    minus, plus = R - q, R + q
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.abs(minus) * plus)
        scale = np.sqrt(plus / np.abs(minus))
        wide = 2 / root * (np.arctan(last * scale) - np.arctan(first * scale))
        narrow = (np.log(np.abs((last * scale - 1) / (last * scale + 1)))
                  - np.log(np.abs((first * scale - 1) / (first * scale + 1)))) / root  # fmt: skip
        # Beyond the rim: D < q on the way, where the integral diverges.
        crossed = (minus < 0) & (first * scale < -1) & (last * scale >= -1)
        middle = 2 * (1 / first - 1 / last) / plus  # R = q
    integral = np.where(minus > 0, wide, np.where(minus < 0, narrow, middle))
    return np.where(crossed, np.inf, tau + q * integral)
