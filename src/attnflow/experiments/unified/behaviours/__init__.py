r"""Long-time behaviour of Gaussian laws: a point, a line, two lines, or blow-up, by matrices and initial law.

The parameters are those of the figures of the paper. Where its scripts differ from its equations (see
docs/theory/gaussian.md), we follow the equations. Covariances in the plane are drawn in the coordinates
$(s_{11} - s_{22}, 2s_{12}, s_{11} + s_{22})$, where they fill a cone.
"""

from typing import TYPE_CHECKING

from ... import Cell, Experiment
from .claims import CLAIMS, SIGMA0
from .draws import case, rank_draws, starts
from .exact import exact
from .figures import blow_up_times, cones, decay, rank_histograms, two_fates

if TYPE_CHECKING:
    import xarray

SIDE = {"quick": 6, "full": 10}
FATES = {"quick": (7, 15), "full": (7, 41)}  # the first is for claims, the second for the figure
DIMENSIONS = (3, 4, 5)
LONG = {"identity": 1e14, "random": 1e4}


def cells(scale: str) -> list[Cell]:
    return [
        *({"part": "cone", "case": name, "side": SIDE[scale]} for name in ("zero", "line", "two lines")),
        {"part": "disc", "side": FATES[scale][1]},
        *({"part": "fates", "side": side} for side in FATES[scale]),
        {"part": "numbers"},
        {"part": "decay"},
        *({"part": "ranks", "d": d, "value": "identity"} for d in DIMENSIONS),
        *({"part": "ranks", "d": d, "value": "random"} for d in (DIMENSIONS if scale == "full" else (3,))),
        {"part": "exact"},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {
        "cone": _cone,
        "disc": _disc,
        "fates": _fates,
        "numbers": _numbers,
        "decay": _decay,
        "ranks": _ranks,
        "exact": exact,
    }
    return parts[cell["part"]](cell)


def _softmax(name: str):
    import attnflow as af

    matrices = case(name)
    return af.Softmax(matrices.beta, Q=matrices.Q, K=matrices.K, V=matrices.V)


def _cone(cell: Cell) -> "xarray.Dataset":
    """F1, F2, F3: covariances on their way, from a grid of trace one."""
    import numpy as np
    import xarray

    import attnflow as af

    S = starts(cell["side"], 0.5)
    ts = [0.0, *np.geomspace(1e-2, 1e5, 57)]  # starts between two basins need this time
    options = {"ts": ts, "solver": "kvaerno5", "rtol": 1e-8, "trusted_spread": None}
    run = af.gaussian.flow(_softmax(cell["case"]), [0.0, 0.0], S, **options)
    covariance = np.asarray(af.gaussian.covariance(run))
    return xarray.Dataset(
        {
            "path": (("start", "time", "coordinate"), af.gaussian.cone_coordinates(covariance)),
            "covariance": (("start", "row", "column"), covariance[:, -1]),
        },
        coords={"time": ts},
    )


def _disc(cell: Cell) -> "xarray.Dataset":
    """F4: the blow-up time of each start of trace one, and the normalised covariance there."""
    import numpy as np
    import xarray

    import attnflow as af

    S = starts(cell["side"], 1.0)
    ts = [0.0, *np.geomspace(0.05, 12, 800)]  # the latest of all is at 1/λ_min(A + Aᵀ) = 8.8
    run = af.gaussian.flow(_softmax("blow-up"), [0.0, 0.0], S, ts=ts, trusted_spread=None)
    path = np.asarray(af.gaussian.covariance(run))
    last = np.asarray(af.gaussian.final_covariance(run))
    return xarray.Dataset(
        {
            "start": (("law", "coordinate"), af.gaussian.cone_coordinates(S)),
            "last": (
                ("law", "coordinate"),
                af.gaussian.cone_coordinates(last / np.trace(last, axis1=1, axis2=2)[:, None, None]),
            ),
            "trace": (("law", "time"), np.trace(path, axis1=-2, axis2=-1)),
            "t_star": ("law", np.asarray(run.info["t_star"])),
            "formula": ("law", [_closed_time("blow-up", s) for s in S]),
            "outcome": ("law", af.gaussian.outcome(run)),
        },
        coords={"time": ts},
    )


def _fates(cell: Cell) -> "xarray.Dataset":
    """F5: which starts of trace one come to rest and which blow up."""
    import numpy as np
    import xarray

    import attnflow as af

    S = starts(cell["side"], 0.9 if cell["side"] == 7 else 1.0)
    run = af.gaussian.flow(_softmax("both"), [0.0, 0.0], S, t1=1000.0, save=2, trusted_spread=None)
    last = np.asarray(af.gaussian.final_covariance(run))
    return xarray.Dataset(
        {
            "start": (("law", "coordinate"), af.gaussian.cone_coordinates(S)),
            "last": (("law", "coordinate"), af.gaussian.cone_coordinates(last)),
            "t_star": ("law", np.asarray(run.info["t_star"])),
            "outcome": ("law", af.gaussian.outcome(run)),
        }
    )


def _numbers(cell: Cell) -> "xarray.Dataset":
    """One start under F2, F3, F4, and under other maps with the matrices of F4."""
    import numpy as np
    import xarray

    import attnflow as af

    zero = [0.0, 0.0]

    def flow(attention, Sigma=SIGMA0, t1=1e6):
        return af.gaussian.flow(attention, zero, Sigma, t1=t1, save=2, trusted_spread=None)

    line, lines = flow(_softmax("line")), flow(_softmax("two lines"), np.eye(2) / 2, 1e3)
    four = case("blow-up")
    maps = {
        "softmax": _softmax("blow-up"),
        "multi-head": af.MultiHead.split(2, Q=four.Q, K=four.K, V=four.V),
        "L2": af.L2(V=four.V, Q=four.Q, K=four.K),
        "Sinkhorn": af.Sinkhorn(four.beta, Q=four.Q, K=four.K, V=four.V),
    }
    runs = [flow(attention, t1=50.0) for attention in maps.values()]
    return xarray.Dataset(
        {
            "line": ("entry", np.asarray(af.gaussian.final_covariance(line))[[0, 0, 1], [0, 1, 1]]),
            "lines": ("entry", np.asarray(af.gaussian.final_covariance(lines))[[0, 0, 1], [0, 1, 1]]),
            "t_star": ("map", [float(run.info["t_star"]) for run in runs]),
            "outcome": ("map", [af.gaussian.outcome(run) for run in runs]),
        },
        coords={"map": list(maps)},
    )


def _decay(cell: Cell) -> "xarray.Dataset":
    """F1: the trace under every map that contracts, up to late times."""
    import numpy as np
    import xarray

    import attnflow as af

    one = case("zero")
    arguments = {"Q": one.Q, "K": one.K, "V": one.V}
    maps = {
        "softmax": _softmax("zero"),
        "L2": af.L2(**arguments),
        "Sinkhorn": af.Sinkhorn(one.beta, **arguments),
    }
    ts = [0.0, *np.geomspace(1e-2, 1e6, 81)]
    runs = [af.gaussian.flow(m, [0.0, 0.0], SIGMA0, ts=ts, trusted_spread=None) for m in maps.values()]
    trace = [np.trace(np.asarray(af.gaussian.covariance(run)), axis1=1, axis2=2) for run in runs]
    return xarray.Dataset({"trace": (("map", "time"), np.array(trace))}, coords={"map": list(maps), "time": ts})


def _ranks(cell: Cell) -> "xarray.Dataset":
    """F6: the rank of the limit of a hundred random laws."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    d = cell["d"]
    Q, V, M = rank_draws(d, cell["value"])

    def one(Q, V, L):
        attention = af.Softmax(d**-0.5, Q=Q, K=-Q, V=V)
        return af.gaussian.flow(attention, jnp.zeros(d), L0=L, t1=LONG[cell["value"]], save=2, throw=False)

    run = jax.vmap(one)(*map(jnp.asarray, (Q, V, M)))
    last = np.asarray(af.gaussian.final_covariance(run))
    variables = {
        "eigenvalues": (("law", "index"), np.linalg.eigvalsh(last)),
        "rank": ("law", af.gaussian.limit_rank(run)),
        "outcome": ("law", af.gaussian.outcome(run)),
        "stationary_rank": d - d // 2,
    }
    if cell["value"] == "identity":
        closed = np.stack([af.gaussian.closed_form.limit(m @ m.T, B=-q.T @ q) for q, m in zip(Q, M, strict=True)])
        values = np.linalg.eigvalsh(closed)
        variables["closed_eigenvalues"] = ("law", "index"), values
        variables["closed_rank"] = "law", np.sum(values > 1e-8 * values[:, -1:], axis=1)
        variables["apart"] = float(np.abs(closed - last).max())
    return xarray.Dataset(variables)


def _closed_time(name: str, Sigma) -> float:
    import numpy as np

    import attnflow as af

    values, vectors = np.linalg.eigh(Sigma)
    factor = vectors * np.sqrt(np.maximum(values, 0))
    return af.gaussian.closed_form.blow_up_time(factor, B=case(name).A.T)


EXPERIMENT = Experiment(
    id="unified-behaviours",
    paper="unified",
    title="Long-time behaviour of Gaussian laws",
    summary=(
        "By its matrices, attention shrinks a Gaussian law to a point, to a line or a plane, to one of two lines, or "
        "takes its covariance to infinity at a finite time; some matrices do both, depending on the start. Sinkhorn "
        "attention, and L2 attention with injective keys, grow at most exponentially. Limits have a low rank."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[cones, blow_up_times, two_fates, decay, rank_histograms],
)
