"""How near an ensemble comes to what the processor could do, and what the ways to compute it make.

A pair in dimension d costs 2 d multiply-adds and one exponential. The rate of multiply-adds is that of one large
product of matrices (`machine.ceilings`). A pair with an exponential and next to nothing else is one in dimension 1
without values. Both together, one after the other, are the most that a kernel can reach.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import attnflow as af
from attnflow.flows.compiled import timed_rows
from attnflow.pairsums.native_library import native
from attnflow.threads import usable_cores

from .ensembles import BETA, STATE, H, N
from .timing import race

STEPS = 500
REALIZATIONS = {2: 1024, 8: 1024, 32: 512, 128: 256}


def exponentials() -> float:
    """G pairs per second, all cores working, float32, where a pair is one exponential and little else."""
    n, repeats = 1024, 20
    rows = np.random.default_rng(0).standard_normal((usable_cores(), n, 1)).astype(np.float32)

    def one(x: Any) -> Any:
        def again(_: Any, x: Any) -> Any:
            _, log_z = af.pairsums.pair_sums(af.pairsums.Inner(1.0), x, x, jnp.zeros((n, 0), x.dtype), kernel="auto")
            return x + 1e-9 * log_z[:, None]

        return jax.lax.fori_loop(0, repeats, again, x)

    seconds = race({"exp": lambda: timed_rows(jax.lax.map, one, rows=rows)}, rounds=8)["exp"]
    return len(rows) * n * n * repeats / seconds / 1e9


def profile(d: int, exponentials: float, multiply_adds: float) -> dict[str, float]:
    """Gpair/s at most, and of every engine of ensembles that there is; n = 32 tokens, float32, many steps."""
    engines = ["native", "innermost", "batched"]
    if not native().ready:
        engines.remove("native")
    key, model = jax.random.key(0), af.SelfAttention(beta=BETA)

    def sample(k: Any) -> Any:
        return af.sphere.uniform(n=N, d=d, key=k)

    def run(engine: str) -> Any:
        return af.ensemble(
            model,
            sample,
            realizations=REALIZATIONS[d],
            ts=[STEPS * H],
            reduce=STATE,
            key=key,
            solver="euler-retract",
            dt=H,
            dtype=jnp.float32,
            engine=engine,
        )

    best = race({engine: lambda engine=engine: run(engine) for engine in engines}, rounds=3)
    pairs = REALIZATIONS[d] * N * N * STEPS
    return {
        "at most": 1 / (1 / exponentials + 2 * d / multiply_adds),
        **{engine: pairs / seconds / 1e9 for engine, seconds in best.items()},
    }
