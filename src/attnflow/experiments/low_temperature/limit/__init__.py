r"""The limit of zero temperature: a projection, and the rate of convergence to it.

Tokens do not interact there, so that laws are followed with thousands of nodes and to late times. The distance
to the limit decays at the rate $\min(c, k c_u/p)$: the last tokens are either those near the limit, or those that
started near the exceptional set. Cases: three planar pairs of matrices, a plane as limit in $\mathbb R^3$, a random
pair.
"""

from typing import TYPE_CHECKING

from ... import Cell, Experiment
from ..nodes import refined_nodes, uniform
from .claims import CLAIMS, ESCAPES, PLANAR, TIMES
from .figures import rates_of_decay, towards_a_circle

if TYPE_CHECKING:
    import xarray

NODES, NEAREST = 3000, 1e-11
POINTS = 600  # in R³, where exact plans are computed
LATE = (12.0, 16.0)  # rates are fitted here
FAR = 0.5  # tokens with |x₁| below this count as far from the limit


def cells(scale: str) -> list[Cell]:
    return [
        *({"part": "planar", "case": case} for case in PLANAR),
        {"part": "plane"},
        *({"part": "escape", "case": case} for case in ESCAPES),
        {"part": "closed form"},
        {"part": "distances"},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {
        "planar": _planar,
        "plane": _plane,
        "escape": _escape,
        "closed form": _closed_form,
        "distances": _distances,
    }
    return parts[cell["part"]](cell)


def _planar(cell: Cell) -> "xarray.Dataset":
    """W1 and W2 to the limit from the uniform law on the circle."""
    import numpy as np
    import xarray

    import attnflow as af

    V, B = (np.diag(entries) for entries in PLANAR[cell["case"]])
    x0, w = refined_nodes(NODES, NEAREST, uniform)
    ts = np.linspace(0, LATE[1], 65)
    xs = np.asarray(af.reductions.zero_temperature_flow(x0, ts, V=V, B=B))
    distances = {f"W{p}": np.asarray(af.measures.two_diracs(xs, [1.0, 0.0], (0.5, 0.5), p, w)) for p in (1, 2)}
    late = ts >= LATE[0]
    return xarray.Dataset(
        {
            **{name: ("time", value) for name, value in distances.items()},
            "rate": ("p", [-np.polyfit(ts[late], np.log(distances[f"W{p}"][late]), 1)[0] for p in (1, 2)]),
            "predicted": ("p", [af.reductions.low_temperature_rates(V=V, B=B, p=p).rate for p in (1, 2)]),
        },
        coords={"time": ts, "p": [1, 2]},
    )


def _plane(cell: Cell) -> "xarray.Dataset":
    """Tokens of R³ whose limit is a circle, from one sample; W2 to the image of the same sample, by assignment."""
    import numpy as np
    import xarray

    import attnflow as af

    V, B = np.diag([2.0, 2.0, 1.0]), np.eye(3)
    x0 = np.random.default_rng(0).normal(size=(POINTS, 3))
    x0 /= np.linalg.norm(x0, axis=1, keepdims=True)
    target = np.asarray(af.reductions.projection_map(x0, V=V, B=B))
    xs = np.asarray(af.reductions.zero_temperature_flow(x0, TIMES, V=V, B=B))
    return xarray.Dataset(
        {
            "W2": ("time", [af.measures.wasserstein(x, target) for x in xs]),
            "synchronous": ("time", af.measures.synchronous(xs, target)),
            "x": (("time", "token", "coordinate"), xs),
        },
        coords={"time": list(TIMES)},
    )


def _escape(cell: Cell) -> "xarray.Dataset":
    """The mass of the uniform law on S² that is still far from E, at two late times.

    The first coordinate of a uniform point is uniform, and tokens of one azimuth that start closer to the exceptional
    set leave it later: the mass is the mean over azimuths of the coordinate at which |x₁| has just become 1/2.
    """
    import numpy as np
    import xarray

    import attnflow as af

    M, b, times = ESCAPES[cell["case"]]
    V, B = np.diag(np.array(M) / np.array(b)), np.diag(b)
    first = np.geomspace(1e-7, 0.999, 100)
    azimuth = (np.arange(80) + 0.5) / 80 * np.pi / 2  # the rest follows by symmetry
    across = np.sqrt(1 - first**2)[None, :]
    x0 = np.broadcast_arrays(first[None, :], across * np.cos(azimuth)[:, None], across * np.sin(azimuth)[:, None])
    xs = af.reductions.zero_temperature_flow(np.stack(x0, axis=-1).reshape(-1, 3), [0.0, *times], V=V, B=B)
    reached = np.asarray(xs[1:, :, 0]).reshape(2, len(azimuth), len(first))
    mass = [np.mean([np.exp(np.interp(np.log(FAR), np.log(row), np.log(first))) for row in rows]) for rows in reached]
    return xarray.Dataset(
        {
            "rate": np.log(mass[0] / mass[1]) / (times[1] - times[0]),
            "predicted": af.reductions.low_temperature_rates(V=V, B=B).escape,
        }
    )


def _closed_form(cell: Cell) -> "xarray.Dataset":
    """The closed form against the field, integrated; the projection map against late times; a random pair, d = 3."""
    import numpy as np
    import xarray

    import attnflow as af

    rng = np.random.default_rng(4)  # a draw with a real leading eigenvalue
    V, B = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    x0 = rng.normal(size=(8, 3))
    x0 /= np.linalg.norm(x0, axis=1, keepdims=True)
    ts = np.array([0.0, 0.5, 2.0, 5.0])
    model = af.Flow(lambda t, x, w: af.reductions.zero_temperature_field(x, V=V, B=B), af.Sphere())
    run = af.simulate(model, x0, ts=ts, solver="dopri8", rtol=1e-11, atol=1e-13)
    closed = np.asarray(af.reductions.zero_temperature_flow(x0, [*ts, 200.0], V=V, B=B))
    with_identity = np.asarray(af.reductions.projection_map(x0, V=np.eye(3), B=np.eye(3)))
    return xarray.Dataset(
        {
            "difference": float(np.abs(closed[:-1] - np.asarray(run.xs)).max()),
            "projection": float(np.abs(closed[-1] - np.asarray(af.reductions.projection_map(x0, V=V, B=B))).max()),
            "identity": float(np.abs(with_identity - x0).max()),
        }
    )


def _distances(cell: Cell) -> "xarray.Dataset":
    """Two distances that have a closed form, against the methods used here."""
    import jax
    import numpy as np
    import xarray

    import attnflow as af

    rng = np.random.default_rng(cell["seed"])
    x = rng.normal(size=(200, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    e, first = np.eye(3)[2], 77
    target = np.where(np.arange(200)[:, None] < first, e, -e)
    y, shift = rng.normal(size=(50, 5)), rng.normal(size=5)
    sliced = af.measures.sliced(y, y + shift, key=jax.random.key(cell["seed"]), projections=20_000)
    return xarray.Dataset(
        {
            "sorted": af.measures.two_diracs(x, e, (first / 200, 1 - first / 200)),
            "assigned": af.measures.wasserstein(x, target, method="assignment"),
            "sliced": sliced * np.sqrt(5) / np.linalg.norm(shift),
        }
    )


EXPERIMENT = Experiment(
    id="low-temperature-limit",
    paper="low-temperature",
    title="The limit of zero temperature",
    summary=(
        "At zero temperature tokens move independently, by a closed form, and the law tends to the image of the "
        "initial one under a projection. The rate of decay is computed from the spectrum of V Bᵀ and measured; where "
        "it is smaller than that of single tokens, those that start near the exceptional set are the last."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[rates_of_decay, towards_a_circle],
)
