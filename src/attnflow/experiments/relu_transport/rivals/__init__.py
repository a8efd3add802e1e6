"""Schedules that are computed against small flows that are trained: divergence for parameters and for seconds."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from .claims import CLAIMS
from .figures import built_and_trained

if TYPE_CHECKING:
    import xarray

POINTS = 20_000  # that divergences are measured on
TIMED = 200_000  # points of which seconds are taken
BUDGETS = {"quick": (29, 79, 199), "full": (29, 79, 199, 479, 1007)}
FLOWS = {
    "quick": (("spline", 2, 8), ("spline", 4, 16), ("affine", 8, 16)),
    "full": (
        *(("spline", depth, width) for depth, width in ((2, 4), (2, 8), (4, 8), (4, 16), (8, 32))),
        *(("affine", depth, width) for depth, width in ((4, 8), (8, 16), (8, 32))),
    ),
}
STEPS = {"quick": 800, "full": 5000}
BATCH, RATE = 256, 5e-3


def cells(scale: str) -> list[Cell]:
    return [
        *(
            {"part": "built", "method": method, "budget": b}
            for method in ("ridge", "field+ridge")
            for b in BUDGETS[scale]
        ),
        *(
            {"part": "trained", "kind": kind, "depth": depth, "width": width, "steps": STEPS[scale]}
            for kind, depth, width in FLOWS[scale]
        ),
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    return {"built": _built, "trained": _trained}[cell["part"]](cell)


def _built(cell: Cell) -> "xarray.Dataset":
    import jax

    import attnflow as af

    from ..targets import in_plane

    target = in_plane("moons")
    base = af.constructions.laws.StandardNormal(2)
    start = time.perf_counter()
    found = af.transport(base, target, budget=cell["budget"], method=cell["method"], key=jax.random.key(cell["seed"]))
    seconds = time.perf_counter() - start
    # A neuron is w, a and b.
    return _compared(
        target, found.log_density, found.forward, found.inverse, parameters=found.pieces * 5, seconds=seconds
    )


def _trained(cell: Cell) -> "xarray.Dataset":
    """On new samples in every step; compiling is counted, since a user waits for it."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from ..targets import in_plane
    from .spline_flow import TrainedFlow, trained

    target = in_plane("moons")
    means, sd = jnp.asarray(target.means), float(np.sqrt(target.covs[0, 0, 0]))

    def sample(key: Any, n: int) -> Any:
        first, second = jax.random.split(key)
        return means[jax.random.randint(first, (n,), 0, len(means))] + sd * jax.random.normal(second, (n, 2))

    first, second = jax.random.split(jax.random.key(cell["seed"]))
    start = time.perf_counter()
    flow = TrainedFlow(cell["kind"], cell["depth"], cell["width"], key=first)
    flow, losses = trained(flow, sample, steps=cell["steps"], batch=BATCH, rate=RATE, key=second)
    losses.block_until_ready()
    seconds = time.perf_counter() - start
    functions = (flow.log_density, flow.forward, lambda y: flow.inverse(y)[0])
    return _compared(target, *map(_of_many, functions), parameters=flow.parameters, seconds=seconds)


def _of_many(function: Callable) -> Callable:
    """A function of one point as one of rows, compiled."""
    import jax
    import numpy as np

    compiled = jax.jit(jax.vmap(function))
    return lambda x: np.asarray(compiled(x))


def _compared(
    target: Any, log_density: Callable, forward: Callable, inverse: Callable, *, parameters: int, seconds: float
) -> "xarray.Dataset":
    """Divergence and round trip on points that nothing was fitted to; seconds per million points, after a first
    call.
    """
    import jax
    import numpy as np
    import xarray

    y = target.sample(POINTS, key=jax.random.key(2**20))
    ratio = target.log_density(y) - log_density(y)
    z = np.random.default_rng(0).standard_normal((TIMED, 2))
    return xarray.Dataset(
        {
            "kl": ratio.mean(),
            "kl_error": ratio.std() / np.sqrt(len(ratio)),
            "returned": abs(forward(inverse(y)) - y).max(),
            "parameters": parameters,
            "seconds": seconds,
            "sample_seconds": _per_million(forward, z),
            "density_seconds": _per_million(log_density, z),
        }
    )


def _per_million(function: Callable, x: Any) -> float:
    function(x)
    start = time.perf_counter()
    function(x)
    return (time.perf_counter() - start) * 1e6 / len(x)


EXPERIMENT = Experiment(
    id="transport-rivals",
    paper="relu-transport",
    title="Built and trained flows",
    summary=(
        "Two half-moons by schedules that are computed and by small coupling flows that are trained by maximum "
        "likelihood. The trained ones need fewer parameters for the same relative entropy; a schedule is there sooner, "
        "and each of its pieces can be read."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[built_and_trained],
)
