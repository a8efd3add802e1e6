r"""One explicit step of fixed size for a whole batch of clouds.

`every(fn, x)` applies a function of one cloud to all of them, whatever the layout of the batch `x`;
`every(fn, x, keys)` one of a cloud and its key. A step takes and
returns the raw state $x$ and its nearest point $y$ on the space, where the field is evaluated: the same arithmetic as
in `simulate`. Both are carried, and the stages are a loop and not written out, because the compiler would otherwise
fold the arithmetic of a token into the sums and repeat it for every pair; what a loop carries is computed once.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..models import AbstractModel

Every = Callable[..., Any]
State = tuple[Array, Array]


def euler_retract(
    every: Every, model: AbstractModel, t: Any, h: Any, state: State, w: Any, kernel: str, keys: Any = None
) -> State:
    """The authors' scheme: the unprojected force, then back to the space. `keys`, one per cloud, for random models."""

    def step(z: Array, key: Any = None) -> Array:
        return model.space.retract(z, h * model.force(t, z, w, key=key, kernel=kernel))

    y = every(step, state[1]) if keys is None else every(step, state[1], keys)
    return y, y


def euler(every: Every, model: AbstractModel, t: Any, h: Any, state: State, w: Any, kernel: str) -> State:
    x, y = state
    x = x + h * every(lambda z: _velocity(model, t, z, w, kernel), y)
    return x, every(model.space.nearest, x)


def rk4(
    every: Every, model: AbstractModel, t: Any, h: Any, state: State, w: Any, kernel: str, latest: Any = None
) -> State:
    """The classical method. `latest`: no stage hears a later time, whatever `t + h` rounds to."""
    x, y = state
    latest = t + h if latest is None else latest
    here, weight, ahead = (
        jnp.asarray(c, x.dtype) for c in ([0, 1 / 2, 1 / 2, 1], [1 / 6, 1 / 3, 1 / 3, 1 / 6], [1 / 2, 1 / 2, 1, 0])
    )

    def stage(k: Any, carry: State) -> State:
        z, total = carry
        v = every(lambda u: _velocity(model, jnp.minimum(t + here[k] * h, latest), u, w, kernel), z)
        return every(model.space.nearest, x + ahead[k] * h * v), total + weight[k] * v

    _, total = jax.lax.fori_loop(0, 4, stage, (y, jnp.zeros_like(x)))
    x = x + h * total
    return x, every(model.space.nearest, x)


# Of a flow: when its stages are, how far ahead the next is, their weights, and those of the error that `simulate` sees.
TABLEAUX = {
    "rk4": ((0, 1 / 2, 1 / 2, 1), (1 / 2, 1 / 2, 1, 0), (1 / 6, 1 / 3, 1 / 3, 1 / 6), (1 / 6, 0, -1 / 3, 1 / 6)),
    "euler": ((0, 1), (1, 0), (1, 0), (-1 / 2, 1 / 2)),
}


def step_error(
    every: Every, model: AbstractModel, t: Any, h: Any, state: State, w: Any, kernel: str, solver: str
) -> tuple[Array, Array]:
    """The error of a step, by the solver's embedded estimate, and how far it moves the tokens."""
    x, y = state
    here, ahead, weight, error = (jnp.asarray(c, x.dtype) for c in TABLEAUX[solver])

    def stage(k: Any, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        z, off, moved = carry
        v = h * every(lambda u: _velocity(model, t + here[k] * h, u, w, kernel), z)
        return every(model.space.nearest, x + ahead[k] * v), off + error[k] * v, moved + weight[k] * v

    none = jnp.zeros_like(x)
    _, off, moved = jax.lax.fori_loop(0, len(here), stage, (y, none, none))
    return off, moved


def _velocity(model: AbstractModel, t: Any, x: Array, w: Any, kernel: str) -> Array:
    return model.space.project(x, model.force(t, x, w, kernel=kernel))


STEPS: dict[str, Callable[..., State]] = {
    "rk4": rk4,
    "euler": euler,
    "euler-retract": euler_retract,
    "layers": euler_retract,
}
