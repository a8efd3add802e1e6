"""Compile once per (program, shapes, structure), and measure compile time and run time apart.

On one CPU device XLA shares single operations between the cores. Programs of many small operations leave all cores but
one idle then, unless several threads run them: rows that have nothing to do with each other are shared between them.
"""

import functools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..spaces import is_concrete
from ..threads import at_the_same_time, usable_cores


class _Once:
    """A value that the first thread to call `get` makes; other threads wait for it."""

    def __init__(self):
        self._lock, self._ready, self.value = threading.RLock(), False, None

    def get(self, make: Callable[[], Any]) -> Any:
        with self._lock:
            if not self._ready:
                self.value = make()
                self._ready = True
            return self.value


# The least recently used programs are dropped: a sweep over many shapes must not keep them all.
_PROGRAMS: OrderedDict[Hashable, _Once] = OrderedDict()
_CAPACITY = 128
_lock = threading.Lock()  # of the order in which programs were used


class Timed(NamedTuple):
    """A result and what it cost; seconds are NaN inside another transformation, where there is nothing to time."""

    value: Any
    compile_seconds: float
    run_seconds: float


def timed_call(fn: Callable[..., Any], *args: Any, unroll: bool = True) -> Timed:
    """`fn(*args)` compiled; arrays in `args` are inputs of the program, everything else is part of it.

    `fn` returns arrays only. `unroll=False` keeps short inner loops as loops (see `compiler_options`).
    """
    if not untraced(args):
        return Timed(eqx.filter_jit(fn)(*args), float("nan"), float("nan"))
    run, compile_seconds = _compiled(fn, args, unroll)
    start = time.perf_counter()
    return Timed(run(), compile_seconds, time.perf_counter() - start)


def timed_rows(
    fn: Callable[..., Any], *args: Any, rows: Any, threads: int | None = None, axis: int = 0, unroll: bool = True
) -> Timed:
    """`fn(*args, rows)` compiled, where rows are independent: all cores, or all GPUs, compute their share of them.

    `rows` are arrays with the same first axis, which is `axis` of all results; these do not depend on the number of
    `threads` (by default all that `places` has; one inside another transformation).
    """
    if not untraced((args, rows)):
        return timed_call(fn, *args, rows, unroll=unroll)
    count = len(jax.tree.leaves(rows)[0])
    used = places()[: min(threads or count, count)]
    # Row k goes to thread k modulo their number: costs that change slowly along the rows are shared evenly.
    order = np.arange(-(-count // len(used)) * len(used)) % count
    shares = [
        jax.tree.map(lambda a, k=k: jnp.asarray(np.asarray(a)[order[k :: len(used)]]), rows) for k in range(len(used))
    ]
    programs = [
        _compiled(fn, _placed((*args, share), place), unroll) for share, place in zip(shares, used, strict=True)
    ]
    start = time.perf_counter()
    values = at_the_same_time([run for run, _ in programs])

    def gathered(*parts: Any) -> Any:
        if len(parts) == 1:
            return parts[0]
        whole = np.stack([np.asarray(a) for a in parts], axis=axis + 1)
        whole = whole.reshape(*whole.shape[:axis], -1, *whole.shape[axis + 2 :])
        return jnp.asarray(whole[(slice(None),) * axis + (slice(count),)])

    value = jax.tree.map(gathered, *values)
    return Timed(value, sum(seconds for _, seconds in programs), time.perf_counter() - start)


def places() -> list[Any]:
    """Where shares of rows are computed at the same time: a thread for every core, or for every GPU of this process."""
    return [None] * usable_cores() if jax.default_backend() == "cpu" else list(jax.local_devices())


def _placed(tree: Any, device: Any) -> Any:
    if device is None:
        return tree
    arrays, rest = eqx.partition(tree, eqx.is_array)
    return eqx.combine(jax.device_put(arrays, device), rest)


def _compiled(fn: Callable[..., Any], args: Any, unroll: bool) -> tuple[Callable[[], Any], float]:
    """The compiled program of `fn(*args)`, and the seconds that it took to compile."""
    arrays, rest = eqx.partition(args, eqx.is_array)
    compile_seconds = 0.0

    def make() -> Any:
        nonlocal compile_seconds
        start = time.perf_counter()
        program = jax.jit(lambda a: fn(*eqx.combine(a, rest))).lower(arrays).compile(compiler_options(unroll))
        compile_seconds = time.perf_counter() - start
        return program

    program = _once(f"compiled, {unroll=}", fn, args, make)
    return lambda: jax.block_until_ready(program(arrays)), compile_seconds


def traced(fn: Callable[..., Any], *args: Any) -> tuple[Any, frozenset[str]]:
    """The shapes of `fn(*args)`, and the names of the operations it is made of; nothing is computed."""
    closed, shapes, constants = eqx.filter_make_jaxpr(fn)(*args)
    return eqx.combine(shapes, constants), frozenset(_operations(closed.jaxpr))


def once(what: str, fn: Callable[..., Any], args: Any, make: Callable[[], Any]) -> Any:
    """The value that `make` returned when it was last called for this function and arguments of these shapes."""
    return _once(what, fn, args, make) if untraced(args) else make()


def _once(what: str, fn: Callable[..., Any], args: Any, make: Callable[[], Any]) -> Any:
    arrays, rest = eqx.partition(args, eqx.is_array)
    key = (what, fn, _signature(arrays), _signature(rest), jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]
    with _lock:
        made = _PROGRAMS[key] = _PROGRAMS.pop(key, None) or _Once()
        while len(_PROGRAMS) > _CAPACITY:
            _PROGRAMS.popitem(last=False)
    return made.get(make)  # not under the lock: others go on while this compiles


def untraced(args: Any) -> bool:
    """Whether these are values that no other transformation (`jit`, `grad`, `vmap`) is tracing."""
    return is_concrete(args) and not any(_closes_over_tracer(leaf) for leaf in jax.tree.leaves(args))


def adjoint_of(args: Any) -> diffrax.AbstractAdjoint:
    """The loop of a solve: it keeps what reverse mode needs only where these values are being traced.

    The plain loop compiles in two thirds of the time.
    """
    return diffrax.ForwardMode() if untraced(args) else diffrax.RecursiveCheckpointAdjoint()


# Programs with one of these have deadlocked, if rarely, on several CPU devices. The first thread that calls LAPACK
# loads it through Python; a single thread has no such race.
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
    """Options of XLA for the programs of this library, those that the installed release understands.

    At its highest level LLVM writes out loops over 16 to 63 numbers, and then finds no vectors in them: scaling an
    array whose last axis has 32 entries takes seven times as long as at the second level. Where the last axis counts
    realisations, the highest level is twice as fast as the second.
    """
    if jax.default_backend() != "cpu":
        return {}
    wished = {
        # Sums over pairs gain a third from the widest vectors of a processor that has them.
        "xla_cpu_prefer_vector_width": 512,
        # Devices wait for each other after minutes of work; by default one that is 40 seconds late ends the process.
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
