r"""How many modes to expect: Gaussian data on the line, uniform tokens on the circle.

On the line, $X_1, \dots, X_n$ are independent $N(0, 1)$ and the density estimate has the bandwidth $\beta^{-1/2}$.
Modes are up-crossings of zero of $F(t) = \sum_i g(t - X_i)$, $g(u) = u e^{-\beta u^2/2}$. If $(F, F')$
were Gaussian, the formula of Kac and Rice would give their density at $t$,

$$ \frac{\varphi(\sqrt n\, m_1/\sqrt{v_{11}})}{\sqrt{v_{11}}}
   \Big[c\,\Phi\big(\tfrac c s\big) + s\,\varphi\big(\tfrac c s\big)\Big], \qquad
   c = \sqrt n\Big(m_2 - \frac{v_{12}}{v_{11}} m_1\Big), \quad s^2 = v_{22} - \frac{v_{12}^2}{v_{11}}, $$

$m$ and $v$ the means and covariances of $g(t - X)$ and $g'(t - X)$. Most modes are in the belt
$2\log n - 3\log\beta \le t^2 \le 2\log n - \log\beta$. Past it few tokens are within a bandwidth, their sum is not
Gaussian, and the formula invents modes without bound.

On the circle, as $n \to \infty$, the number is $\sqrt{\sum_k k^4 I_k(\beta)^2 / \sum_k k^2 I_k(\beta)^2}$.
Derivations: docs/theory/modes.md. Reference: arXiv:2412.09080.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float
from scipy.special import ive, ndtr

from ..checks import finite_array
from ..errors import InputError
from ..spaces import Numbers
from ._scalar import check_each, gauss_legendre, one_shape

LARGEST = 1e100
COLD = 1e6  # beyond, two terms of the expansion for large beta are right to the last digits


def belt(*, n: Numbers, beta: Numbers) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    r"""Where most modes are, $t_- \le |t| \le t_+$: $t_\pm^2 = 2\log n - 2\log\beta \pm \log\beta$, at least 0.

    For $\beta \ge 1$. Broadcast over both arguments, as all functions here.
    """
    n, beta = _checked(n, beta)
    check_each(
        "beta", beta, lambda beta: beta >= 1, "has no belt; that is one of narrow bandwidths, beta of at least 1."
    )
    return _ends(n, beta)


def _ends(n: np.ndarray, beta: np.ndarray) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    both = (2 * np.log(n) - factor * np.log(beta) for factor in (3, 1))
    low, high = (_answer(np.sqrt(np.maximum(square, 0))) for square in both)
    return low, high


def belt_modes(*, n: Numbers, beta: Numbers) -> Float[Array, "..."]:
    r"""The expected number to leading order, $\frac1\pi\sqrt{3\beta/2}\,(t_+ - t_-)$, with the belt $t_\pm$.

    It converges slowly: at $n = 10^4$ it is too large by 46 per cent at $\beta = 100$, and by 4 at $\beta = 1000$.
    """
    low, high = (np.asarray(t) for t in belt(n=n, beta=beta))
    _check_crowded(n, beta)
    return _answer(np.sqrt(1.5 * _checked(n, beta)[1]) / np.pi * (high - low))


def kac_rice_density(t: Numbers, *, n: Numbers, beta: Numbers) -> Float[Array, "..."]:
    """Expected modes per unit length at `t`; all arguments are broadcast together. Use it up to the end of the belt."""
    n, beta = _checked(n, beta)
    t = finite_array("t", t)
    one_shape(t=t, n=n, beta=beta)
    m1, m2 = _moment(t, beta, 1), _moment(t, beta, 0) - beta * _moment(t, beta, 2)
    second = [_moment(t, 2 * beta, k) for k in range(5)]
    v11 = second[2] - m1**2
    v12 = second[1] - beta * second[3] - m1 * m2
    v22 = second[0] - 2 * beta * second[2] + beta**2 * second[4] - m2**2
    with np.errstate(invalid="ignore", divide="ignore", under="ignore"):
        c, s = (
            np.sqrt(n) * (m2 - v12 / v11 * m1),
            np.sqrt(np.maximum(v22 - v12**2 / v11, 0)),
        )  # s is 0 below its rounding
        rising = c * ndtr(c / s) + s * _normal(c / s)
        return _answer(_normal(np.sqrt(n) * m1 / np.sqrt(v11)) / np.sqrt(v11) * rising)


def expected_modes_line(*, n: Numbers, beta: Numbers, up_to: Numbers | None = None) -> Float[Array, "..."]:
    r"""The expected number of modes with $|t| \le$ `up_to`, by default the end $t_+$ of the belt.

    The Gaussian law behind it is an approximation: at $n = 1000$, $\beta = 100$ it is 0.8 per cent too large. Modes
    further out are not counted; they are a few, each of one token or two.
    """
    if up_to is None:
        _check_crowded(n, beta)
        up_to = _ends(*_checked(n, beta))[1]
    end = finite_array("up_to", up_to)
    check_each("up_to", end, lambda end: end >= 0, "must not be negative: modes with |t| <= up_to are counted.")
    n, beta = _checked(n, beta)
    one_shape(n=n, beta=beta, up_to=end)
    n, beta, end = np.broadcast_arrays(n, beta, end)
    nodes, weights = gauss_legendre()
    t = end[..., None] / 2 * (nodes + 1)
    density = np.asarray(kac_rice_density(t, n=n[..., None], beta=beta[..., None]), float)
    return _answer(end * np.sum(weights * density, axis=-1))


def expected_modes_circle(beta: Numbers) -> Float[Array, "..."]:
    r"""The expected number of modes of $\sum_j e^{\beta\cos(\theta - \theta_j)}$ for many uniform tokens.

    It is 1 as $\beta \to 0$ and $\sqrt{3\beta/2}$ as $\beta \to \infty$.
    """
    beta = finite_array("beta", beta)
    if not np.all(beta > 0):
        raise InputError(f"beta = {beta.min():g} must be known, finite and larger than 0.")
    # I_k falls like e^{-k²/2β}, and faster than any power where k is larger than β.
    k = np.arange(1, 40 + int(9 * np.sqrt(np.minimum(beta, COLD).max(initial=0.0))))
    warm = np.clip(beta, 1e-100, COLD)[..., None]  # below, the first mode is all there is to the last digit
    ratio = ive(k, warm) / ive(1, warm)
    count = np.sqrt(np.sum(k**4.0 * ratio**2, axis=-1) / np.sum(k**2.0 * ratio**2, axis=-1))
    return _answer(np.where(beta > COLD, np.sqrt(1.5 * beta) * (1 - 1 / (24 * beta)), count))


def _check_crowded(n: Numbers, beta: Numbers) -> None:
    """Refuse bandwidths so narrow that the belt is empty."""
    many, beta = np.broadcast_arrays(*_checked(n, beta))
    alone = "is n^2 or more: the belt is empty, and tokens stand alone; count the modes of a sample."
    check_each("beta", beta, lambda beta: beta < many**2, alone)


def _moment(t: Any, a: Any, k: int) -> Any:
    r"""$E[u^k e^{-au^2/2}]$ for $u \sim N(t, 1)$: the factor of the Gaussians, times a moment of their product."""
    s = 1 / (1 + a)
    mean = t * s
    moments = (
        1.0,
        mean,
        mean**2 + s,
        mean**3 + 3 * mean * s,
        mean**4 + 6 * mean**2 * s + 3 * s**2,
    )
    return np.sqrt(s) * np.exp(-(t**2) * a * s / 2) * moments[k]


def _normal(x: Any) -> Any:
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def _checked(n: Numbers, beta: Numbers) -> tuple[np.ndarray, np.ndarray]:
    n, beta = finite_array("n", n), finite_array("beta", beta)
    one_shape(n=n, beta=beta)
    check_each("n", n, lambda n: n >= 2, "is too small; the law of many tokens needs two of them at least.")
    squares = f"must be larger than 0 and below {LARGEST:g}, where its squares overflow."
    check_each("beta", beta, lambda beta: (beta > 0) & (beta < LARGEST), squares)
    return n, beta


def _answer(values: ArrayLike) -> Float[Array, "..."]:
    return jnp.asarray(values, jnp.result_type(float))
