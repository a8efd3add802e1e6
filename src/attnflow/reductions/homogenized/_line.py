r"""Two tokens on the line: the coordinate $y = \operatorname{artanh}q$ of their inner product, which has no ends.

$$ dy = \sigma_V^2\big[(d-2)\,r + q\,s\big]dt + \sigma_V\sqrt{2s}\,dW, \qquad
   s = \frac{C_{11} - qC_{12}}{1 - q^2}, \quad r = \frac{C_{12} - qC_{11}}{1 - q^2}, \quad q = \tanh y, $$

with $C$ per $\sigma_V^2$. Both functions are bounded: $s = r = 1/2$ at $q = 1$ and for $\beta = 0$, while
$s = (K + C_0)/2$ and $r = (K - C_0)/2$ at $q = -1$. Reference: docs/theory/homogenized.md, Two tokens.
"""

import functools
from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline

from .covariance import two_token_covariance
from .exponents import antipodal_constants

FAR = 9.0  # beyond, 1 - |q| < 4e-8, the functions are at their limits
NODES = 361  # of the table; cubic splines between them are good to 1e-7
Function = Callable[[np.ndarray], np.ndarray]


@functools.lru_cache(maxsize=64)
def shape_functions(beta: float) -> tuple[Function, Function]:
    """`(s, r)` as functions of y."""
    y = np.linspace(-FAR, FAR, NODES)
    q, gap = np.tanh(y), np.cosh(y) ** -2.0
    own, cross = two_token_covariance(q, beta=beta)
    C_0, K = antipodal_constants(beta)
    s, r = (own - q * cross) / gap, (cross - q * own) / gap
    return _continued(y, s, float(K + C_0) / 2), _continued(y, r, float(K - C_0) / 2)


def _continued(y: np.ndarray, values: np.ndarray, at_minus: float) -> Function:
    """A spline through the values, constant beyond: the given limit on the left, one half on the right."""
    spline = CubicSpline(y, values)

    def function(at: np.ndarray) -> np.ndarray:
        inside = spline(np.clip(at, -FAR, FAR))
        return np.where(at < -FAR, at_minus, np.where(at > FAR, 0.5, inside))

    return function


def drift_and_spread(y: np.ndarray, *, d: int, beta: float) -> tuple[np.ndarray, np.ndarray]:
    r"""$(d-2)r + qs$ and $2s$: the drift of $y$ and its quadratic variation, per $\sigma_V^2$."""
    s, r = (function(y) for function in shape_functions(beta))
    return (d - 2) * r + np.tanh(y) * s, 2 * s
