r"""The uniform measure $\sigma_d$ on $S^{d-1}$: its energy, and how the exponential kernel acts around it.

The kernel $e^{\beta(\langle x, y\rangle - 1)}$ multiplies every spherical harmonic of degree $l$ by one number
(Funk and Hecke):

$$ \Lambda_l = e^{-\beta}\,\Gamma(\tfrac d2)\,\Big(\frac2\beta\Big)^{d/2-1} I_{l + d/2 - 1}(\beta)
   = e^{-\beta}\,\frac{\Gamma(d/2)}{\Gamma(l + d/2)}\Big(\frac\beta2\Big)^l\,
     {}_0F_1\big(; l + \tfrac d2; \tfrac{\beta^2}4\big). $$

The energy of the uniform measure is the number of the constants, $\widehat E(\sigma_d) = \Lambda_0$. It is the least
energy of all probability measures. Reference: arXiv:2312.10794, proposition 3.4.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import gammaln, hyp0f1, ive, xlogy

from ..errors import InputError
from ..spaces import Numbers, is_concrete
from ._scalar import check_beta

SCALES = ("Ehat", "E", "E_p")


def uniform_energy(d: int, *, beta: Numbers, scale: str = "Ehat") -> Float[Array, "..."]:
    r"""The energy of the uniform measure on $S^{d-1}$, on the scale of `af.energy`; vectorised over `beta`.

    `"Ehat"` lies in (0, 1] and is 1 at $\beta = 0$; `"E"` is $e^\beta\widehat E/2\beta$, `"E_p"` is
    $\widehat E/2\beta$.
    """
    if scale not in SCALES:
        raise InputError(f"energy scale {scale!r} is unknown; choose one of {', '.join(SCALES)}.")
    beta = numbers(d, beta)
    if scale != "Ehat" and np.any(beta == 0):
        raise InputError(f"at beta = 0 the scale {scale!r} diverges; ask for 'Ehat'.")
    log_energy = log_eigenvalue(0, d, beta)
    if scale != "Ehat":
        log_energy = log_energy - np.log(2 * beta) + (beta if scale == "E" else 0)
    with np.errstate(over="ignore"):
        return jnp.asarray(np.exp(log_energy), jnp.result_type(float))


def uniform_mean(kappa: Numbers, *, d: int) -> Float[Array, "..."]:
    r"""$I_{d/2}(\kappa)/I_{d/2-1}(\kappa) = \Lambda_1/\Lambda_0$: how far a query reads into the uniform measure.

    Softmax attention of a query $x$ to the uniform measure on $S^{d-1}$ reads the mean $\rho\,y^*$ with
    $y^* = B^\top x/|B^\top x|$, and $\rho$ is this ratio at $\kappa = \beta|B^\top x|$. It is 0 at $\kappa = 0$ and
    $1 - \frac{d-1}{2\kappa} + \dots$ for large $\kappa$; vectorised over `kappa`.
    """
    kappa = numbers(d, kappa)
    return jnp.asarray(np.exp(log_eigenvalue(1, d, kappa) - log_eigenvalue(0, d, kappa)), jnp.result_type(float))


def log_eigenvalue(l: Numbers, d: int, beta: np.ndarray) -> np.ndarray:  # noqa: E741 (the degree is called l)
    r"""$\log\Lambda_l$, in float64 by SciPy; $-\infty$ where $\Lambda_l = 0$, at $\beta = 0$."""
    l, order = np.asarray(l, float), np.asarray(l, float) + d / 2 - 1  # noqa: E741
    bessel = ive(order, beta)
    # In high dimension, or at high degree, the Bessel function underflows where its series is well in range.
    tiny = (bessel < 1e-280) | (beta == 0)
    series = hyp0f1(order + 1, np.where(tiny, beta, 0) ** 2 / 4)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_bessel = gammaln(d / 2) + (d / 2 - 1) * np.log(2 / beta) + np.log(bessel)
        by_series = gammaln(d / 2) - gammaln(order + 1) + xlogy(l, beta / 2) - beta + np.log(series)
    return np.where(tiny, by_series, by_bessel)


def numbers(d: int, beta: Numbers) -> np.ndarray:
    """`beta` as NumPy numbers, the dimension checked along."""
    if d < 2:
        raise InputError(f"d = {d}: a sphere with a uniform measure to speak of has d >= 2.")
    if not is_concrete(beta):
        raise InputError(
            "Bessel functions come from SciPy: call this outside jit, grad and vmap (beta may be an array)."
        )
    check_beta(beta)
    return np.asarray(beta, float)
