r"""Activations of a perceptron by name, each with its primitive: $\Phi' = \sigma$.

| name | $\sigma(z)$ | $\Phi(z)$ |
|---|---|---|
| `relu` | $z_+$ | $z_+^2/2$ |
| `tanh` | $\tanh z$ | $\log\cosh z$ |
| `sigmoid` | $1/(1 + e^{-z})$ | $\log(1 + e^z)$ |
| `gelu` | $z\,\Phi_N(z)$ | $\frac12\big((z^2 - 1)\Phi_N(z) + z\varphi_N(z)\big) + \frac14$, zero at 0 |
| `erf` | $\operatorname{erf} z$ | $z\operatorname{erf} z + e^{-z^2}/\sqrt\pi$ |
| `identity` | $z$ | $z^2/2$ |
| `linear` | 1 | $z$ |
| `exp` | $e^z$ | $e^z$ |

`linear` is named after its potential: $U$ is linear and the force constant. The neuron without an activation is
`identity`. $\Phi_N$ and $\varphi_N$ are the distribution function and the density of the standard normal law. Each
function takes a NumPy or a JAX array and gives the same kind, without overflow or cancellation for large $|z|$ (`exp`
overflows where its value does). SiLU and softplus are left out: their primitives are dilogarithms.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import erf as _scipy_erf
from scipy.special import erfc as _scipy_erfc

from ..errors import InputError

Function = Callable[[Any], Any]
FAR = -40.0  # the distribution function of the normal law is zero below, in double precision


class Activation(NamedTuple):
    r"""$\sigma$, its primitive $\Phi$ and its derivative `slope`; `smooth`: whether $\sigma$ is analytic.

    `parity` is the sign $s$ with $\Phi(-z) = s\,\Phi(z)$ up to a polynomial of degree two, 0 if there is none: two
    neurons with opposite weights may cancel that way, and leave a polynomial.
    """

    name: str
    sigma: Function
    primitive: Function
    slope: Function
    smooth: bool = True
    parity: int = 0


def named(name: Any) -> Activation:
    """The activation of that name, or one sentence that says which there are.

    >>> float(named("relu").primitive(np.array(3.0)))
    4.5
    """
    if not isinstance(name, str) or name not in ACTIVATIONS:
        raise InputError(f"activation {name!r} is unknown; choose one of {', '.join(ACTIVATIONS)}.")
    return ACTIVATIONS[name]


def _of(z: Any) -> Any:
    return jnp if isinstance(z, jax.Array) else np


def _positive_part(z: Any) -> Any:
    return _of(z).maximum(z, 0.0)


def _sigmoid(z: Any) -> Any:
    xp = _of(z)
    return xp.exp(-xp.logaddexp(0.0, -z))  # right to the last digits for negative z, too


def _log_cosh(z: Any) -> Any:
    xp = _of(z)
    return xp.abs(z) + xp.log1p(xp.exp(-2 * xp.abs(z))) - math.log(2)


def _normal(z: Any) -> Any:
    """The distribution function of the standard normal law."""
    erfc = jax.scipy.special.erfc if isinstance(z, jax.Array) else _scipy_erfc
    return erfc(z * -math.sqrt(0.5)) / 2


def _normal_density(z: Any) -> Any:
    return _of(z).exp(-z * z / 2) / math.sqrt(2 * math.pi)


def _gelu_primitive(z: Any) -> Any:
    z = _of(z).maximum(z, FAR)  # where the product of a huge and a zero number would be none
    return ((z * z - 1) * _normal(z) + z * _normal_density(z)) / 2 + 0.25


def _gelu_slope(z: Any) -> Any:
    z = _of(z).maximum(z, FAR)
    return _normal(z) + z * _normal_density(z)


def _erf(z: Any) -> Any:
    return jax.scipy.special.erf(z) if isinstance(z, jax.Array) else _scipy_erf(z)


def _erf_slope(z: Any) -> Any:
    return _of(z).exp(-z * z) * (2 / math.sqrt(math.pi))


ACTIVATIONS = {
    a.name: a
    for a in (
        Activation(
            "relu",
            _positive_part,
            lambda z: _positive_part(z) ** 2 / 2,
            lambda z: _of(z).where(z > 0, 1.0, 0.0 * z),
            smooth=False,
            parity=-1,
        ),
        Activation(
            "tanh", lambda z: _of(z).tanh(z), _log_cosh, lambda z: 4 * _sigmoid(2 * z) * _sigmoid(-2 * z), parity=1
        ),
        Activation(
            "sigmoid",
            _sigmoid,
            lambda z: _of(z).logaddexp(0.0, z),
            lambda z: _sigmoid(z) * _sigmoid(-z),
            parity=1,
        ),
        Activation("gelu", lambda z: z * _normal(_of(z).maximum(z, FAR)), _gelu_primitive, _gelu_slope, parity=-1),
        Activation("erf", _erf, lambda z: z * _erf(z) + _erf_slope(z) / 2, _erf_slope, parity=1),
        Activation("identity", lambda z: z, lambda z: z * z / 2, lambda z: 1.0 + 0.0 * z),
        Activation("linear", lambda z: 1.0 + 0.0 * z, lambda z: z, lambda z: 0.0 * z),
        Activation("exp", lambda z: _of(z).exp(z), lambda z: _of(z).exp(z), lambda z: _of(z).exp(z)),
    )
}
