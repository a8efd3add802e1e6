r"""A token without mass beside a single cluster: the first exact solution, and the same for every $\beta$.

The token $x$ reads the cluster $y$ alone, so that under SA $\dot x = P_x y$, and $c = \langle x, y\rangle$ solves
$\dot c = 1 - c^2$:

$$ c(t) = \tanh(t + \operatorname{artanh} c_0). $$

It is the case $p = 0$ of two clusters. Reference: docs/theory/sphere.md, A light token.
"""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..errors import InputError
from ..spaces import Numbers, is_concrete


def light_token(ts: Numbers, c0: ArrayLike) -> Float[Array, "..."]:
    r"""$\langle x(t), y\rangle$ at the times `ts`, from $c_0 \in [-1, 1]$ at time 0; $\pm 1$ are at rest."""
    c0 = jnp.asarray(c0, jnp.result_type(float))
    if is_concrete(c0) and not bool(jnp.all(jnp.abs(c0) <= 1)):
        raise InputError(f"c0 = {c0} is no inner product of unit vectors; take a number from -1 to 1.")
    return jnp.tanh(jnp.asarray(ts, c0.dtype) + jnp.arctanh(c0))
