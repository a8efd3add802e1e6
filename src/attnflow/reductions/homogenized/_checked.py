"""Checks of the arguments of the homogenised reductions."""

import numpy as np

from ...checks import finite_array, number, real, whole
from ...errors import InputError
from ...spaces import Count, Number, Numbers

STEEPEST = 64.0  # the largest finite inverse temperature that the quadratures of this room resolve
ROUNDING = 1e-6  # of inner products of unit tokens, also in single precision


def dimension(d: Count) -> int:
    return whole("d", d, least=2, most=10**15)


def variance(sigma_V: Number | None, d: int) -> float:
    r"""$\sigma_V^2$, the variance of an entry of V; `None` is $1/d$."""
    if sigma_V is None:
        return 1 / d
    sigma = number("sigma_V", sigma_V)
    if not sigma > 0:
        raise InputError(f"sigma_V = {sigma:g} must be positive; drop it for 1/sqrt(d).")
    return sigma**2


def inverse_temperature(beta: Number, infinite: bool = False) -> float:
    """One number in [0, 64], or infinity where that is allowed."""
    if infinite and real("beta", beta) == np.inf:
        return np.inf
    value = number("beta", beta, least=0)
    if value > STEEPEST:
        instead = "; math.inf is the limit" if infinite else ""
        raise InputError(f"beta = {value:g} is too large; the quadratures here reach {STEEPEST:g}{instead}.")
    return value


def duration(T: Number) -> float:
    time = number("T", T)
    if not time > 0:
        raise InputError(f"T = {time:g} must be positive.")
    return time


def cosines(name: str, q: Numbers, least: float | int = -1) -> np.ndarray:
    """Inner products of unit tokens, of any shape; values outside by rounding are clipped."""
    cosine = finite_array(name, q)
    bad = (cosine < least - ROUNDING) | (cosine > 1 + ROUNDING)
    if bad.any():
        raise InputError(f"{name} = {cosine[bad].flat[0]:g} is no inner product here; take numbers in [{least:g}, 1].")
    return np.asarray(np.clip(cosine, least, 1))
