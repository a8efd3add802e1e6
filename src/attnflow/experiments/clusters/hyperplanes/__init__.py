r"""Hyperplanes: one real eigenvalue of $V$ leads, and rescaled tokens come close to at most three parallel hyperplanes.

Along the left eigenvector $\varphi_1^*$ of the leading eigenvalue the rescaled tokens obey
$\dot u_i = \lambda_1\sum_jP_{ij}(u_j - u_i)$: their largest value never grows, their least never falls. Where several
eigenvalues have a positive real part, the paper conjectures subspaces of higher codimension; where the leading
eigenvalue is multiple, polytopes and hyperplanes mix.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from ..tokens import EIGHT, MATRICES, NINE, cube, flow
from .claims import CLAIMS
from .figures import codimension_two, hyperplanes_in_space, hyperplanes_in_the_plane, mix

if TYPE_CHECKING:
    import xarray

    from attnflow import Run


def cells(scale: str) -> list[Cell]:
    figures = [{"part": "figure", "matrix": name, "n": 20, "half": 5.0} for name in MATRICES]
    return [{"part": "reference", "matrix": "plane"}, {"part": "reference", "matrix": "mix"}, *figures]


def compute(cell: Cell) -> "tuple[xarray.Dataset, Run]":
    import numpy as np

    V = np.array(MATRICES[cell["matrix"]])
    d = len(V)
    x0 = cube(cell["seed"], cell["n"], d, cell["half"]) if cell["part"] == "figure" else None
    if x0 is None:
        x0 = np.array(NINE if d == 2 else EIGHT)
    if cell["matrix"] == "codimension":
        return _along_eigenvectors(V, x0)
    return _described(flow(x0, np.linspace(0, 14, 141), V=V, B=np.eye(d)), V)


def _described(run: "Run", V: Any) -> "tuple[xarray.Dataset, Run]":
    """Values of rescaled tokens along the left eigenvector, or in F for the mix; the run of rescaled tokens."""
    import numpy as np
    import xarray

    import attnflow as af

    z = af.rescaled(run)
    zs = np.asarray(z.xs)
    variables: dict[str, Any] = {}
    split = af.diagnostics.detect_paranormal(V=V)
    if split.dimension == 1:
        at = int(np.argmin(np.abs(np.asarray(run.ts) - 12)))  # the groups of the reference runs are those of t = 12
        found = af.diagnostics.detect_hyperplanes(z)
        groups = af.diagnostics.detect_hyperplanes(zs[at], V=V)
        u = zs @ found.triple.phi_star
        spread = [[np.ptp(row[groups.labels == k]) for k in range(groups.count)] for row in u]
        variables |= {
            "u": (("time", "token"), u),
            "value": ("plane", groups.values),
            "label": ("token", groups.labels),
            "spread": ("time", np.max(spread, axis=1)),
            "lambda": found.triple.eigenvalue,
            "holds": int(found.holds),
        }
    else:
        found = af.diagnostics.detect_polytope(split.components(zs[-1]), B=split.restrict())
        variables |= {
            "centroid": (("cluster", "coordinate"), found.corners @ split.basis.T),
            "count": found.count,
            "vertices": len(found.vertices),
            "residual": float(found.residuals.max()),
        }
    return xarray.Dataset(variables, coords={"time": np.asarray(run.ts)}), z


def _along_eigenvectors(V: Any, x0: Any) -> "tuple[xarray.Dataset, Run]":
    """A symmetric V in its own orthonormal basis, where each component is rounded for itself: until t = 60."""
    import numpy as np
    import xarray

    import attnflow as af

    values, basis = np.linalg.eigh(V)
    basis = basis * np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(len(V))])  # as the detectors choose signs
    early, late = np.linspace(0, 14, 140, endpoint=False), [60.0]
    run = flow(x0 @ basis, np.append(early, late), V=np.diag(values), B=np.eye(len(V)), dt=0.05)
    z = af.rescaled(run)
    components = np.asarray(z.xs)
    found = af.diagnostics.detect_hyperplanes(components[-1], V=np.diag(values))
    data = {
        "basis": (("coordinate", "eigenvector"), basis),
        "eigenvalue": ("eigenvector", values),
        "u": (("time", "token"), components[:, :, -1]),
        "value": ("plane", found.values),
    }
    return xarray.Dataset(data, coords={"time": np.asarray(run.ts)}), z


EXPERIMENT = Experiment(
    id="clusters-hyperplanes",
    paper="clusters",
    title="Parallel hyperplanes, and their mix with polytopes",
    summary=(
        "A leading eigenvalue of V that is real, positive and simple: rescaled tokens approach at most three parallel "
        "hyperplanes. Coordinates of z along eigenvalues of negative real part diverge while those of x stay bounded; "
        "that is expected. A multiple leading eigenvalue mixes polytopes and hyperplanes; subspaces of codimension k "
        "are a conjecture."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[hyperplanes_in_the_plane, hyperplanes_in_space, codimension_two, mix],
    parameters={
        "n": Parameter("number of tokens", bounds=(2, 1000), where={"part": "figure"}),
        "half": Parameter("half the width of the cube of draws", bounds=(0.1, 20), where={"part": "figure"}),
    },
)
