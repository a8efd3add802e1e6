"""Compile once per (program, shapes, structure), and tell compile time from run time."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import equinox as eqx
import jax

from ..spaces import is_concrete

# The least recently used programs are dropped: a sweep over many shapes must not keep them all.
_PROGRAMS: OrderedDict[Hashable, Any] = OrderedDict()
_CAPACITY = 128


class Timed(NamedTuple):
    """A result and what it cost; seconds are NaN inside another transformation, where there is nothing to time."""

    value: Any
    compile_seconds: float
    run_seconds: float


def timed_call(fn: Callable[..., Any], *args: Any, on_compile: Callable[[], None] | None = None) -> Timed:
    """`fn(*args)` compiled; arrays in `args` are inputs of the program, everything else is part of it.

    `fn` returns arrays only. `on_compile` is called when a compilation is about to start.
    """
    if not is_concrete(args) or any(_closes_over_tracer(leaf) for leaf in jax.tree.leaves(args)):
        return Timed(eqx.filter_jit(fn)(*args), float("nan"), float("nan"))
    arrays, rest = eqx.partition(args, eqx.is_array)
    key = (fn, _signature(arrays), _signature(rest), jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]
    start = time.perf_counter()
    program = _PROGRAMS.pop(key, None)
    if program is None:
        if on_compile is not None:
            on_compile()
        program = jax.jit(lambda a: fn(*eqx.combine(a, rest))).lower(arrays).compile()
        compile_seconds = time.perf_counter() - start
    else:
        compile_seconds = 0.0
    _PROGRAMS[key] = program
    while len(_PROGRAMS) > _CAPACITY:
        _PROGRAMS.popitem(last=False)
    start = time.perf_counter()
    value = jax.block_until_ready(program(arrays))
    return Timed(value, compile_seconds, time.perf_counter() - start)


def _closes_over_tracer(leaf: Any) -> bool:
    """Whether a function was made inside a transformation, of values that are being traced."""
    cells = getattr(leaf, "__closure__", None) or ()
    return not is_concrete([cell.cell_contents for cell in cells])


def _signature(tree: Any) -> Hashable:
    leaves, structure = jax.tree.flatten(tree)
    return structure, tuple((jax.typeof(x), getattr(x, "sharding", None)) if eqx.is_array(x) else x for x in leaves)
