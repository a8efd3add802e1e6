"""The sharded engine: every device does its share of the queries, by the native engine or blocked.

The kernel for this processor needs one device for all cores. Where blocked sums do the work, a user whose JAX has a CPU
device for every core (`JAX_NUM_CPU_DEVICES`) gains by this engine.
"""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array

from .._engine import DENSE_PAIRS, AbstractPairSumEngine, Inputs, Problem
from .._reductions import Sums
from . import blocked, dense, native

AXIS = "devices"


def all_devices() -> Mesh:
    """The devices that the user's JAX has in this process, as a mesh with one axis."""
    return _mesh(tuple(jax.local_devices()))


@functools.cache
def _mesh(devices: tuple[Any, ...]) -> Mesh:
    return Mesh(np.array(devices), (AXIS,), axis_types=(jax.sharding.AxisType.Auto,))


def everywhere(tree: Any) -> Any:
    """The arrays of a tree on all devices, for a program that runs on all of them."""
    arrays, rest = eqx.partition(tree, eqx.is_array)
    return eqx.combine(jax.device_put(arrays, NamedSharding(all_devices(), PartitionSpec())), rest)


def on_one_device(tree: Any) -> Any:
    """The results of such a program as ordinary arrays: later operations see no difference."""
    return jax.tree.map(lambda a: jnp.asarray(np.asarray(a)), tree)


class Sharded(AbstractPairSumEngine):
    """Shares of the queries for all devices; only `simulate` knows whether `auto` may use them."""

    name = "sharded"
    on_all_devices = True

    def cost(self, problem: Problem) -> float:
        # Clouds that fit into a single tile are not worth distributing.
        part = problem.count / problem.devices + DENSE_PAIRS * (1 - 1 / problem.devices)
        return _inside(problem).cost(problem) * part / problem.count

    def run(self, problem: Problem, inputs: Inputs) -> Sums:
        """The rows shared between all devices, which all see all keys; nothing is sent in between."""
        mesh, n = all_devices(), problem.n
        missing = -n % mesh.size
        tile = inputs.tile

        def padded(a: Array | None) -> Array | None:
            return None if a is None else jnp.pad(a, [(0, missing)] + [(0, 0)] * (a.ndim - 1))

        mine = (padded(tile.queries), padded(tile.query_bias), padded(jnp.arange(n)))
        numbers, rest = eqx.partition((problem.summed, inputs), eqx.is_array)

        def share(mine, numbers):
            queries, query_bias, rows = mine
            summed, everyones = eqx.combine(numbers, rest)
            part = everyones.tile._replace(queries=queries, query_bias=query_bias)
            return _inside(problem).run(problem.summing(*summed), everyones._replace(tile=part, rows=rows))

        rows, all_of_it = PartitionSpec(AXIS), PartitionSpec()
        shared = jax.shard_map(share, mesh=mesh, in_specs=(rows, all_of_it), out_specs=rows, check_vma=False)
        num, log_z = jax.jit(shared)(mine, numbers)  # checkpoints inside are not evaluated step by step
        return num[:n], log_z[:n]


ENGINE = Sharded()


def _inside(problem: Problem) -> AbstractPairSumEngine:
    """The engine that sums the share of a device."""
    if native.ENGINE.why_not(problem) is None:
        return native.ENGINE
    return dense.ENGINE if problem.small else blocked.ENGINE
