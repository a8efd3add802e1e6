r"""The probability that two tokens have met, over time and inverse temperature (figure 3 of the paper).

$P(\langle x_1, x_2\rangle \ge 1 - \delta)$ for $n = 32$ independent uniform tokens on $S^{d-1}$ under softmax attention
is the mean over realisations of the fraction of pairs with $\langle x_i, x_j\rangle \ge 1 - \delta$. It is computed
twice: with the authors' scheme, $x \leftarrow (x + hA)/|x + hA|$, and with the classical Runge–Kutta method.

Tokens are of single precision: an inner product is then right to $10^{-7}$, against $\delta = 10^{-3}$. At full scale a
cell repeats a part of the map in double precision, and with half the step, from the same draws.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from .claims import CLAIMS, DELTA, T1, N
from .figures import map_of_meetings, schemes_along_time

if TYPE_CHECKING:
    import xarray

STEP = 0.1  # of both schemes, and of the paper
SCHEMES = ("euler-retract", "rk4")
PLANE = 2  # the only dimension in which tokens are not reduced to inner products


def cells(scale: str) -> list[Cell]:
    full = scale == "full"
    dimensions = (2, 8, 32, 128, 512, 1024) if full else (2, 8, 32, 128)
    grid = {"betas": 90, "checkpoints": 300} if full else {"betas": 18, "checkpoints": 150}
    draws = {d: 1024 if full else 256 if d == PLANE else 128 for d in dimensions}
    maps = [{"part": "map", "d": d, "scheme": s, "draws": draws[d], **grid} for d in dimensions for s in SCHEMES]
    return [*maps, *({"part": "precision", "scheme": s, "draws": 256} for s in SCHEMES if full)]


def compute(cell: Cell) -> "xarray.Dataset":
    return {"map": _map, "precision": _precision}[cell["part"]](cell)


def _map(cell: Cell) -> "xarray.Dataset":
    """All inverse temperatures of a panel in one program."""
    import numpy as np
    import xarray

    import attnflow as af

    betas = np.linspace(9 / cell["betas"], 9.0, cell["betas"])
    ts = np.arange(1, cell["checkpoints"] + 1) * (T1 / cell["checkpoints"])
    result = _probability(cell, betas, ts, d=cell["d"])
    stats = result.stats
    return xarray.Dataset(
        {
            "probability": (("beta", "time"), np.asarray(result.values.mean)),
            "stderr": (("beta", "time"), np.asarray(result.values.stderr)),
            "phase_time": ("beta", np.asarray(af.reductions.phase_time(betas, n=N, delta=DELTA))),
            "not_finite": stats["not_finite"],
        },
        coords={"beta": betas, "time": ts},
        attrs={
            "compile_seconds": stats["compile_seconds"],
            "run_seconds": stats["run_seconds"],
            "gigapairs": stats["pairs"] / 1e9,
            "gigapairs_per_second": stats["pairs"] / 1e9 / stats["run_seconds"],
        },
    )


def _precision(cell: Cell) -> "xarray.Dataset":
    """The plane again, from the same draws: in single precision, in double precision, and with half the step."""
    import numpy as np
    import xarray

    betas, ts = np.array([1.0, 4.0, 9.0]), np.arange(1.0, T1 + 1)
    runs = {
        "single": _probability(cell, betas, ts),
        "double": _probability(cell, betas, ts, dtype="float64"),
        "half_step": _probability(cell, betas, ts, dtype="float64", dt=STEP / 2),
    }
    variables = {name: (("beta", "time"), np.asarray(run.values.mean)) for name, run in runs.items()}
    return xarray.Dataset(variables, coords={"beta": betas, "time": ts})


def _probability(cell: Cell, betas: Any, ts: Any, *, d: int = PLANE, dtype: str = "float32", dt: float = STEP) -> Any:
    import jax

    import attnflow as af

    plane, key = d == PLANE, jax.random.key(cell["seed"])
    return af.ensemble(
        [af.SelfAttention(beta=beta) for beta in betas],
        # Initial tokens are data of one shape: all panels but the first share one compiled program for each scheme.
        _in_the_plane if plane else jax.tree_util.Partial(_tokens_of_key, *_draw(d, cell["draws"], key)),
        realizations=cell["draws"],
        ts=ts,
        reduce=af.flows.Mean(_met_in_the_plane if plane else _met),
        key=key,
        solver=cell["scheme"],
        dt=dt,
        dtype=dtype,
    )


def _in_the_plane(key: Any) -> Any:
    import attnflow as af

    return af.sphere.uniform(n=N, d=PLANE, key=key)


def _draw(d: int, draws: int, key: Any) -> Any:
    r"""The keys of all realisations, and for each its uniform tokens on $S^{d-1}$ in $n$ coordinates only.

    The flow commutes with rotations and stays in the span of the tokens, so inner products are all that matters. With
    $X = LR$, $L$ lower triangular and $R$ with orthonormal rows, the rows of $L$ have those of $X$; for $d < n$ zeros
    fill up the columns.
    """
    import jax
    import numpy as np

    import attnflow as af

    keys = jax.vmap(lambda r: jax.random.fold_in(key, r))(jax.numpy.arange(draws))
    tokens = np.asarray(jax.jit(jax.vmap(lambda k: af.sphere.uniform(n=N, d=d, key=k)))(keys))
    triangles = np.asarray(np.linalg.qr(tokens.swapaxes(1, 2), mode="r")).swapaxes(1, 2)
    padded = np.pad(triangles, ((0, 0), (0, 0), (0, N - triangles.shape[2])))
    return jax.random.key_data(keys), jax.numpy.asarray(padded)


def _tokens_of_key(keys: Any, clouds: Any, key: Any) -> Any:
    """The tokens drawn with this key."""
    import jax

    same = (keys == jax.random.key_data(key)[None, :]).all(axis=1)
    return clouds[jax.numpy.argmax(same)]


def _met(t: Any, x: Any, w: Any) -> Any:
    import attnflow as af

    return af.diagnostics.pair_fraction(x, DELTA, weights=w, kernel="dense")


def _met_in_the_plane(t: Any, x: Any, w: Any) -> Any:
    """The same written without matrix products, so that realisations stay the innermost axis."""
    import attnflow as af

    return af.diagnostics.pair_fraction(x, DELTA, weights=w, kernel="broadcast")


EXPERIMENT = Experiment(
    id="perspective-map",
    paper="perspective",
    title="The probability that two tokens have met",
    summary=(
        "32 independent uniform tokens on the sphere follow softmax attention. The colour of the map is the "
        "probability that two of them have met, ⟨x₁, x₂⟩ ≥ 0.999, over time t and inverse temperature β. In high "
        "dimension it jumps from 0 to 1 along the phase curve of equiangular tokens; in the plane several clusters "
        "live long, and it stays between. The authors' scheme, Euler steps of 0.1, is late before the plateau, and is "
        "compared with an accurate scheme."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[map_of_meetings, schemes_along_time],
    parameters={"draws": Parameter("number of draws", bounds=(2, 1000000), where={"part": "map"})},
)
