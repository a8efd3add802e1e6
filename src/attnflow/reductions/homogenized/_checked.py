"""What users give to the homogenised reductions, checked."""

from typing import Any

import numpy as np

from ...checks import finite_array, number, real, whole
from ...errors import InputError

STEEPEST = 64.0  # the largest finite inverse temperature that the quadratures of this room resolve
ROUNDING = 1e-6  # of inner products of unit tokens, also in single precision


def dimension(d: Any) -> int:
    return whole("d", d, least=2, most=10**15)


def variance(sigma_V: Any, d: int) -> float:
    r"""$\sigma_V^2$, the variance of an entry of V; `None` is $1/d$."""
    if sigma_V is None:
        return 1 / d
    sigma = number("sigma_V", sigma_V)
    if not sigma > 0:
        raise InputError(f"sigma_V = {sigma:g} must be positive; drop it for 1/sqrt(d).")
    return sigma**2


def inverse_temperature(beta: Any, infinite: bool = False) -> float:
    """One number in [0, 64], or infinity where that is allowed."""
    if infinite and real("beta", beta) == np.inf:
        return np.inf
    found = number("beta", beta, least=0)
    if found > STEEPEST:
        instead = "; math.inf is the limit" if infinite else ""
        raise InputError(f"beta = {found:g} is too large, the quadratures here reach {STEEPEST:g}{instead}.")
    return found


def duration(T: Any) -> float:
    found = number("T", T)
    if not found > 0:
        raise InputError(f"T = {found:g} must be positive.")
    return found


def cosines(name: str, q: Any, least: float | int = -1) -> np.ndarray:
    """Inner products of unit tokens, of any shape; those that rounding put outside are put back."""
    found = finite_array(name, q)
    bad = (found < least - ROUNDING) | (found > 1 + ROUNDING)
    if bad.any():
        raise InputError(f"{name} = {found[bad].flat[0]:g} is no inner product here; take numbers in [{least:g}, 1].")
    return np.asarray(np.clip(found, least, 1))
