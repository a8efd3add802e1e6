"""The sharded engine: every device (a core is one) does its share of the queries, by the native engine or blocked."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._cores import AXIS, all_devices
from ._native import native_sums
from ._pairs import AbstractPairs
from ._reductions import AbstractReduction, Hardmax, Sums
from ._scores import AbstractScore, Projected


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

    rows, all_of_it = jax.sharding.PartitionSpec(AXIS), jax.sharding.PartitionSpec()
    shared = jax.shard_map(share, mesh=mesh, in_specs=(rows, all_of_it), out_specs=rows, check_vma=False)
    num, log_z = jax.jit(shared)(mine, numbers)  # checkpoints inside are not evaluated step by step
    return num[:n], log_z[:n]
