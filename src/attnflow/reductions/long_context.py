r"""One attention layer on a long context: does it keep tokens apart, or make them all alike?

$n$ unit tokens have inner products $\rho$, and the inverse temperature grows with the context, $\beta = c\log n$. By
symmetry a token attends to itself with the weight $a$ and to each other one with $b = (1-a)/(n-1)$,

$$ a = \frac{1}{1 + (n-1)\, n^{-c(1-\rho)}}, $$

and two outputs $y_i = a x_i + b\sum_{j \ne i} x_j$ (the attention alone, $V = I$, no residual) have the cosine

$$ 1 - \frac{(a-b)^2(1-\rho)}{|y|^2}, \qquad |y|^2 = (a-b)^2 + b\,(2(a-b) + nb)\,(1 + (n-1)\rho) . $$

As $n \to \infty$ a phase transition: 1 for $c < 1/(1-\rho)$, $4\rho/(1+3\rho)$ at equality, $\rho$ above.

Reference: arXiv:2512.01868, section 6; docs/theory/sphere.md, Long context.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..checks import reals
from ._scalar import check_each, together


def long_context_cosine(rho: Any, c: Any, n: Any = None) -> Float[Array, "..."]:
    r"""The cosine of two outputs of one layer at $\beta = c\log n$, exactly; `n=None` is the limit of a long context.

    Broadcast over `rho` in (0, 1), `c` and `n`, which may be as large as a float can be.
    """
    rho, c = reals("rho", rho), reals("c", c)
    check_each("rho", rho, lambda rho: (rho > 0) & (rho < 1), "must lie strictly between 0 and 1.")
    check_each("c", c, lambda c: c >= 0, "must be finite and not negative (beta = c log n).")
    if n is None:
        return _limit(*together(rho=rho, c=c))
    n = reals("n", n)
    check_each("n", n, lambda n: n >= 2, "is too small; a context has at least two tokens.")
    return _finite(*together(rho=rho, c=c, n=n))


def _finite(rho: Array, c: Array, n: Array) -> Array:
    a = 1 / (1 + jnp.exp(jnp.log(n - 1) - c * (1 - rho) * jnp.log(n)))
    b = (1 - a) / (n - 1)
    mean = (1 + (n - 1) * rho) / n  # of a row of the Gram matrix
    square = (a - b) ** 2 + n * b * (2 * (a - b) + n * b) * mean
    return 1 - (a - b) ** 2 * (1 - rho) / square


def _limit(rho: Array, c: Array) -> Array:
    excess = c * (1 - rho) - 1
    critical = jnp.abs(excess) <= 8 * jnp.finfo(rho.dtype).eps  # a product that is 1 up to rounding
    return jnp.where(critical, 4 * rho / (1 + 3 * rho), jnp.where(excess < 0, jnp.ones_like(rho), rho))
