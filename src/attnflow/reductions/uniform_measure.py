r"""The uniform measure $\sigma_d$ on $S^{d-1}$: its energy, and how the exponential kernel acts around it.

The kernel $e^{\beta(\langle x, y\rangle - 1)}$ multiplies every spherical harmonic of degree $l$ by one number
(Funk and Hecke):

$$ \Lambda_l = e^{-\beta}\,\Gamma(\tfrac d2)\,\Big(\frac2\beta\Big)^{d/2-1} I_{l + d/2 - 1}(\beta)
   = e^{-\beta}\,\frac{\Gamma(d/2)}{\Gamma(l + d/2)}\Big(\frac\beta2\Big)^l\,
     {}_0F_1\big(; l + \tfrac d2; \tfrac{\beta^2}4\big). $$

The energy of the uniform measure is the number of the constants, $\widehat E(\sigma_d) = \Lambda_0$. It is the least
energy of all probability measures. Reference: arXiv:2312.10794, proposition 3.4.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import gammaln, hyp0f1, ive, xlogy

from ..checks import finite_array, whole
from ..errors import InputError, shown
from ..spaces import is_concrete
from ._scalar import check_each

SCALES = ("Ehat", "E", "E_p")
HIGH = 100.0  # orders of Bessel functions for which Debye's expansion has 10 digits
MOST = 10**6  # dimensions: the series of the Bessel functions are summed that far


def uniform_energy(d: Any, *, beta: Any, scale: Any = "Ehat") -> Float[Array, "..."]:
    r"""The energy of the uniform measure on $S^{d-1}$, on the scale of `af.energy`; vectorised over `beta`.

    `"Ehat"` lies in (0, 1] and is 1 at $\beta = 0$; `"E"` is $e^\beta\widehat E/2\beta$, `"E_p"` is
    $\widehat E/2\beta$.
    """
    if not isinstance(scale, str) or scale not in SCALES:
        raise InputError(f"energy scale {shown(scale)} is unknown; choose one of {', '.join(SCALES)}.")
    beta = numbers(d, beta)
    if scale != "Ehat" and np.any(beta == 0):
        raise InputError(f"at beta = 0 the scale {scale!r} diverges; ask for 'Ehat'.")
    log_energy = log_eigenvalue(0, d, beta)
    if scale != "Ehat":
        log_energy = log_energy - np.log(2 * beta) + (beta if scale == "E" else 0)
    with np.errstate(over="ignore"):
        return jnp.asarray(np.exp(log_energy), jnp.result_type(float))


def uniform_mean(kappa: Any, *, d: Any) -> Float[Array, "..."]:
    r"""$I_{d/2}(\kappa)/I_{d/2-1}(\kappa) = \Lambda_1/\Lambda_0$: how far a query reads into the uniform measure.

    Softmax attention of a query $x$ to the uniform measure on $S^{d-1}$ reads the mean $\rho\,y^*$ with
    $y^* = B^\top x/|B^\top x|$, and $\rho$ is this ratio at $\kappa = \beta|B^\top x|$. It is 0 at $\kappa = 0$ and
    $1 - \frac{d-1}{2\kappa} + \dots$ for large $\kappa$; vectorised over `kappa`.
    """
    kappa = numbers(d, kappa)
    return jnp.asarray(np.exp(log_eigenvalue(1, d, kappa) - log_eigenvalue(0, d, kappa)), jnp.result_type(float))


def log_eigenvalue(l: Any, d: Any, beta: Any) -> np.ndarray:  # noqa: E741 (the degree is called l)
    r"""$\log\Lambda_l$, in float64 by SciPy; $-\infty$ where $\Lambda_l = 0$, at $\beta = 0$."""
    l, order = np.asarray(l, float), np.asarray(l, float) + d / 2 - 1  # noqa: E741
    l, order, beta = np.broadcast_arrays(l, order, beta)  # noqa: E741
    bessel = ive(order, beta)
    # In high dimension, or at high degree, the Bessel function underflows where its series is well in range.
    tiny = (bessel < 1e-280) | (beta == 0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        series = hyp0f1(order + 1, np.where(tiny, beta, 0) ** 2 / 4)
        by_bessel = gammaln(d / 2) + (d / 2 - 1) * np.log(2 / beta) + _log_ive(order, beta, bessel)
        by_series = gammaln(d / 2) - gammaln(order + 1) + xlogy(l, beta / 2) - beta + np.log(series)
    return np.where(tiny & np.isfinite(series), by_series, by_bessel)


def _log_ive(order: Any, x: Any, known: Any) -> np.ndarray:
    r"""$\log e^{-x}I_\nu(x)$, also where SciPy's number is zero (a high order) or not a number (a large argument).

    Debye's expansion for a high order, with $p = (1 + (x/\nu)^2)^{-1/2}$, and Hankel's for a large argument.
    """
    lost = ~(known >= 1e-280)
    nu = np.where(lost & (order >= HIGH), order, HIGH)
    z = x / nu
    root = np.hypot(1, z)
    p = 1 / root
    u1 = (3 * p - 5 * p**3) / 24
    u2 = (81 * p**2 - 462 * p**4 + 385 * p**6) / 1152
    u3 = (30375 * p**3 - 369603 * p**5 + 765765 * p**7 - 425425 * p**9) / 414720
    eta = 1 / (root + z) + np.log(z / (1 + root))  # less x / nu
    debye = nu * eta - np.log(2 * np.pi * nu) / 2 - np.log(root) / 2 + np.log1p(u1 / nu + u2 / nu**2 + u3 / nu**3)
    m = 4 * order**2
    large = np.where(lost, 8 * x, np.inf)
    hankel = np.log1p(-(m - 1) / large * (1 - (m - 9) / (2 * large))) - np.log(2 * np.pi * x) / 2
    return np.where(lost, np.where(order >= HIGH, debye, hankel), np.log(np.where(lost, 1.0, known)))


def numbers(d: Any, beta: Any) -> np.ndarray:
    """`beta` as NumPy numbers, the dimension checked along."""
    if whole("d", d, least=-(2**62), most=MOST) < 2:
        raise InputError(f"d = {d}: a sphere with a uniform measure to speak of has d >= 2.")
    if not is_concrete(beta):
        raise InputError(
            "Bessel functions come from SciPy: call this outside jit, grad and vmap (beta may be an array)."
        )
    known = finite_array("beta", beta)
    check_each("beta", known, lambda beta: beta >= 0, "must be finite and not negative.")
    return known
