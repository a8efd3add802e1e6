"""Compiled programs, one per model structure and shape: a slider that moves a number never compiles again.

The least recently used programs are dropped, so that visitors who try every n do not fill the memory.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..flows.compiled import compiler_options
from ..flows.steps import STEPS
from ..models import AbstractModel

_CAPACITY = 96
_programs: OrderedDict[Hashable, Any] = OrderedDict()
_lock = threading.Lock()


def call(fn: Callable[..., Any], *args: Any) -> Any:
    """`fn(*args)`, compiled; arrays are data, everything else is part of the program. Safe from several threads."""
    arrays, rest = eqx.partition(args, eqx.is_array)
    program = _find(fn, arrays, rest)
    return jax.block_until_ready(program(arrays))


def is_ready(fn: Callable[..., Any], *args: Any) -> bool:
    """Whether such a call would run at once."""
    arrays, rest = eqx.partition(args, eqx.is_array)
    with _lock:
        return _key(fn, arrays, rest) in _programs


def _find(fn: Callable[..., Any], arrays: Any, rest: Any) -> Any:
    key = _key(fn, arrays, rest)
    with _lock:
        if key in _programs:
            _programs.move_to_end(key)
            return _programs[key]
    # Not under the lock: others go on while this compiles. Two that compile the same do no harm.
    program = jax.jit(lambda a: fn(*eqx.combine(a, rest))).lower(arrays).compile(compiler_options())
    with _lock:
        _programs[key] = program
        while len(_programs) > _CAPACITY:
            _programs.popitem(last=False)
    return program


def _key(fn: Callable[..., Any], arrays: Any, rest: Any) -> Hashable:
    leaves, structure = jax.tree.flatten(arrays)
    others, form = jax.tree.flatten(rest)
    return fn, structure, tuple((a.shape, str(a.dtype)) for a in leaves), form, tuple(others)


def advance(model: AbstractModel, x: Array, w: Array | None, first: int, steps: int, dt: float) -> Array:
    """`steps` steps of the classical Runge-Kutta method from step `first` on: what `simulate(solver="rk4")` does.

    Takes and returns the state as the solver carries it; what is shown is `model.space.nearest` of it.
    """
    numbers = (jnp.asarray(first), jnp.asarray(steps), jnp.asarray(dt, x.dtype))
    return call(_advance, model, x, w, *numbers)


def _advance(model: AbstractModel, x: Array, w: Array | None, first: Array, steps: Array, dt: Array) -> Array:
    def step(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        # Multiples of dt, not sums: the same times whatever the pieces a run is computed in.
        return STEPS["rk4"](lambda f, z: f(z), model, k.astype(x.dtype) * dt, dt, state, w, "auto")

    return jax.lax.fori_loop(first, first + steps, step, (x, model.space.nearest(x)))[0]
