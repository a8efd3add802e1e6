r"""Polytopes: with $V = I$ and $B$ symmetric, positive definite, rescaled tokens end on the vertices of a polytope.

$z_i = e^{-t}x_i$ obeys $\dot z_i = \sum_j P_{ij}(e^tz)(z_j - z_i)$, so that the hull of the tokens shrinks. Attention
becomes hard, and tokens approach a vertex of the limit like $e^{-t}$. The authors' scripts call their scheme RK4; it
freezes $P$ over a step and so is explicit Euler, which we compare with the flow.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from ..tokens import NINE, cube, flow, model
from .claims import CLAIMS
from .figures import polytope_in_space, polytope_in_the_plane, rate_of_convergence

if TYPE_CHECKING:
    import xarray

    from attnflow import Run

SCORES = {"identity": [[1.0, 0.0], [0.0, 1.0]], "skew": [[2.0, 0.5], [0.5, 1.0]]}


def cells(scale: str) -> list[Cell]:
    reference = [{"part": "reference", "B": name} for name in SCORES]
    drawn = [{"part": "figure", "d": d, "n": 20, "half": 5.0} for d in (2, 3)]
    if scale == "full":
        drawn.append({"part": "figure", "d": 3, "n": 40, "half": 5.0})
    return [*reference, *drawn, {"part": "draws", "draws": 20}]


def compute(cell: Cell) -> Any:
    return {"reference": _reference, "figure": _figure, "draws": _draws}[cell["part"]](cell)


def _reference(cell: Cell) -> "tuple[xarray.Dataset, Run]":
    """Rows of the table of reference runs: nine tokens, a step of 0.02, until t = 14."""
    import numpy as np

    run = flow(np.array(NINE), np.linspace(0, 14, 141), V=np.eye(2), B=np.array(SCORES[cell["B"]]))
    return _described(run)


def _figure(cell: Cell) -> "tuple[xarray.Dataset, Run]":
    """The paper's data: snapshots every half unit until t = 5, and the limit from a run until t = 14."""
    import numpy as np

    x0 = cube(cell["seed"], cell["n"], cell["d"], cell["half"])
    return _described(flow(x0, np.linspace(0, 14, 141), V=np.eye(cell["d"]), B=np.eye(cell["d"])))


def _described(run: "Run") -> "tuple[xarray.Dataset, Run]":
    """The polytope detected at the end, and the largest growth of the hull; the run of rescaled tokens."""
    import numpy as np
    import xarray

    import attnflow as af

    z = af.rescaled(run)
    polytope = af.diagnostics.detect_polytope(z)
    hulls = af.diagnostics.hull_nonincreasing(z)
    zs = np.asarray(z.xs)
    limit = polytope.centroids[polytope.labels]
    data = xarray.Dataset(
        {
            "centroid": (("cluster", "coordinate"), polytope.centroids),
            "label": ("token", polytope.labels),
            "vertex": ("cluster", np.isin(np.arange(polytope.count), polytope.vertices).astype(int)),
            "residual": ("cluster", polytope.residuals),
            "dimension": polytope.dimension,
            "holds": int(polytope.holds),
            "hull_grows_by": hulls.violation,
            "distance": ("time", np.linalg.norm(zs - limit, axis=2).max(axis=1)),
        },
        coords={"time": np.asarray(run.ts)},
    )
    return data, z


def _draws(cell: Cell) -> "xarray.Dataset":
    """Draws of the paper's data: explicit Euler at the paper's step until t = 5, rescaled by R^-k, and the flow until
    t = 60, far beyond the time at which scores have no fractional digits.
    """
    import jax
    import numpy as np
    import xarray

    import attnflow as af
    from attnflow.flows.rescaling import pulled_back

    x0 = np.stack([cube(s, 20, 2, 5.0) for s in range(cell["draws"])])
    eye, dt = np.eye(2), 0.1
    early = np.arange(0.0, 5.5, 0.5)

    def tokens(solver: str, dt: float, ts: Any) -> Any:
        def one(x: Any) -> Any:
            return af.simulate(model(V=eye, B=eye), x, ts=ts, solver=solver, dt=dt, throw=False).xs

        return np.asarray(jax.vmap(one)(x0))

    late = np.append(early, 60.0)
    euler, exact = tokens("layers", dt, early), tokens("ifrk4", 0.05, late)
    smooth = np.stack([pulled_back(x, late, eye) for x in exact])
    dims = ("draw", "time", "token", "coordinate")
    return xarray.Dataset(
        {
            "euler": (dims, np.stack([pulled_back(x, early, eye, step=dt) for x in euler])),
            "flow": (dims, smooth[:, :-1]),
            "last": (("draw", "token", "coordinate"), smooth[:, -1]),
        },
        coords={"time": early},
    )


EXPERIMENT = Experiment(
    id="clusters-polytopes",
    paper="clusters",
    title="Tokens end on the vertices of a polytope",
    summary=(
        "V = I and B symmetric, positive definite: the hull of the rescaled tokens shrinks to a polytope; tokens in "
        "general position end on its vertices. The authors' scripts freeze P over a step, which is explicit Euler with "
        "dt = 0.1: figures hardly differ from the flow if tokens are rescaled by (1 + dt)^-k, while e^-t would make "
        "them 21 percent too small. How many vertices of the first hull survive is an observation without theory."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[polytope_in_the_plane, polytope_in_space, rate_of_convergence],
    parameters={
        "n": Parameter("number of tokens", bounds=(2, 1000), where={"part": "figure"}),
        "half": Parameter("half the width of the cube of draws", bounds=(0.1, 20), where={"part": "figure"}),
    },
)
