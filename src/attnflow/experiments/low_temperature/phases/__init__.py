r"""Three phases at low temperature: concentration, a metastable plateau, and the terminal state of the value matrix.

The reference experiment is on the circle, $V = \mathrm{diag}(1, 2)$, $B = \mathrm{diag}(3, 1)$: at zero temperature
the law concentrates on $\pm e_1$, but the value matrix prefers $e_2$. A second pair of matrices does not commute.
Parameters are ours; those of the paper are not known to us.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from ..nodes import asymmetric, refined_nodes
from .claims import BETAS, CLAIMS, TURNED
from .figures import closest_approach, law_on_the_circle, overlaps_cross, three_phases

if TYPE_CHECKING:
    import numpy
    import xarray

SPACING = 0.2  # of saved times
SYNCHRONOUS = (1.0, 2.0, 4.0)
SHOWN = 64.0  # inverse temperature of the law in the figure


def cells(scale: str) -> list[Cell]:
    full = scale == "full"
    size = {"n": 800, "dt": 0.05} if full else {"n": 400, "dt": 0.1}
    return [
        {"matrices": "reference", "betas": list(BETAS), "l_min": 1e-5, "t1": 30.0, **size},
        # The nodes of the reference computation: values depend on them by up to three per cent.
        {"matrices": "turned", "betas": list(TURNED), "l_min": 1e-12, "t1": 30.0, "n": 480, "dt": 0.1},
    ]


def matrices(name: str) -> "tuple[numpy.ndarray, numpy.ndarray]":
    r"""$V$ and $B$: of the reference experiment, or with $VB^\top = \mathrm{diag}(2, 1)$ and no common eigenvector."""
    import numpy as np

    if name == "reference":
        return np.diag([1.0, 2.0]), np.diag([3.0, 1.0])
    V = np.array([[1.0, 0.5], [0.5, 2.0]])
    return V, np.linalg.solve(V, np.diag([2.0, 1.0])).T


def compute(cell: Cell) -> "xarray.Dataset":
    import numpy as np
    import xarray

    import attnflow as af

    V, B = matrices(cell["matrices"])
    x0, w = refined_nodes(cell["n"], cell["l_min"], asymmetric)
    ts = np.round(np.arange(0, cell["t1"] + SPACING / 2, SPACING), 9)
    xs = follow(cell["betas"], V, B, x0, w, ts, cell["dt"])
    space = af.reductions.dominant_eigenspace(af.reductions.zero_temperature_matrix(V=V, B=B))
    sign = np.sign(space.basis[0, 0])
    e, left, top = sign * space.basis[:, 0], sign * space.left[0], np.linalg.eigh(V)[1][:, -1]
    plus = float(w[x0 @ left > 0].sum())
    W2 = af.measures.two_diracs(xs, e, (plus, 1 - plus), weights=w)
    overlap = (xs @ top) ** 2 @ w
    limit = np.asarray(af.reductions.zero_temperature_flow(x0, [0.0, *SYNCHRONOUS], V=V, B=B))[1:]
    same = np.searchsorted(ts, np.array(SYNCHRONOUS) - 1e-6)
    reports = [af.diagnostics.phase_report(ts, *curves) for curves in zip(np.atleast_2d(W2), overlap, strict=True)]
    shown = xs[cell["betas"].index(SHOWN) if SHOWN in cell["betas"] else -1]
    return xarray.Dataset(
        {
            "W2": (("beta", "time"), W2),
            "overlap_E": (("beta", "time"), (xs @ e) ** 2 @ w),
            "overlap_top": (("beta", "time"), overlap),
            "synchronous": (("beta", "synchronous_time"), af.measures.synchronous(xs[:, same], limit, weights=w)),
            "t_min": ("beta", [r.t_min for r in reports]),
            "W2_min": ("beta", [r.W2_min for r in reports]),
            "exit": ("beta", [np.nan if r.exit is None else r.exit for r in reports]),
            "plateau": (("beta", "end"), [r.plateau for r in reports]),
            "mass": plus,
            "shown_angle": (("time", "node"), np.arctan2(shown[..., 1], shown[..., 0])),
            "weight": ("node", w),
        },
        coords={"time": ts, "beta": cell["betas"], "synchronous_time": list(SYNCHRONOUS)},
    )


def follow(betas: Any, V: Any, B: Any, x0: Any, w: Any, ts: Any, dt: float) -> "numpy.ndarray":
    """Tokens `(betas, T, n, 2)` at all temperatures, in one compiled program on all cores."""
    import jax.numpy as jnp

    import attnflow as af

    from ..._draws import each_draw

    beta, V, B, x0, w = (jnp.asarray(a) for a in (betas, V, B, x0, w))

    def one(r: Any) -> Any:
        model = af.SelfAttention(af.Softmax(beta=beta[r], B=B, V=V))
        return af.simulate(model, x0, ts=ts, weights=w, solver="rk4", dt=dt, throw=False).xs

    return each_draw(one, len(betas))


EXPERIMENT = Experiment(
    id="low-temperature-phases",
    paper="low-temperature",
    title="Concentration, plateau, terminal state",
    summary=(
        "A smooth law on the circle follows the zero-temperature flow to two Diracs, stays there for a time of order "
        "log β, and then leaves for the dominant eigenvector of the value matrix. Distances, times and their slopes in "
        "log β are compared with the theory and with an independent computation. Parameters are ours."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[three_phases, closest_approach, law_on_the_circle, overlaps_cross],
    parameters={
        "n": Parameter("number of nodes", bounds=(40, 5000), where={"matrices": "reference"}),
        "dt": Parameter("step in time", bounds=(0.001, 0.5), where={"matrices": "reference"}),
    },
)
