r"""Scaled Bessel functions of all orders at once, in XLA, for a temperature that is data.

The ratios $r_k = I_{k+\nu}(\beta)/I_{k-1+\nu}(\beta)$ satisfy the continued fraction

$$ r_k = \frac{\beta}{2(k + \nu) + \beta\, r_{k+1}} , $$

which is stable downwards (Miller) and needs no exception at $\beta = 0$. The scale follows from the value of the
kernel at its top, $c_0 + 2\sum_k c_k = 1$ on the circle ($\nu = 0$), $\sum_l (2l+1) a_l = 1$ on the sphere
($\nu = \frac12$): sums of positive terms, so that every coefficient is right to rounding, relative to itself.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# The fraction starts this far beyond the last order. What it starts with is forgotten like the square of the ratios.
BEYOND = 16


def circle_coefficients(beta: Float[Array, ""], K: int) -> Float[Array, " k"]:
    r"""$c_k = e^{-|\beta|} I_k(\beta)$, $k = 0, \dots, K$."""
    return _coefficients(beta, 0.0, np.where(np.arange(K + 1) == 0, 1.0, 2.0))


def sphere_coefficients(beta: Float[Array, ""], L: int) -> Float[Array, " l"]:
    r"""$a_l = e^{-|\beta|} i_l(\beta)$, $l = 0, \dots, L$, with $i_l = \sqrt{\pi/2\beta}\, I_{l+1/2}$."""
    return _coefficients(beta, 0.5, 2.0 * np.arange(L + 1) + 1)


def _coefficients(beta: Array, order: float, multiplicity: np.ndarray) -> Float[Array, " k"]:
    size = jnp.abs(beta)
    twice = 2 * (np.arange(1, multiplicity.size + BEYOND) + order)

    def down(ratio: Array, twice: Array) -> tuple[Array, Array]:
        ratio = size / (twice + size * ratio)
        return ratio, ratio

    _, ratios = jax.lax.scan(down, jnp.zeros_like(size), jnp.asarray(twice, size.dtype), reverse=True)
    relative = jnp.cumprod(jnp.concatenate([jnp.ones_like(ratios[:1]), ratios[: multiplicity.size - 1]]))
    coefficients = relative / jnp.sum(jnp.asarray(multiplicity, size.dtype) * relative)
    odd = jnp.asarray(np.arange(multiplicity.size) % 2 == 1)
    return jnp.where(odd & (beta < 0), -coefficients, coefficients)  # of negative beta: those of the antipodal kernel
