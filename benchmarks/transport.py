"""Two half-moons by schedules that are built and by flows that are trained: `python -m benchmarks.transport`.

With `make bench RIVALS="torch zuko"` installed, a neural spline flow of zuko is trained, too; it is left out otherwise.
"""

import importlib.util
import time
from typing import Any

import jax
import numpy as np

import attnflow as af
from attnflow.experiments.relu_transport import rivals
from attnflow.experiments.relu_transport.targets import in_plane

STEPS, BATCH, RATE = 2000, 256, 5e-3
COLUMNS = ("kl", "parameters", "seconds", "sample_seconds", "density_seconds", "returned")


def ours() -> dict[str, dict[str, Any]]:
    """Cells of the experiment."""
    return {
        **{f"ridge, {b} switches": {"part": "built", "method": "ridge", "budget": b} for b in (79, 199)},
        "field, then ridge, 479 switches": {"part": "built", "method": "field+ridge", "budget": 479},
        "our splines": {"part": "trained", "kind": "spline", "depth": 4, "width": 8, "steps": STEPS},
        "our affine maps": {"part": "trained", "kind": "affine", "depth": 8, "width": 16, "steps": STEPS},
    }


def zuko() -> dict[str, float]:
    """A neural spline flow by another library, on the same samples in the same number of steps."""
    torch, flows = importlib.import_module("torch"), importlib.import_module("zuko.flows")
    target, rng = in_plane("moons"), np.random.default_rng(0)
    start = time.perf_counter()
    flow = flows.NSF(features=2, transforms=2, hidden_features=(16, 16))
    optimiser = torch.optim.Adam(flow.parameters(), lr=RATE)
    for _ in range(STEPS):
        y = torch.as_tensor(target.draw(BATCH, rng), dtype=torch.float32)
        loss = -flow().log_prob(y).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    seconds = time.perf_counter() - start
    y = target.sample(rivals.POINTS, key=jax.random.key(2**20))
    with torch.no_grad():
        ratio = target.log_density(y) - flow().log_prob(torch.as_tensor(y, dtype=torch.float32)).numpy()
    return {"kl": ratio.mean(), "parameters": sum(p.numel() for p in flow.parameters()), "seconds": seconds}


def main() -> None:
    af.precision("float64")
    rows: dict[str, Any] = {name: rivals.compute({**cell, "seed": 0}) for name, cell in ours().items()}
    if all(map(importlib.util.find_spec, ("torch", "zuko"))):
        rows["zuko"] = zuko()
    print(f"{'':34}" + "".join(f"{column:>17}" for column in COLUMNS))
    for name, row in rows.items():
        shown = (f"{float(row[c]):17.3g}" if c in row else f"{'-':>17}" for c in COLUMNS)
        print(f"{name:34}" + "".join(shown), flush=True)


if __name__ == "__main__":
    main()
