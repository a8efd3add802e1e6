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

    from .._cores import all_devices, map_rows, placed_rows
    from ..flows._compiled import compiler_options

    cores = all_devices().size
    # Dealt like cards: costs that change slowly with r are shared evenly.
    deal = np.arange(-(-draws // cores) * cores).reshape(-1, cores).T.ravel()
    program = jax.jit(lambda rows: map_rows(lambda r, _: fn(r), rows), compiler_options=compiler_options(unroll=False))
    found = program(placed_rows(deal))
    back = np.argsort(deal)
    return jax.tree.map(lambda a: np.asarray(a)[back][:draws], found)
