"""Many draws of one computation, in one compiled program on all cores."""

from collections.abc import Callable
from typing import Any


def each_draw(fn: Callable[[Any], Any], draws: int) -> Any:
    """`fn(r)` of r = 0, 1, …, `draws` - 1, as NumPy arrays with a first axis.

    Draws are computed one after the other on every core. A flow of unknown length would make a batch (`jax.vmap`) wait
    for its slowest member, and both branches of every condition would be computed.
    """
    import jax
    import numpy as np

    from ..flows.compiled import timed_rows

    found = timed_rows(jax.lax.map, fn, rows=np.arange(draws), unroll=False)
    return jax.tree.map(np.asarray, found.value)
