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
from jaxtyping import Array, Float

from ._pairs import AbstractPairs
from ._reductions import AbstractReduction, Hardmax, Sums
from ._scores import AbstractScore, Projected
from .native import native_sums

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
    """What such a program returns as ordinary arrays: to what follows, nothing has happened."""
    return jax.tree.map(lambda a: jnp.asarray(np.asarray(a)), tree)


def sharded_sums(
    score: AbstractScore,
    tile: Projected,
    values: Float[Array, "m p"],
    log_w: Float[Array, " m"] | None,
    pairs: AbstractPairs,
    reduction: AbstractReduction,
    selection: Hardmax | None = None,
) -> Sums:
    """`(num, log_z)`, the rows shared between all devices, which all see all keys; nothing is sent in between."""
    mesh, n = all_devices(), tile.queries.shape[0]
    missing = -n % mesh.size

    def padded(a: Array | None) -> Array | None:
        return None if a is None else jnp.pad(a, [(0, missing)] + [(0, 0)] * (a.ndim - 1))

    mine = (padded(tile.queries), padded(tile.query_bias), padded(jnp.arange(n)))
    everyones = (score, tile.keys, tile.key_bias, values, log_w, pairs, reduction, selection)
    numbers, rest = eqx.partition(everyones, eqx.is_array)

    def share(mine, numbers):
        queries, query_bias, i = mine
        score, keys, key_bias, values, log_w, pairs, reduction, selection = eqx.combine(numbers, rest)
        part = Projected(queries, keys, query_bias, key_bias)
        return native_sums(score, part, values, log_w, pairs, reduction, selection, rows=i, of=n)

    rows, all_of_it = PartitionSpec(AXIS), PartitionSpec()
    shared = jax.shard_map(share, mesh=mesh, in_specs=(rows, all_of_it), out_specs=rows, check_vma=False)
    num, log_z = jax.jit(shared)(mine, numbers)  # checkpoints inside are not evaluated step by step
    return num[:n], log_z[:n]
