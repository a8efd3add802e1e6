r"""How fast two tokens meet, and whether opposite tokens stay opposite.

Near its ends the inner product of two tokens is a geometric Brownian motion. With entries of V of variance
$\sigma_V^2$, $\log(1 - q)$ has the slope $\Lambda_+$ near $q = 1$, and $\log(1 + q)$ the slope $\Lambda_-$ near
$q = -1$:

$$ \Lambda_+ = -(d-1)\sigma_V^2, \qquad \Lambda_- = \sigma_V^2\big[(d-3)K - (d-1)C_0\big], \qquad
   C_0 = \mathbb E\tanh^2(\beta g), \quad K = 1 + \beta^2\,\mathbb E\operatorname{sech}^4(\beta g), $$

with a standard Gaussian $g$.

Two tokens meet at the same rate at every temperature. Opposite tokens attract each other in dimensions 2 and 3 only.

Reference: docs/theory/homogenized.md, Exponents.
"""

import numpy as np

from ...checks import finite_array
from ...errors import InputError
from ...spaces import Count, Number, Numbers
from ._checked import dimension, variance


def collapse_exponent(d: Count, *, sigma_V: Number | None = None) -> float:
    r"""$\Lambda_+$, the slope of $\log(1 - q)$ for two tokens that nearly coincide; `sigma_V=None` is $1/\sqrt d$."""
    d = dimension(d)
    return -(d - 1) * variance(sigma_V, d)


def antipodal_exponent(d: Count, *, beta: Numbers, sigma_V: Number | None = None) -> np.ndarray:
    r"""$\Lambda_-$, the slope of $\log(1 + q)$ for two tokens that are nearly opposite; vectorised over `beta`.

    Negative: opposite tokens attract each other with positive probability. Positive: only collapse remains.
    """
    d = dimension(d)
    C_0, K = antipodal_constants(beta)
    return np.asarray(variance(sigma_V, d) * ((d - 3) * K - (d - 1) * C_0))


def antipodal_constants(beta: Numbers) -> tuple[np.ndarray, np.ndarray]:
    r"""$(C_0, K)$ for any $\beta \ge 0$; $C_0$ is the variance of what each of two opposite tokens reads."""
    beta = finite_array("beta", beta)
    if (beta < 0).any():
        raise InputError(f"beta = {beta.min():g} must not be negative.")
    if (beta > 1e150).any():
        raise InputError(f"beta = {beta.max():g} is too large for its square to be written; take at most 1e150.")
    # The trapezoidal rule in u = beta g is exponentially accurate: steps of a tenth where sech or the Gaussian is wide.
    scale = np.where(beta > 0, beta, 1.0)[..., None]
    u = np.linspace(-20, 20, 801) * np.minimum(scale, 1)
    weight = np.exp(-((u / scale) ** 2) / 2)
    square = 1 / np.cosh(u) ** 2
    total = np.sqrt(2 * np.pi) * scale[..., 0] / (u[..., 1] - u[..., 0])
    # Where the Gaussian is wider than the window, sech has vanished: its total weight is known, not summed. For small
    # beta that would lose all digits.
    narrow = (weight * np.tanh(u) ** 2).sum(axis=-1) / total
    C_0 = np.where(beta > 1, 1 - (weight * square).sum(axis=-1) / total, narrow)
    K = 1 + beta**2 * (weight * square**2).sum(axis=-1) / total
    return np.where(beta > 0, C_0, 0.0), np.where(beta > 0, K, 1.0)
