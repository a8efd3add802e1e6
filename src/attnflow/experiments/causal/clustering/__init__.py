r"""Clustering under causal attention: what the spectrum of $V$ decides, and Rényi centers.

With $V = I$ the first token never moves and all others end at it, whatever $Q$ and $K$ are. For other $V$ the leading
eigenvalue decides. Before the end, at low temperature, tokens gather at Rényi centers, which are counted here for
uniform tokens and followed in the configuration of the paper's figure: $n = 200$ on the circle, $\beta = 64$,
$\delta = 4\beta^{-1/2}$.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from ..._draws import each_draw
from .claims import CLAIMS
from .figures import centers_counted, gathering_at_centers, limits_by_spectrum
from .measures import BETA, CASES, CLUSTERED, DELTA, N

if TYPE_CHECKING:
    import xarray

TOKENS, DIMENSION, END = 32, 3, 150.0
STEP = 0.5  # the end of a flow is looked at, and every rate is below 3: Runge and Kutta are stable up to 0.9
ROUGHLY = (1e-7, 1e-10)  # relative and absolute tolerance
APART = 1e-3  # points of the sphere that are called distinct
GAP = 0.05  # between clusters on the circle
NEAR = 0.1  # of a center


def cells(scale: str) -> list[Cell]:
    full = scale == "full"
    some, many = (40, 200) if full else (20, 40)
    return [
        {"part": "limits", "draws": [100, 500, many, some, some]},
        {"part": "counts", "d": 2, "n": 200, "draws": 2000},
        {"part": "counts", "d": 2, "n": 5000, "draws": 4000 if full else 1000},
        {"part": "counts", "d": 3, "n": 200, "draws": 2000},
        {"part": "figure", "draws": 100 if full else 40},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    return {"limits": _limits, "counts": _counts, "figure": _figure}[cell["part"]](cell)


def _limits(cell: Cell) -> "xarray.Dataset":
    """Tokens at the end from uniform ones, in every case of the spectrum; all draws in one program."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af
    from attnflow.diagnostics import components

    cases = list(CASES)
    case = np.repeat(np.arange(len(cases)), cell["draws"])
    key, which = jax.random.key(cell["seed"]), jnp.asarray(case)
    values = jnp.stack([jnp.diag(jnp.asarray(CASES[name])) for name in cases])

    def one(r: Any) -> Any:
        start, *matrices = jax.random.split(jax.random.fold_in(key, r), 3)
        # Random Q and K where V = I, which is enough for the limit; entries of variance 1/d.
        Q, K = (
            jnp.where(which[r] == 0, jax.random.normal(k, (DIMENSION, DIMENSION)) / DIMENSION**0.5, jnp.eye(DIMENSION))
            for k in matrices
        )
        model = af.SelfAttention(af.Softmax(1.0, V=values[which[r]], Q=Q, K=K), pairs=af.Causal())
        x0 = af.sphere.uniform(n=TOKENS, d=DIMENSION, key=start)
        x = af.simulate(model, x0, t1=END, save=2, solver="rk4", dt=STEP).final
        speed = jnp.max(jnp.linalg.norm(af.models.field(model, 0.0, x, None), axis=1))
        return x0[0], x, speed, jnp.sum(components(x, APART) == jnp.arange(TOKENS))

    first, x, speed, distinct = each_draw(one, len(case))
    return xarray.Dataset(
        {
            "case": ("draw", [cases[k] for k in case]),
            "first": (("draw", "coordinate"), first),
            "x": (("draw", "token", "coordinate"), x),
            "speed": ("draw", speed),
            "distinct": ("draw", distinct),
        }
    )


def _counts(cell: Cell) -> "xarray.Dataset":
    """Centers of independent uniform tokens, draw by draw."""
    import numpy as np
    import xarray

    import attnflow as af

    shape = (cell["draws"], cell["n"], cell["d"])
    x = np.random.default_rng([cell["seed"], cell["n"], cell["d"]]).standard_normal(shape)
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    centers, strong = (np.asarray(a).sum(axis=-1) for a in af.diagnostics.renyi_centers(x, DELTA))
    return xarray.Dataset(
        {
            "centers": ("draw", centers),
            "strong": ("draw", strong),
            "expected_strong": af.reductions.expected_strong_centers(cell["n"], DELTA, cell["d"]),
            "parking": af.reductions.parking_count(DELTA),
        }
    )


def _figure(cell: Cell) -> "xarray.Dataset":
    """The configuration of the paper's figure, followed to t = 150 from several draws in one program."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    model = af.SelfAttention(af.Softmax(BETA), pairs=af.Causal())
    ts = np.union1d(np.append(0.0, np.geomspace(0.2, END, 80)), CLUSTERED)
    key = jax.random.key(cell["seed"])

    def one(r: Any) -> Any:
        x0 = af.sphere.uniform(n=N, d=2, key=jax.random.fold_in(key, r))
        run = af.simulate(model, x0, ts=ts, rtol=ROUGHLY[0], atol=ROUGHLY[1])
        return run.xs, jnp.linalg.norm(af.models.field(model, 0.0, x0, None), axis=1)

    xs, speed = each_draw(one, cell["draws"])
    angle = np.unwrap(np.arctan2(xs[..., 1], xs[..., 0]), axis=1)
    centers, strong = (np.asarray(a) for a in af.diagnostics.renyi_centers(xs[:, 0], DELTA))
    turn = np.sort(np.mod(angle, 2 * np.pi), axis=-1)
    gaps = np.diff(np.concatenate([turn, turn[..., :1] + 2 * np.pi], axis=-1), axis=-1)
    to_centers = np.abs((angle[..., :, None] - angle[..., None, :] + np.pi) % (2 * np.pi) - np.pi)
    nearest = np.where(centers[:, None, None, :], to_centers, np.inf).min(axis=-1)
    return xarray.Dataset(
        {
            "angle": (("draw", "time", "token"), angle),
            "centers": (("draw", "token"), centers.astype(int)),
            "strong": (("draw", "token"), strong.astype(int)),
            "speed": (("draw", "token"), speed),
            "bound": ("token", af.reductions.strong_center_speed(np.arange(N), beta=BETA, delta=DELTA)),
            "clusters": (("draw", "time"), np.maximum((gaps > GAP).sum(axis=-1), 1)),
            "near": (("draw", "time"), (nearest < NEAR).mean(axis=-1)),
        },
        coords={"time": ts},
    )


EXPERIMENT = Experiment(
    id="causal-clustering",
    paper="causal",
    title="Clustering under causal attention",
    summary=(
        "The first token of a prompt leads: with V = I all others end at it. Other spectra of V give one cluster, two "
        "opposite ones, or none. On the way, at low temperature, tokens gather at Rényi centers; their numbers are "
        "known in advance, and strong ones hardly move."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[gathering_at_centers, centers_counted, limits_by_spectrum],
    parameters={"draws": Parameter("number of draws", bounds=(2, 10000), where={"part": "figure"})},
)
