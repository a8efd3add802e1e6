"""`python -m benchmarks.trajectories [--save NAME]`: a kernel that takes all steps, and the same sums step by step.

A trajectory kernel (`ensemble(engine="native")`, on a GPU `"fused"`) is worth its lines where it beats the kernel for
single sums inside a loop that XLA compiles. Contestants take turns; the record keeps by how much.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp

import attnflow as af

from .machine import description
from .timing import race

STEP, STEPS, BETA = 0.1, 50, 9.0
TOKENS = {(32, 2): 512, (32, 16): 256, (8, 3): 2048, (64, 64): 32, (256, 3): 16}  # (n, d): realisations
STATE = af.flows.LastState()


def contestant(engine: str, n: int, d: int, realizations: int) -> Callable[[], object]:
    def sample(key: jax.Array) -> jax.Array:
        return af.sphere.uniform(n=n, d=d, key=key)

    def run() -> object:
        return af.ensemble(
            af.SelfAttention(beta=BETA),
            sample,
            realizations=realizations,
            ts=[STEP * STEPS],
            reduce=STATE,
            key=jax.random.key(0),
            solver="euler-retract",
            dt=STEP,
            dtype=jnp.float32,
            engine=engine,
        )

    return run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trajectories", description=__doc__)
    parser.add_argument("--save", metavar="NAME", help="also write benchmarks/results/NAME.json")
    arguments = parser.parse_args()
    whole = "fused" if jax.default_backend() == "gpu" else "native"
    record: dict = {"machine": description(), "cases": []}
    for (n, d), realizations in TOKENS.items():
        best = race({engine: contestant(engine, n, d, realizations) for engine in (whole, "batched")}, budget=10)
        pairs = float(realizations) * n * n * STEPS
        rates = {engine: pairs / seconds / 1e9 for engine, seconds in best.items()}
        ratio = rates[whole] / rates["batched"]
        record["cases"].append({"work": f"ensemble n={n} d={d} float32", "gpairs": rates, "ratio": ratio})
        print(f"n={n} d={d}: {whole} {rates[whole]:.2f} Gpair/s, {ratio:.2f}x single sums in a loop", flush=True)
    if arguments.save:
        path = Path(__file__).parent / "results" / f"{arguments.save}.json"
        path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
