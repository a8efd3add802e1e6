r"""One explicit step of fixed size for a whole batch of clouds.

`every(fn, x)` applies a function of one cloud to all of them, whatever the layout of the batch `x`;
`every(fn, x, keys)` one of a cloud and its key. A step takes and
returns the raw state $x$ and its nearest point $y$ on the space, where the field is evaluated: the same arithmetic as
in `simulate`. Both are carried, and the stages are a loop and not written out, because the compiler would otherwise
fold the arithmetic of a token into the sums and repeat it for every pair; what a loop carries is computed once.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..models import AbstractModel
from .tableaux import Tableau, tableaux

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


def runge_kutta(
    tableau: Tableau,
    every: Every,
    model: AbstractModel,
    t: Any,
    h: Any,
    state: State,
    w: Any,
    kernel: str,
    latest: Any = None,
) -> State:
    """A step of an explicit scheme. `latest`: no stage is at a later time, whatever `t + h` rounds to."""
    x = state[0]
    latest = t + h if latest is None else latest
    (moved,) = _stages(tableau, tableau.stages, [tableau.weights], every, model, t, h, state, w, kernel, latest)
    x = x + h * moved
    return x, every(model.space.nearest, x)


def step_error(
    tableau: Tableau, every: Every, model: AbstractModel, t: Any, h: Any, state: State, w: Any, kernel: str
) -> tuple[Array, Array]:
    """The error of a step, by the embedded estimate, and how far it moves the tokens."""
    sums = [tableau.error, tableau.weights]
    off, moved = _stages(tableau, len(tableau.nodes), sums, every, model, t, h, state, w, kernel, jnp.inf)
    return h * off, h * moved


def _stages(
    tableau: Tableau,
    count: int,
    weights: list[tuple[float, ...]],
    every: Every,
    model: AbstractModel,
    t: Any,
    h: Any,
    state: State,
    w: Any,
    kernel: str,
    latest: Any,
) -> list[Array]:
    """Weighted sums of the velocities of the first stages."""
    x, y = state
    here, ahead, *many = (jnp.asarray(c, x.dtype) for c in (tableau.nodes, tableau.ahead, *weights))

    def stage(k: Any, carry: tuple[Array, list[Array]]) -> tuple[Array, list[Array]]:
        z, sums = carry
        v = every(lambda u: _velocity(model, jnp.minimum(t + here[k] * h, latest), u, w, kernel), z)
        return every(model.space.nearest, x + ahead[k] * h * v), [s + b[k] * v for s, b in zip(sums, many, strict=True)]

    return jax.lax.fori_loop(0, count, stage, (y, [jnp.zeros_like(x) for _ in many]))[1]


def _velocity(model: AbstractModel, t: Any, x: Array, w: Any, kernel: str) -> Array:
    return model.space.project(x, model.force(t, x, w, kernel=kernel))


def fixed_steps() -> dict[str, Callable[..., State]]:
    """The step of every solver with a fixed step, by name."""
    explicit = {name: functools.partial(runge_kutta, tableau) for name, tableau in tableaux().items()}
    return explicit | {"euler-retract": euler_retract, "layers": euler_retract}
