"""Where the time of a batched ensemble goes: the two products and the exponentials of a step, each alone.

For d = 32 and 128 an ensemble is as fast as XLA's products of many small matrices, and those run well below the rate of
one large product. The shares say how much a faster product would bring.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from attnflow._cores import AXIS, all_devices
from attnflow.flows._compiled import compiler_options
from attnflow.pairsums._exponential import exp

from .timing import race

N, CHUNK, REPEATS = 32, 64, 50


def profile(d: int) -> dict[str, float]:
    """Gpair/s of each part alone, all cores working, n = 32 tokens, float32; products also in G multiply-adds/s."""
    mesh = all_devices()
    rows = PartitionSpec(AXIS)
    rng = np.random.default_rng(0)
    place = lambda a: jax.device_put(a.astype(np.float32), NamedSharding(mesh, rows))  # noqa: E731
    x = place(rng.standard_normal((mesh.size * CHUNK, N, d)))
    e = place(rng.uniform(size=(mesh.size * CHUNK, N, N)))
    parts = {
        # Each result flows into the next input, so that no repetition can be left out.
        "scores": (lambda x, e: (x + 1e-9 * jnp.einsum("bid,bjd->bij", x, x)[..., :1], e), 1),
        "exponentials": (lambda x, e: (x, exp(-e)), 0),
        "means": (lambda x, e: (1e-3 * jnp.einsum("bij,bjd->bid", e, x), e), 1),
    }
    runs = {}
    for name, (part, _) in parts.items():

        def repeated(x, e, part=part):
            return jax.lax.fori_loop(0, REPEATS, lambda _, c: part(*c), (x, e))

        shared = jax.jit(jax.shard_map(repeated, mesh=mesh, in_specs=rows, out_specs=rows))
        program = shared.lower(x, e).compile(compiler_options(unroll=False))
        runs[name] = lambda program=program: jax.block_until_ready(program(x, e))
    best = race(runs, rounds=20)
    pairs = REPEATS * e.size
    found = {f"{name} Gpair/s": pairs / seconds / 1e9 for name, seconds in best.items()}
    found |= {f"{name} Gmadd/s": d * found[f"{name} Gpair/s"] for name, (_, product) in parts.items() if product}
    return found
