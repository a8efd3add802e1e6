r"""One explicit step of fixed size for a whole batch of clouds.

`every(fn, x)` applies a function of one cloud to all of them, whatever the layout of the batch `x`. Stages are a loop
and not written out, because the compiler would otherwise fold the arithmetic of a stage into the next stage's sums and
repeat it for every pair of tokens; what a loop carries is computed once.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..models import AbstractModel

Every = Callable[[Callable[[Array], Array], Array], Array]


def euler_retract(every: Every, model: AbstractModel, t: Any, h: Any, x: Array, w: Any, kernel: str) -> Array:
    """The authors' scheme: the unprojected force, then back to the space."""
    return every(lambda y: model.space.retract(y, h * model.force(t, y, w, kernel=kernel)), x)


def euler(every: Every, model: AbstractModel, t: Any, h: Any, x: Array, w: Any, kernel: str) -> Array:
    return every(lambda y: model.space.retract(y, h * _velocity(model, t, y, w, kernel)), x)


def rk4(every: Every, model: AbstractModel, t: Any, h: Any, x: Array, w: Any, kernel: str) -> Array:
    """The classical method; each stage is evaluated on the space."""
    dtype = x.dtype
    here, weight, ahead = (
        jnp.asarray(c, dtype) for c in ([0, 1 / 2, 1 / 2, 1], [1 / 6, 1 / 3, 1 / 3, 1 / 6], [1 / 2, 1 / 2, 1, 0])
    )

    def stage(k: Any, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        y, total = carry
        v = every(lambda z: _velocity(model, t + here[k] * h, z, w, kernel), y)
        return every(model.space.nearest, x + ahead[k] * h * v), total + weight[k] * v

    _, total = jax.lax.fori_loop(0, 4, stage, (x, jnp.zeros_like(x)))
    return every(model.space.nearest, x + h * total)


def _velocity(model: AbstractModel, t: Any, x: Array, w: Any, kernel: str) -> Array:
    return model.space.project(x, model.force(t, x, w, kernel=kernel))


STEPS: dict[str, Callable[..., Array]] = {"rk4": rk4, "euler": euler, "euler-retract": euler_retract}
