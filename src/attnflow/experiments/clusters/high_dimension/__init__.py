r"""Leaders, and tokens in high dimension: few leaders remain, attention has low rank, components cluster or diverge.

For every real left eigenvector, $\dot u_i = \lambda_k\sum_jP_{ij}(u_j - u_i)$: the range of the rescaled tokens along
it never grows if $\lambda_k > 0$ and never shrinks if $\lambda_k < 0$. So components with positive eigenvalue
cluster and those with negative eigenvalue diverge, for any attention matrix.

Of the authors' scripts, the one for the figure of low rank integrates $\dot x = Vx$ without attention, and the
notebook in dimension 128 multiplies by $\Phi e^{tD}\Phi$ where $\Phi e^{tD}\Phi^\top$ is meant. Here attention acts,
and the transpose is the right one.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from ..tokens import flow, model
from .claims import CLAIMS
from .figures import clustered_and_diverging, leaders_emerge, rank_falls

if TYPE_CHECKING:
    import numpy
    import xarray

    from attnflow import Run


def cells(scale: str) -> list[Cell]:
    many = {"n": 128, "d": 128, "t1": 15.0} if scale == "full" else {"n": 64, "d": 64, "t1": 6.0}
    return [
        {"part": "leaders", "n": 20, "d": 2, "t1": 10.0},
        {"part": "rank", "n": 40, "d": 80, "t1": 11.0},
        {"part": "coordinates", "density": 0.1, **many},
    ]


def compute(cell: Cell) -> Any:
    return {"leaders": _leaders, "rank": _rank, "coordinates": _coordinates}[cell["part"]](cell)


def _leaders(cell: Cell) -> "tuple[xarray.Dataset, Run]":
    """The paper's figure of leaders: explicit Euler on x, V = W W^T and B = U U^T with uniform entries."""
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    rng = np.random.default_rng(cell["seed"])
    W, U = rng.uniform(-1, 1, (2, cell["d"], cell["d"]))
    x0 = rng.uniform(-1, 1, (cell["n"], cell["d"]))
    V, B, dt = W @ W.T, U @ U.T, 0.1
    run = af.simulate(model(V=V, B=B), x0, t1=cell["t1"], solver="layers", dt=dt)
    z = af.rescaled(run)
    by_hand = _rescaled_layers(x0, V, B, dt, 10)
    large = jnp.array([[-30.0, 0.0], [25.0, 10.0]])
    data = {
        "off_by": float(np.abs(np.asarray(z.xs)[:11] - by_hand).max()),
        "large": (
            ("row", "column"),
            np.asarray(af.pairsums.pair_weights(af.pairsums.Inner(jnp.asarray(1.0)), large, large)),
        ),
        "P": (("time", "token", "key"), np.asarray(af.attention_matrix(run))),
        "followers": (("time", "token"), np.asarray(af.leaders(run).followers)),
    }
    return xarray.Dataset(data, coords={"time": np.asarray(run.ts)}), z


def _rescaled_layers(z: Any, V: Any, B: Any, dt: float, layers: int) -> "numpy.ndarray":
    """The equation of z itself, in NumPy: z <- z + dt sum_j P_ij(R^k z) R^-1 V (z_j - z_i), with R = I + dt V."""
    import numpy as np
    from scipy.special import softmax

    R = np.eye(len(V)) + dt * V
    states = [z]
    for k in range(layers):
        x = z @ np.linalg.matrix_power(R, k).T
        z = z + dt * (softmax(x @ B @ x.T, axis=1) @ z - z) @ np.linalg.solve(R, V).T
        states.append(z)
    return np.array(states)


def _rank(cell: Cell) -> "xarray.Dataset":
    """V = W W^T / d. Dividing V by d is a change of the unit of time and nothing else."""
    import numpy as np
    import xarray

    import attnflow as af

    n, d = cell["n"], cell["d"]
    rng = np.random.default_rng(cell["seed"])
    W = rng.uniform(-1, 1, (d, d))
    V = W @ W.T / d
    x0 = rng.uniform(-1, 1, (n, d))
    run = flow(x0, np.linspace(0, cell["t1"], 45), V=V, B=np.eye(d), dt=0.05)
    P = np.asarray(af.attention_matrix(run))
    singular = np.linalg.svd(P, compute_uv=False)
    return xarray.Dataset(
        {
            "singular": (("time", "index"), singular),
            "rank": ("time", np.sum(singular > 1e-6, axis=1)),
            "leaders": ("time", np.sum(np.asarray(af.leaders(run).followers) > 0, axis=1)),
            "doubt": ("time", 1 - P.max(axis=2).min(axis=1)),
            "last": (("token", "key"), P[-1]),
            "lambda": float(np.linalg.eigvalsh(V)[-1]),
        },
        coords={"time": np.asarray(run.ts)},
    )


def _coordinates(cell: Cell) -> "xarray.Dataset":
    """A sparse symmetric V, in its own orthonormal basis, so that components are rounded independently."""
    import numpy as np
    import xarray

    import attnflow as af

    n, d, t1 = cell["n"], cell["d"], cell["t1"]
    rng = np.random.default_rng(cell["seed"])
    values, basis = np.linalg.eigh(_sparse_symmetric(d, cell["density"], rng))
    values = np.where(np.abs(values) <= 1, np.sign(values) * rng.uniform(1, 2, d), values)
    x0 = rng.uniform(-0.5, 0.5, (n, d)) @ basis
    ts = np.linspace(0, t1, 31)
    run = flow(x0, ts, V=np.diag(values), B=np.eye(d), dt=0.1 / float(np.abs(values).max()))
    z = np.asarray(af.rescaled(run).xs)
    return xarray.Dataset(
        {
            "eigenvalue": ("component", values),
            "range": (("time", "component"), np.ptp(z, axis=1)),
            "first": (("token", "component"), z[0]),
            "last": (("token", "component"), z[-1]),
        },
        coords={"time": ts},
    )


def _sparse_symmetric(d: int, density: float, rng: Any) -> "numpy.ndarray":
    """A symmetric matrix with normal entries at random places."""
    import numpy as np

    entries = np.where(rng.uniform(size=(d, d)) < density, rng.normal(size=(d, d)), 0.0)
    return (entries + entries.T) / 2


EXPERIMENT = Experiment(
    id="clusters-high-dimension",
    paper="clusters",
    title="Leaders, low rank, and components that cluster or diverge",
    summary=(
        "Few leaders remain, and attention ends with low rank. This is the true dynamics of attention; the authors' "
        "script for low rank integrates the linear flow alone. With W W^T itself in place of W W^T / d the paper's "
        "final time is a growth of e^1100, past the time from which scores of double precision have no digits. "
        "In high dimension components along positive eigenvalues cluster and those along negative ones diverge."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[leaders_emerge, rank_falls, clustered_and_diverging],
    parameters={
        "n": Parameter("number of tokens", bounds=(2, 1000), where={"part": "coordinates"}),
        "d": Parameter("dimension", bounds=(2, 1000), where={"part": "coordinates"}),
        "t1": Parameter("final time", bounds=(0.5, 30), where={"part": "coordinates"}),
        "density": Parameter("share of entries of V that are not 0", bounds=(0.01, 1), where={"part": "coordinates"}),
    },
)
