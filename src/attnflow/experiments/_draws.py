"""Many draws of one computation, in one compiled program on all cores."""

from collections.abc import Callable
from typing import Any


def each_draw(fn: Callable[[Any], Any], draws: int) -> Any:
    """`fn(r)` of r = 0, 1, …, `draws` - 1, as NumPy arrays with a first axis.

    Draws are computed one after the other on every core. A flow of unknown length would make a batch (`jax.vmap`) wait
    for its slowest member, and both branches of every condition would be computed.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import NamedSharding, PartitionSpec

    from .._cores import AXIS, all_devices
    from ..flows._compiled import compiler_options

    mesh, share = all_devices(), PartitionSpec(AXIS)
    # Dealt like cards: costs that change slowly with r are shared evenly.
    deal = np.arange(-(-draws // mesh.size) * mesh.size).reshape(-1, mesh.size).T.ravel()

    def mine(rows: Any) -> Any:
        return jax.lax.map(fn, rows)

    split = mine
    if mesh.size > 1:
        split = jax.shard_map(mine, mesh=mesh, in_specs=share, out_specs=share, check_vma=False)
    placed = jax.device_put(jnp.asarray(deal), NamedSharding(mesh, share))
    found = jax.jit(split, compiler_options=compiler_options(unroll=False))(placed)
    back = np.argsort(deal)
    return jax.tree.map(lambda a: np.asarray(a)[back][:draws], found)
