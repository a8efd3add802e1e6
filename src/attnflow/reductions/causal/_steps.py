"""Steps of the classical Runge-Kutta scheme."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ...flows.schemes.rk4 import TABLEAU as RK4


def rk4(field: Any, x: Array, t: Any, steps: int) -> Array:
    """The flow of `field` for a time, in equal steps of the classical scheme of order four.

    Stages are a loop of their own: `field` and its derivative are compiled once, and not four times.
    """
    h = jnp.asarray(t, x.dtype) / steps
    stages = h * jnp.stack([jnp.asarray(RK4.nodes, x.dtype), jnp.asarray(RK4.weights, x.dtype)], axis=1)

    def step(x: Array, _: None) -> tuple[Array, None]:
        def stage(carry: tuple[Array, Array], part: Array) -> tuple[tuple[Array, Array], None]:
            k, moved = carry
            k = field(x + part[0] * k)
            return (k, moved + part[1] * k), None

        return jax.lax.scan(stage, (jnp.zeros_like(x), x), stages)[0][1], None

    return jax.lax.scan(step, x, None, length=steps)[0]
