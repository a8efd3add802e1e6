"""Every core of the processor a device of its own, which JAX must be told before it computes anything.

On one CPU device XLA shares out single operations between the cores. The operations of this library are cut to fit a
core's cache, too small for that: two cores were measured to do 1.1 times the work of one. With a device per core,
ensembles and large clouds are shared out whole, and two cores do 1.9 times the work. One device stays the default, so
nothing else changes. `JAX_NUM_CPU_DEVICES=1` in the environment keeps JAX as it is.
"""

import functools
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jax.sharding import Mesh

AXIS = "cores"
_OPTION = "JAX_NUM_CPU_DEVICES"


def usable_cores() -> int:
    """The cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def claim_cores() -> None:
    """Ask for one device per core, unless the user has asked for something or JAX has already started."""
    if _OPTION in os.environ or "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", ""):
        return
    if "jax" not in sys.modules:  # it reads the environment when it is imported, and we do not want to import it yet
        os.environ[_OPTION] = str(usable_cores())
        return
    import jax

    if jax.config.jax_num_cpu_devices < 0:  # pyright: ignore[reportAttributeAccessIssue]
        try:
            jax.config.update("jax_num_cpu_devices", usable_cores())
        except RuntimeError:  # JAX has computed something already, on one device
            return


@functools.cache
def _mesh(devices: tuple[Any, ...]) -> "Mesh":
    import jax
    import numpy as np

    return jax.sharding.Mesh(np.array(devices), (AXIS,), axis_types=(jax.sharding.AxisType.Auto,))


def all_devices() -> "Mesh":
    """The devices that computations may be shared over, as a mesh with one axis."""
    import jax

    return _mesh(tuple(jax.local_devices()))


def placed_rows(rows: Any) -> Any:
    """An array whose first axis is shared out over all devices; its length is a multiple of their number."""
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    return jax.device_put(rows, NamedSharding(all_devices(), PartitionSpec(AXIS)))


def map_rows(fn: Callable[[Any, Any], Any], rows: Any, shared: Any = ()) -> Any:
    """`fn(row, shared)` of all `rows` (see `placed_rows`), one after the other on every device; inside `jax.jit`.

    Arrays that `fn` uses go into `shared`: each device has them whole.
    """
    import jax
    from jax.sharding import PartitionSpec

    def mine(rows: Any, shared: Any) -> Any:
        return jax.lax.map(lambda row: fn(row, shared), rows)

    mesh = all_devices()
    if mesh.size == 1:
        return mine(rows, shared)
    share, whole = PartitionSpec(AXIS), PartitionSpec()
    return jax.shard_map(mine, mesh=mesh, in_specs=(share, whole), out_specs=share, check_vma=False)(rows, shared)
