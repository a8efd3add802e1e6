"""How transformations treat the engines: derivatives of a kernel that has none of its own, conditions of a batch."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool


def derived_from(plain: Callable[..., Any], kernel: Callable[..., Any], problem: Any, inputs: Any) -> Any:
    """`kernel(problem, inputs)`, and `plain` where it is differentiated, forward and reverse.

    The tangent map of `plain` is linear and can be transposed; a rule for reverse mode would end forward mode.
    """
    numbers, rest = eqx.partition((problem.summed, inputs), eqx.is_array)

    def of(sums: Callable[..., Any], numbers: Any) -> Any:
        summed, inputs = eqx.combine(numbers, rest)
        return sums(problem.summing(*summed), inputs)

    @jax.custom_jvp
    def ruled(numbers: Any) -> Any:
        return of(kernel, numbers)

    @ruled.defjvp
    def _(primals, tangents):
        return jax.jvp(functools.partial(of, plain), primals, tangents)

    return ruled(numbers)


@custom_vmap
def decided_together(condition: Bool[Array, ""]) -> Bool[Array, ""]:
    """A condition that must hold for all of a batch: batched `cond` would otherwise evaluate both sides always."""
    return condition


@decided_together.def_vmap
def _for_all_members(axis_size, in_batched, condition):
    return jnp.all(condition), False
