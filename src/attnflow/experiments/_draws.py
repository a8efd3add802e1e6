"""Many random draws of one computation, in one compiled program on all cores."""

from collections.abc import Callable
from typing import Any


def each_draw(fn: Callable[[Any], Any], draws: int) -> Any:
    """`fn(r)` for r = 0, 1, …, `draws` - 1, as NumPy arrays whose first axis is r.

    Each core computes its draws one after the other. In a batch (`jax.vmap`) of adaptive flows all draws would wait for
    the slowest one, and both branches of every condition would be computed.
    """
    import jax
    import numpy as np

    from ..flows.compiled import timed_rows

    result = timed_rows(jax.lax.map, fn, rows=np.arange(draws), unroll=False)
    return jax.tree.map(np.asarray, result.value)
