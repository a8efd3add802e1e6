"""Parameters that depend on time: a numeric field of a map may be a schedule instead of an array."""

import abc
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from ..attention import AbstractAttention
from ..checks import reals
from ..errors import InputError
from ..spaces import Numbers, is_concrete

T = TypeVar("T")


class AbstractSchedule(eqx.Module):
    """A value at every time, smooth except at `jumps`, where adaptive solvers stop and start again."""

    jumps: eqx.AbstractVar[Float[Array, " j"]]

    @abc.abstractmethod
    def __call__(self, t: ArrayLike) -> Array: ...


class Piecewise(AbstractSchedule):
    r"""$v_0$ before the first jump time, $v_k$ from $\tau_k$ on: layers of constant parameters."""

    jumps: Float[Array, " j"]
    values: Float[Array, "j_plus_1 ..."]

    def __init__(self, jumps: Numbers, values: Numbers):
        self.jumps = reals("jumps", jumps)
        self.values = reals("values", values)
        if self.jumps.ndim != 1 or self.values.shape[:1] != (self.jumps.size + 1,):
            raise InputError(
                f"{self.jumps.shape} jump times need one more value than jumps, got {self.values.shape[:1]}."
            )
        if is_concrete(self.jumps) and (np.diff(np.asarray(self.jumps)) <= 0).any():
            raise InputError(f"jump times {self.jumps} must increase.")

    def __call__(self, t: ArrayLike) -> Array:
        # An adaptive solver stops just before a jump and starts again just after it.
        return self.values[jnp.searchsorted(self.jumps, jnp.asarray(t, self.jumps.dtype), side="right")]


def is_schedule(node: object) -> bool:
    """A module called with the time: one of ours, or any callable module that is no attention map itself."""
    return isinstance(node, eqx.Module) and callable(node) and not isinstance(node, AbstractAttention)


def at_time(tree: T, t: ArrayLike) -> T:
    """The same object with every schedule replaced by its value at time `t`."""
    return jax.tree.map(lambda node: node(t) if is_schedule(node) else node, tree, is_leaf=is_schedule)


def jump_times(tree: object) -> Float[Array, " j"] | None:
    """All jump times in an object, sorted; `None` if it has none."""
    nodes = [node for node in jax.tree.leaves(tree, is_leaf=is_schedule) if is_schedule(node)]
    jumps = [node.jumps for node in nodes if hasattr(node, "jumps") and node.jumps.size > 0]
    return jnp.sort(jnp.concatenate(jumps)) if jumps else None


def depends_on_time(tree: object) -> bool:
    """Whether some field of an object is a schedule."""
    return any(is_schedule(node) for node in jax.tree.leaves(tree, is_leaf=is_schedule))
