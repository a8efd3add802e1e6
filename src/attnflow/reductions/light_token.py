r"""A token without mass beside a single cluster: the first exact solution, and the same for every $\beta$.

The token $x$ reads the cluster $y$ alone, so that under SA $\dot x = P_x y$, and $c = \langle x, y\rangle$ solves
$\dot c = 1 - c^2$:

$$ c(t) = \tanh(t + \operatorname{artanh} c_0). $$

It is the case $p = 0$ of two clusters. Reference: docs/theory/sphere.md, A light token.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import reals
from ._scalar import check_each, together


def light_token(ts: Any, c0: Any) -> Float[Array, "..."]:
    r"""$\langle x(t), y\rangle$ at the times `ts`, from $c_0 \in [-1, 1]$ at time 0; $\pm 1$ are at rest.

    Times may be negative, and infinite: those are the limits. Broadcast over both.
    """
    ts, c0 = together(ts=reals("ts", ts, infinite=True), c0=reals("c0", c0))
    check_each("c0", c0, lambda c: np.abs(c) <= 1, "is no inner product of unit vectors; take a number from -1 to 1.")
    resting = jnp.abs(c0) == 1
    return jnp.where(resting, c0, jnp.tanh(ts + jnp.arctanh(jnp.where(resting, 0, c0))))
