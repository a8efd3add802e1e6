"""Where the time of an ensemble goes: the parts of a step, each alone, in the layout that the ensemble has.

In few dimensions realisations are the innermost axis and a step is scores with exponentials, masses, and means. For
d = 32 and 128 it is as fast as XLA's products of many small matrices, and those run well below the rate of one large
product. The rates say how much a faster part would bring.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from attnflow._cores import AXIS, all_devices
from attnflow.flows._compiled import compiler_options
from attnflow.flows._trailing import trailing_vmap
from attnflow.flows.ensemble import INNERMOST_DIMENSION
from attnflow.pairsums._algebra import BROADCAST
from attnflow.pairsums._exponential import exp

from .timing import race

N, REPEATS = 32, 50
Part = Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]

# Each takes tokens and weights to tokens and weights, and each result flows into the next input, so that no repetition
# can be left out.
INNERMOST: dict[str, Part] = {
    "scores and exponentials": lambda x, e: (x + 1e-9 * e[:, :1], exp(_scores(x) - 1)),
    "masses": lambda x, e: (x + 1e-9 * jnp.sum(e, axis=1)[:, None], e),
    "means": lambda x, e: (1e-3 * jnp.sum(e[:, :, None] * x[None], axis=1), e),
}
BATCHED: dict[str, Part] = {
    "scores": lambda x, e: (x + 1e-9 * jnp.einsum("bid,bjd->bij", x, x)[..., :1], e),
    "exponentials": lambda x, e: (x, exp(-e)),
    "means": lambda x, e: (1e-3 * jnp.einsum("bij,bjd->bid", e, x), e),
}


def profile(d: int) -> dict[str, float]:
    """Gpair/s of each part alone, all cores working, n = 32 tokens, float32; products also in G multiply-adds/s."""
    few = d <= INNERMOST_DIMENSION
    mesh, rng = all_devices(), np.random.default_rng(0)
    chunk = 32 if few else 64
    shapes = ((N, d, chunk), (N, N, chunk)) if few else ((chunk, N, d), (chunk, N, N))
    rows = PartitionSpec(AXIS)
    x, e = (
        jax.device_put(rng.uniform(size=(mesh.size, *shape)).astype(np.float32) / d, NamedSharding(mesh, rows))
        for shape in shapes
    )
    runs = {}
    for name, part in (INNERMOST if few else BATCHED).items():

        def repeated(x, e, part=part):
            return jax.lax.fori_loop(0, REPEATS, lambda _, c: part(*c), (x[0], e[0]))

        shared = jax.shard_map(
            lambda x, e, repeated=repeated: jax.tree.map(lambda a: a[None], repeated(x, e)),
            mesh=mesh,
            in_specs=rows,
            out_specs=rows,
        )
        program = jax.jit(shared).lower(x, e).compile(compiler_options(unroll=few))
        runs[name] = lambda program=program: jax.block_until_ready(program(x, e))
    best = race(runs, rounds=20)
    pairs = REPEATS * e.size
    found = {f"{name} Gpair/s": pairs / seconds / 1e9 for name, seconds in best.items()}
    together = 1 / sum(1 / rate for rate in found.values())
    if not few:
        found |= {f"{name} Gmadd/s": d * found[f"{name} Gpair/s"] for name in ("scores", "means")}
    return {**found, "all parts Gpair/s": together}


def _scores(x: jax.Array) -> jax.Array:
    """All inner products of tokens `(n, d, realisations)`, coordinate by coordinate as the engine takes them."""
    return trailing_vmap(lambda y: BROADCAST.outer(y, y), (x,), (True,))
