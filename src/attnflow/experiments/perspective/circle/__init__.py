r"""Clusters on the circle (figure 4 of the paper): 32 tokens in the plane at t = 2.5, 18 and 30.

A cluster is a connected component of tokens linked by $\langle x_i, x_j\rangle \ge 1 - \delta$. On the circle these
are arcs, so their number is that of the gaps between neighbouring angles which are wider than $\arccos(1 - \delta)$.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from .claims import BETAS, CLAIMS, COUNTED, DELTA, N
from .figures import number_of_clusters, snapshots

if TYPE_CHECKING:
    import xarray

SHOWN = (2.5, 18.0, 30.0)  # the times of the paper's figure
STEP = 0.1
DRAW = 4  # the realisation in the figure: at seed 0 it has the most frequent numbers of clusters


def cells(scale: str) -> list[Cell]:
    return [
        {"part": "snapshots", "betas": list(BETAS)},
        {"part": "counts", "betas": list(BETAS), "draws": 2048 if scale == "full" else 512},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    return {"snapshots": _snapshots, "counts": _counts}[cell["part"]](cell)


def _snapshots(cell: Cell) -> "xarray.Dataset":
    """One of the draws of `_counts`, at every inverse temperature."""
    import jax
    import numpy as np
    import xarray

    import attnflow as af

    x0 = _tokens(jax.random.fold_in(jax.random.key(cell["seed"]), DRAW))
    runs = [af.simulate(af.SelfAttention(beta=beta), x0, ts=[0.0, *SHOWN]) for beta in cell["betas"]]
    return xarray.Dataset(
        {"x": (("beta", "time", "token", "coordinate"), np.stack([np.asarray(run.xs) for run in runs]))},
        coords={"beta": cell["betas"], "time": [0.0, *SHOWN]},
    )


def _counts(cell: Cell) -> "xarray.Dataset":
    """How many draws have each number of clusters."""
    import jax
    import numpy as np
    import xarray

    import attnflow as af

    result = af.ensemble(
        [af.SelfAttention(beta=beta) for beta in cell["betas"]],
        _tokens,
        realizations=cell["draws"],
        ts=COUNTED,
        reduce=af.flows.Histogram(_count, np.arange(N + 1) + 0.5),
        key=jax.random.key(cell["seed"]),
        solver="rk4",
        dt=STEP,
    )
    return xarray.Dataset(
        {"draws": (("beta", "time", "clusters"), np.asarray(result.values))},
        coords={"beta": cell["betas"], "time": list(COUNTED), "clusters": np.arange(1, N + 1)},
        attrs={name: result.stats[name] for name in ("compile_seconds", "run_seconds")},
    )


def _tokens(key: Any) -> Any:
    import attnflow as af

    return af.sphere.uniform(n=N, d=2, key=key)


def _count(t: Any, x: Any, w: Any) -> Any:
    return components_on_the_circle(x, DELTA)


def components_on_the_circle(x: Any, delta: float) -> Any:
    r"""The number of connected components of tokens `x (n, 2)` linked by $\langle x_i, x_j\rangle \ge 1 - \delta$."""
    import jax.numpy as jnp

    angles = jnp.sort(jnp.arctan2(x[:, 1], x[:, 0]))
    around = angles[:1] + jnp.asarray(2 * jnp.pi, x.dtype)
    gaps = jnp.diff(jnp.concatenate([angles, around]))
    wide = jnp.sum((gaps > jnp.arccos(jnp.asarray(1 - delta, x.dtype))).astype(x.dtype))
    return jnp.maximum(wide, 1)  # without a wide gap the chain closes around the circle


EXPERIMENT = Experiment(
    id="perspective-circle",
    paper="perspective",
    title="Clusters on the circle",
    summary=(
        "32 uniform tokens on the circle under softmax attention. By t = 18 they form a few clusters, most often two "
        "at β = 4 and three at β = 9, which have hardly changed by t = 30: they are long-lived, though one cluster is "
        "expected in the limit. One draw is shown, and the number of clusters is counted over many."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[snapshots, number_of_clusters],
    parameters={
        "betas": Parameter("inverse temperatures", bounds=(0.1, 100)),
        "draws": Parameter("number of draws", bounds=(2, 1000000)),
    },
)
