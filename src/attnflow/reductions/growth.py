r"""Linear instability of the uniform measure: which pattern grows out of it, and how fast.

A small spherical harmonic of degree $k$ in the density, on the circle $\cos k\theta$, grows like $e^{\lambda t}$ with

$$ \text{SA:}\quad \lambda = \frac{k(k+d-2)}{\beta}\,\frac{I_{k+d/2-1}(\beta)}{I_{d/2-1}(\beta)}
   \;\overset{d=2}=\; \frac{k^2 I_k(\beta)}{\beta I_0(\beta)}, \qquad
   \text{USA:}\quad \lambda = \frac{k(k+d-2)}{\beta}\, e^\beta \Lambda_k
   \;\overset{d=2}=\; \frac{k^2 I_k(\beta)}{\beta} ,$$

with $\Lambda_k$ of `uniform_measure`. On the circle the fastest mode is near $\sqrt{2\beta}$: the number of clusters
that form first. Reference: docs/theory/sphere.md, Growth of patterns; arXiv:2410.23228.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..checks import finite_array
from ..errors import InputError
from ._scalar import Clock, check_clock, check_each, one_shape
from .uniform_measure import log_eigenvalue, numbers

COLDEST = 1e10


def growth_rate(k: Any, *, beta: Any, d: Any = 2, kind: Clock | Any = "SA") -> Float[Array, "..."]:
    r"""The rate $\lambda$ of degree `k`; `k` and `beta` are broadcast together. Negative never: all patterns grow.

    For `kind="USA"` it is of the order $e^\beta$; the shifted clock has no such factor, and `"beta-USA"` has $\beta$
    more: $k(k+d-2)$ times the kernel's eigenvalue, on the circle $k^2 I_k(\beta)$.
    """
    check_clock(kind)
    beta, k = numbers(d, beta), finite_array("k", k)
    one_shape(k=k, beta=beta)
    check_each("k", k, lambda k: (k >= 0) & (k == np.round(k)), "must be a whole number, at least 0.")
    return jnp.asarray(mode_rates(k, beta, d, kind), jnp.result_type(float))


def fastest_mode(beta: Any, *, d: Any = 2) -> Int[Array, "..."]:
    r"""The degree that grows fastest, $\arg\max_k k(k+d-2) I_{k+d/2-1}(\beta)$; the same for all clocks.

    Vectorised over `beta`.
    """
    beta = numbers(d, beta)
    # e^{-k^2/2 beta} bounds the decay in k: the maximum is never beyond twice its asymptotic place.
    largest = float(beta.max(initial=0.0))
    if largest > COLDEST:
        raise InputError(f"beta = {largest:g}: so many modes are not compared; the fastest is near sqrt(2 beta).")
    k = np.arange(1, 5 + int(2 * np.sqrt(2 * largest + d)))
    return jnp.asarray(k[np.argmax(mode_rates(k, beta[..., None], d, "SA"), axis=-1)])


def mode_rates(k: Any, beta: Any, d: Any, kind: Clock | Any) -> np.ndarray:
    """The same for arrays that are known to be right, in double precision."""
    log_scale = {"SA": -log_eigenvalue(0, d, beta), "shifted USA": np.zeros_like(beta)}.get(kind, beta)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # In logarithms: k^2 / beta overflows where the rate is zero.
        logs = np.log(k) + np.log(np.maximum(k + d - 2, 0)) - np.log(beta) + log_eigenvalue(k, d, beta) + log_scale
        rates = np.where(k > 0, np.exp(logs), 0.0)
    rates = np.where(beta > 0, rates, (d - 1) / d * (k == 1))  # at beta = 0 every token sees the mean alone
    return beta * rates if kind == "beta-USA" else rates
