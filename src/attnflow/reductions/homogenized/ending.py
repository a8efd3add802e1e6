r"""The limits of two tokens: together, or opposite to each other.

The diffusion of $y = \operatorname{artanh}q$ (see `_line`) has the scale function $S$ with
$S' = \exp\big(-\int\frac{(d-2)r + qs}{s}\,dy\big)$, and $q$ ends at $+1$ with the probability

$$ \frac{S(y_0) - S(-\infty)}{S(\infty) - S(-\infty)} , $$

which is 1 where $S(-\infty) = -\infty$, that is where $\Lambda_- \ge 0$. In the plane $2b/a = q$ at every
temperature, and the probability is $1 - \arccos(q_0)/\pi$: the angle is a martingale.

Reference: docs/theory/homogenized.md, Where two tokens end.
"""

import numpy as np
from scipy.interpolate import CubicSpline

from ...spaces import Count, Number, Numbers
from ._checked import cosines, dimension, inverse_temperature
from ._line import FAR, drift_and_spread
from .exponents import antipodal_exponent


def collapse_probability(q0: Numbers, *, d: Count, beta: Number) -> np.ndarray:
    r"""The probability that two tokens with the inner product $q_0$ meet in the end, for every $q_0$ in $[-1, 1]$.

    It does not depend on $\sigma_V$. The rest of the probability is to become opposite; exactly opposite tokens stay.
    """
    q0, d, beta = cosines("q0", q0), dimension(d), inverse_temperature(beta)
    if antipodal_exponent(d, beta=beta, sigma_V=1.0) >= 0:
        return np.where(q0 <= -1, 0.0, 1.0)
    y = np.linspace(-FAR, FAR, 3601)
    drift, spread = drift_and_spread(y, d=d, beta=beta)
    ratio = 2 * drift / spread
    log_slope = -CubicSpline(y, ratio).antiderivative()(y)
    slope = np.exp(log_slope - log_slope.max())
    # Outside, the ratio is constant and S' an exponential.
    left, right = slope[0] / -ratio[0], slope[-1] / ratio[-1]
    inner = CubicSpline(y, slope).antiderivative()
    with np.errstate(divide="ignore"):
        y0 = np.arctanh(q0)
    below = np.where(
        y0 < -FAR, left * np.exp(np.minimum(-ratio[0] * (y0 + FAR), 0)), left + inner(np.clip(y0, -FAR, FAR))
    )
    above = np.where(y0 > FAR, right * np.exp(np.minimum(-ratio[-1] * (y0 - FAR), 0)), 0.0)
    total = left + float(inner(FAR)) + right
    return np.where(y0 > FAR, 1 - above / total, below / total)
