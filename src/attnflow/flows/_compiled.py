"""Compile once per (program, shapes, structure), and tell compile time from run time."""

import functools
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from .._cores import all_devices
from ..spaces import is_concrete

# The least recently used programs are dropped: a sweep over many shapes must not keep them all.
_PROGRAMS: OrderedDict[Hashable, Any] = OrderedDict()
_CAPACITY = 128


class Timed(NamedTuple):
    """A result and what it cost; seconds are NaN inside another transformation, where there is nothing to time."""

    value: Any
    compile_seconds: float
    run_seconds: float


def timed_call(fn: Callable[..., Any], *args: Any, unroll: bool = True) -> Timed:
    """`fn(*args)` compiled; arrays in `args` are inputs of the program, everything else is part of it.

    `fn` returns arrays only. `unroll=False` keeps short inner loops as loops (see `compiler_options`).
    """
    if not _known(args):
        return Timed(eqx.filter_jit(fn)(*args), float("nan"), float("nan"))
    arrays, rest = eqx.partition(args, eqx.is_array)
    compile_seconds = 0.0

    def make() -> Any:
        nonlocal compile_seconds
        start = time.perf_counter()
        program = jax.jit(lambda a: fn(*eqx.combine(a, rest))).lower(arrays).compile(compiler_options(unroll))
        compile_seconds = time.perf_counter() - start
        return program

    program = _once(f"compiled, {unroll=}", fn, args, make)
    start = time.perf_counter()
    value = jax.block_until_ready(program(arrays))
    return Timed(value, compile_seconds, time.perf_counter() - start)


def traced(fn: Callable[..., Any], *args: Any) -> tuple[Any, frozenset[str]]:
    """The shapes of `fn(*args)`, and the names of the operations it is made of; nothing is computed."""

    def make() -> tuple[Any, frozenset[str]]:
        closed, shapes, _ = eqx.filter_make_jaxpr(fn)(*args)
        return shapes, frozenset(_operations(closed.jaxpr))

    return once("traced", fn, args, make)


def once(what: str, fn: Callable[..., Any], args: Any, make: Callable[[], Any]) -> Any:
    """What `make` returned when it was last called for this function and arguments of these shapes."""
    return _once(what, fn, args, make) if _known(args) else make()


def _once(what: str, fn: Callable[..., Any], args: Any, make: Callable[[], Any]) -> Any:
    arrays, rest = eqx.partition(args, eqx.is_array)
    key = (what, fn, _signature(arrays), _signature(rest), jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]
    _PROGRAMS[key] = _PROGRAMS.pop(key) if key in _PROGRAMS else make()
    while len(_PROGRAMS) > _CAPACITY:
        _PROGRAMS.popitem(last=False)
    return _PROGRAMS[key]


def _known(args: Any) -> bool:
    """Whether these are values, and not being traced by another transformation."""
    return is_concrete(args) and not any(_closes_over_tracer(leaf) for leaf in jax.tree.leaves(args))


def everywhere(tree: Any) -> Any:
    """The arrays of a tree on all devices, for a program that runs on all of them."""
    arrays, rest = eqx.partition(tree, eqx.is_array)
    return eqx.combine(jax.device_put(arrays, NamedSharding(all_devices(), PartitionSpec())), rest)


def on_one_device(tree: Any) -> Any:
    """What such a program returns as ordinary arrays: to what follows, nothing has happened."""
    return jax.tree.map(lambda a: jnp.asarray(np.asarray(a)), tree)


# Programs with one of these, on several CPU devices, were seen to wait for ever, if rarely. LAPACK is loaded through
# Python when it is first called, by whichever thread comes first; one device has no such race.
FACTORIZATIONS = frozenset(
    "cholesky eig eigh svd qr geqrf geqp3 householder_product lu schur hessenberg tridiagonal triangular_solve".split()
)


def _operations(jaxpr: Any) -> Iterator[str]:
    def is_jaxpr(p: Any) -> bool:
        return hasattr(p, "jaxpr") or hasattr(p, "eqns")

    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for inner in filter(is_jaxpr, jax.tree.leaves(list(eqn.params.values()), is_leaf=is_jaxpr)):
            yield from _operations(getattr(inner, "jaxpr", inner))


@functools.cache
def compiler_options(unroll: bool = True) -> dict[str, Any]:
    """What XLA is told for this library's programs, as far as this release of it understands.

    At its highest level LLVM writes out loops over 16 to 63 numbers, and then finds no vectors in them: scaling an
    array whose last axis has 32 entries takes seven times as long as at the second level. Where the last axis counts
    realisations, the highest level is twice as fast as the second.
    """
    if jax.default_backend() != "cpu":
        return {}
    wished = {
        # Sums over pairs gain a third from the widest vectors of a processor that has them.
        "xla_cpu_prefer_vector_width": 512,
        # Cores wait for each other after minutes of work; by default one that is late for 40 seconds ends the process.
        "xla_cpu_collective_call_terminate_timeout_seconds": 10**6,
    }
    if not unroll:
        wished["xla_backend_optimization_level"] = 2
    return {name: value for name, value in wished.items() if _understood({name: value})}


def _understood(option: dict[str, Any]) -> bool:
    try:
        jax.jit(lambda: 0).lower().compile(option)
    except jax.errors.JaxRuntimeError:
        return False
    return True


def _closes_over_tracer(leaf: Any) -> bool:
    """Whether a function was made inside a transformation, of values that are being traced."""
    cells = getattr(leaf, "__closure__", None) or ()
    return not is_concrete([cell.cell_contents for cell in cells])


def _signature(tree: Any) -> Hashable:
    leaves, structure = jax.tree.flatten(tree)
    return structure, tuple((jax.typeof(x), getattr(x, "sharding", None)) if eqx.is_array(x) else x for x in leaves)
