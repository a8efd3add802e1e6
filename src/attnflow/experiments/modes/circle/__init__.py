r"""Modes on the circle and the clusters that come of them.

Uniform tokens $\theta_j$ have the density $Z(\theta) = \sum_j e^{\beta\cos(\theta - \theta_j)}$. Softmax attention
moves tokens up its gradient, so that its modes are the attractors of the initial field. Here they are counted and
compared with a closed form, and then tokens are followed: clusters at $t = 30$ and $t = 100$ are fewer, and those on
the metastable plateau fewer still. The plateau is defined as the number of clusters, more than one, that lasts for the
longest interval of $\log t$ from $t = 1$ on.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from .claims import BETAS, CLAIMS, COUNTED, TABLE, N
from .figures import modes_and_clusters, number_of_modes

if TYPE_CHECKING:
    import numpy
    import xarray

DELTA = 1e-3  # clusters are linked by inner products of at least 1 - DELTA
STEP = 0.1
ROUGHLY = (1e-6, 1e-8)  # relative and absolute tolerance: enough for the order of merges and their approximate times


def cells(scale: str) -> list[Cell]:
    full = scale == "full"
    counts = [{"part": "modes", "n": n, "beta": beta, "draws": 4000 if full else 500} for n, beta in TABLE]
    return [
        *counts,
        {"part": "clusters", "betas": list(BETAS), "draws": 2048 if full else 128},
        {"part": "plateaus", "betas": list(BETAS), "draws": 512 if full else 64},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    return {"modes": _modes, "clusters": _clusters, "plateaus": _plateaus}[cell["part"]](cell)


def _modes(cell: Cell) -> "xarray.Dataset":
    """The number of modes of every draw, and the closed form."""
    import jax
    import numpy as np
    import xarray

    import attnflow as af

    key = jax.random.fold_in(jax.random.key(cell["seed"]), int(cell["n"] + 1000 * cell["beta"]))
    modes = af.diagnostics.modes(
        af.sphere.uniform(n=cell["draws"] * cell["n"], d=2, key=key).reshape(-1, cell["n"], 2), cell["beta"]
    )
    return xarray.Dataset(
        {
            "modes": ("draw", np.asarray(modes.count)),
            "certified": ("draw", np.asarray(modes.certified, np.int8)),
            "formula": float(af.reductions.expected_modes_circle(cell["beta"])),
        }
    )


def _clusters(cell: Cell) -> "xarray.Dataset":
    """How many draws have each number of clusters, for each inverse temperature and time."""
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
        {
            "draws": (("beta", "time", "clusters"), np.asarray(result.values)),
            "fastest": ("beta", np.asarray(af.reductions.fastest_mode(cell["betas"]))),
        },
        coords={"beta": cell["betas"], "time": list(COUNTED), "clusters": np.arange(1, N + 1)},
    )


def _plateaus(cell: Cell) -> "xarray.Dataset":
    """The number of clusters on the plateau of every draw, for each inverse temperature."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    from ..._draws import each_draw

    key, draws, betas = jax.random.key(cell["seed"]), cell["draws"], jnp.asarray(cell["betas"])

    def follow(r: Any) -> Any:
        model = af.SelfAttention(beta=betas[r // draws])
        x0, (rtol, atol) = _tokens(jax.random.fold_in(key, r % draws)), ROUGHLY
        run = af.long_time(model, x0, points=0, rtol=rtol, atol=atol, throw=False)
        return {"log_t": run.info["merge_log_t"], "left": run.info["merge_clusters"], "code": run.code}

    merges = each_draw(follow, len(cell["betas"]) * draws)
    held, stretch = plateau(merges["log_t"], merges["left"])
    return xarray.Dataset(
        {
            "held": (("beta", "draw"), held.reshape(-1, draws)),
            "stretch": (("beta", "draw"), stretch.reshape(-1, draws)),
            "unfinished": float(np.sum(merges["code"] != 0)),
        },
        coords={"beta": cell["betas"]},
    )


def plateau(log_t: "numpy.ndarray", left: "numpy.ndarray") -> "tuple[numpy.ndarray, numpy.ndarray]":
    r"""The number of clusters, more than one, that lasts longest in $\log t$ from $t = 1$ on, and its duration.

    `log_t`, `left`: times of the merges of each draw and the clusters that they leave, `(draws, n - 1)`, filled up with
    NaN and 0. Before $t = 1$ tokens that were drawn close to each other meet, at times unrelated to plateaus.
    """
    import numpy as np

    since = np.maximum(log_t, 0.0)
    lasts = np.nan_to_num(np.diff(since, axis=1), nan=0.0)  # the last merge leaves one cluster, forever
    at = lasts.argmax(axis=1)[:, None]
    return np.take_along_axis(left, at, axis=1)[:, 0], np.take_along_axis(lasts, at, axis=1)[:, 0]


def _tokens(key: Any) -> Any:
    import attnflow as af

    return af.sphere.uniform(n=N, d=2, key=key)


def _count(t: Any, x: Any, w: Any) -> Any:
    from ...perspective.circle import components_on_the_circle

    return components_on_the_circle(x, DELTA)


EXPERIMENT = Experiment(
    id="modes-circle",
    paper="modes",
    title="Modes on the circle, and clusters",
    summary=(
        "Uniform tokens on the circle. The number of modes of their density has a closed form in the limit of many "
        "tokens, near √(3β/2). Softmax attention carries tokens up to these modes; close modes merge early, so that "
        "clusters at t = 30 are fewer than initial modes, and there are fewer modes than waves in the fastest "
        "growing pattern around the uniform measure. On the plateau that lasts longest in log t two clusters are left, "
        "sometimes three, for every β."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[number_of_modes, modes_and_clusters],
    parameters={"draws": Parameter("number of draws", bounds=(2, 1000000), where={"part": "modes"})},
)
