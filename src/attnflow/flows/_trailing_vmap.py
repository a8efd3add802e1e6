"""`vmap` over a trailing axis that stays last in every intermediate array.

`jax.vmap(f, in_axes=-1, out_axes=-1)` is free to move the batch axis to the front, and does so at the first broadcast.
For ensembles of small clouds the axis of realisations must stay innermost in memory: then every operation is
elementwise along it and the vector units are full. Here a function is traced once for a single member and replayed
with one more, last, axis. Nearly all primitives take their parameters unchanged then, because no axis in front of the
new one is renumbered; the others fall back to `jax.vmap`, which is right for everything.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Literal
from jaxtyping import Array

_ELEMENTWISE = frozenset(
    "abs add add_any and atan2 clamp convert_element_type copy cos cosh div eq erf exp exp2 "
    "expm1 floor ge gt integer_pow is_finite le log log1p logistic lt max min mul ne neg not or pow rsqrt "
    "select_n shift_left sign sin sinh sqrt square stop_gradient sub tan tanh xor".split()
)
_SAME_AXES = frozenset(
    "reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or argmax argmin cumsum cumprod cummax cummin "
    "cumlogsumexp rev squeeze".split()
)
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr"} | {
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "checkpoint": "jaxpr",
    "remat2": "jaxpr",
}


def trailing_vmap(fn: Callable[..., Any], args: Sequence[Any], batched: Sequence[bool]) -> Any:
    """`fn(*args)` for every member of a batch.

    Arrays of an argument flagged in `batched` carry the batch as their last axis; the results all do.
    """
    leaves, structure = jax.tree.flatten(tuple(args))
    flags = [f for a, f in zip(args, batched, strict=True) for _ in jax.tree.leaves(a)]
    size = next(leaf.shape[-1] for leaf, f in zip(leaves, flags, strict=True) if f)
    single = [
        jax.ShapeDtypeStruct(leaf.shape[:-1], leaf.dtype) if f else leaf for leaf, f in zip(leaves, flags, strict=True)
    ]
    results = []

    def flat(*flat_args):
        values, out_structure = jax.tree.flatten(fn(*jax.tree.unflatten(structure, flat_args)))
        results.append(out_structure)
        return values

    closed = jax.make_jaxpr(flat)(*single)
    outs, marks = _replay(closed.jaxpr, closed.consts, leaves, flags, size)
    outs = [o if m else _spread(o, jnp.shape(o), False, size) for o, m in zip(outs, marks, strict=True)]
    return jax.tree.unflatten(results[0], outs)


def _replay(jaxpr: Any, consts: Sequence[Any], args: Sequence[Any], flags: Sequence[bool], size: int) -> Any:
    values: dict[Any, Any] = {}
    marks: dict[Any, bool] = {}

    def read(atom: Any) -> tuple[Any, bool]:
        return (atom.val, False) if isinstance(atom, Literal) else (values[atom], marks[atom])

    def write(variables: Sequence[Any], outs: Sequence[Any], flags: Sequence[bool]) -> None:
        for v, o, f in zip(variables, outs, flags, strict=True):
            values[v], marks[v] = o, f

    write(jaxpr.constvars, consts, [False] * len(consts))
    write(jaxpr.invars, args, flags)
    for eqn in jaxpr.eqns:
        read_in = [read(a) for a in eqn.invars]
        outs, out_flags = _apply(eqn, [v for v, _ in read_in], [f for _, f in read_in], size)
        write(eqn.outvars, outs, out_flags)
    results = [read(a) for a in jaxpr.outvars]
    return [v for v, _ in results], [f for _, f in results]


def _apply(eqn: Any, ins: list[Any], flags: list[bool], size: int) -> tuple[Sequence[Any], Sequence[bool]]:
    name, params = eqn.primitive.name, eqn.params
    if not any(flags):
        outs = _bind(eqn, ins)
        return outs, [False] * len(outs)
    if name in _CALLS:
        inner = params[_CALLS[name]]
        return _replay(getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), ins, flags, size)
    if name == "cond":
        return _cond(params["branches"], ins, flags, size)
    if name == "optimization_barrier":
        return _bind(eqn, ins), flags
    if name == "custom_vmap_call":
        return _custom(eqn, ins, flags)
    rank = len(eqn.outvars[0].aval.shape)
    if name in _ELEMENTWISE:
        shape = eqn.outvars[0].aval.shape
        outs = _bind(eqn, [_spread(x, shape, f, size) for x, f in zip(ins, flags, strict=True)])
    elif name in _SAME_AXES or (name == "bitcast_convert_type" and rank == len(eqn.invars[0].aval.shape)):
        outs = _bind(eqn, ins)
    elif name == "broadcast_in_dim" and len(ins) == 1:
        dims = (*params["broadcast_dimensions"], rank)
        outs = [jax.lax.broadcast_in_dim(ins[0], (*params["shape"], size), dims)]
    elif name == "reshape" and len(ins) == 1 and params["dimensions"] is None:
        outs = [jax.lax.reshape(ins[0], (*params["new_sizes"], size))]
    elif name == "transpose":
        outs = [jax.lax.transpose(ins[0], (*params["permutation"], rank))]
    elif name == "slice":
        strides = params["strides"] or (1,) * rank
        limits = (*params["limit_indices"], size)
        outs = [jax.lax.slice(ins[0], (*params["start_indices"], 0), limits, (*strides, 1))]
    elif name == "concatenate":
        full = [_spread(x, a.aval.shape, f, size) for x, a, f in zip(ins, eqn.invars, flags, strict=True)]
        outs = [jax.lax.concatenate(full, params["dimension"])]
    else:
        outs = jax.vmap(lambda *xs: _bind(eqn, list(xs)), in_axes=[-1 if f else None for f in flags], out_axes=-1)(*ins)
    return outs, [True] * len(outs)


def _custom(eqn: Any, ins: list[Any], flags: list[bool]) -> tuple[Sequence[Any], Sequence[bool]]:
    """A function with a rule of its own for batches; one that decides for all members together has no batch left."""
    axes = [-1 if f else None for f in flags]
    for out, batched in ((None, False), (-1, True)):
        try:
            outs = jax.vmap(lambda *xs: _bind(eqn, list(xs)), in_axes=axes, out_axes=out)(*ins)
        except ValueError:  # the result is batched, and has no place without an axis
            continue
        return outs, [batched] * len(outs)
    raise AssertionError("an output axis always fits")


def _bind(eqn: Any, ins: list[Any]) -> list[Any]:
    outs = eqn.primitive.bind(*ins, **eqn.primitive.get_bind_params(eqn.params))
    return list(outs) if eqn.primitive.multiple_results else [outs]


def _spread(x: Any, shape: tuple[int, ...], batched: bool, size: int) -> Array:
    """An operand with the shape of one member, or a number, as an array over the whole batch."""
    x = jnp.asarray(x)
    return jnp.broadcast_to(x if batched else jnp.expand_dims(x, -1), (*shape, size)) if x.ndim <= len(shape) else x


def _cond(branches: Any, ins: list[Any], flags: list[bool], size: int) -> tuple[Sequence[Any], Sequence[bool]]:
    def run(branch: Any) -> list[Any]:
        outs, marks = _replay(branch.jaxpr, branch.consts, ins[1:], flags[1:], size)
        return [_spread(o, jnp.shape(o), False, size) if not m else o for o, m in zip(outs, marks, strict=True)]

    every = [True] * len(branches[0].jaxpr.outvars)
    if not flags[0]:
        return jax.lax.switch(ins[0], [lambda b=b: run(b) for b in branches]), every
    if len(branches) > 2:
        cases = zip(*(run(b) for b in branches), strict=True)
        which = jnp.clip(ins[0], 0, len(branches) - 1)
        return [jax.lax.select_n(jnp.broadcast_to(which, c[0].shape), *c) for c in cases], every
    # Members differ: the second branch is the usual one, and the first is evaluated only if some member needs it.
    usual, chosen = run(branches[1]), ins[0] != 0

    def mixed() -> list[Any]:
        return [
            jnp.where(jnp.broadcast_to(chosen, u.shape), u, r) for u, r in zip(usual, run(branches[0]), strict=True)
        ]

    return jax.lax.cond(jnp.all(chosen), lambda: usual, mixed), every
