r"""Leaders: hardmax layers on the reference configurations, on random systems, and beyond the theorem.

A token is a leader once all others lie strictly behind the hyperplane through it that is orthogonal to $Ax_i$. Leaders
never move again; the others follow them.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from .claims import ANGLES, BEYOND, CLAIMS, REFERENCE
from .figures import beyond_the_theorem, half_spaces, reference_configurations, ties_that_are_lost

if TYPE_CHECKING:
    import xarray

    from attnflow import Run

ALPHA = 0.5
SIZE, DIMENSION, LAYERS = 40, 4, 400  # the largest of the random systems


def cells(scale: str) -> list[Cell]:
    return [
        *({"part": "reference", "case": case} for case in REFERENCE),
        {"part": "rotated"},
        {"part": "systems", "systems": 200 if scale == "quick" else 2000},
        {"part": "beyond"},
        {"part": "special"},
    ]


def compute(cell: Cell) -> Any:
    parts = {
        "reference": _reference,
        "rotated": _rotated,
        "systems": _systems,
        "beyond": _beyond,
        "special": _special,
    }
    return parts[cell["part"]](cell)


def _reference(cell: Cell) -> "tuple[xarray.Dataset, Run]":
    """One row of the paper's second figure, and what becomes of it after 60 layers."""
    import jax
    import xarray

    import attnflow as af

    case = cell["case"]
    fixed = case in ("emerge", "tested faces")
    key = None if fixed else jax.random.fold_in(jax.random.key(cell["seed"]), list(REFERENCE).index(case))
    # Sixteen tokens in each row with random ones: one program serves all.
    inside = {"triangle": 13, "square": 12, "faces": 10}.get(case)
    x0 = af.models.hardmax_cloud(case.split()[-1], inside, key=key)
    run = af.simulate(af.HardmaxLayers(ALPHA), x0, t1=60, solver="layers")
    found = af.diagnostics.hardmax_limit(run, eps=1e-8)
    data = {
        "certified": int(found.certified),
        "faces": len(found.faces),
        "vertices": len(found.polytope.vertices),
        "hull_grows_by": af.diagnostics.hull_nonincreasing(run).violation,
    }
    return xarray.Dataset(data), run


def _rotated(cell: Cell) -> "xarray.Dataset":
    """The ties of `faces`, turned so that they are no ties of floating-point numbers."""
    import numpy as np
    import xarray

    import attnflow as af

    x0 = np.asarray(af.models.hardmax_cloud("faces"))
    turns = np.array([[[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]] for t in ANGLES])
    found = {}
    for mode, model in (("strict", af.HardmaxLayers(ALPHA)), ("robust", af.HardmaxLayers(ALPHA, robust=True))):
        runs = [af.simulate(model, x0 @ turn.T, t1=400, solver="layers") for turn in turns]
        found[mode] = np.stack([run.xs @ turn for run, turn in zip(runs, turns, strict=True)])  # turned back
    dims = ("angle", "layer", "token", "coordinate")
    return xarray.Dataset({mode: (dims, xs) for mode, xs in found.items()}, coords={"angle": list(ANGLES)})


def _systems(cell: Cell) -> "xarray.Dataset":
    """Random tokens, matrices G Gᵀ + 0.1 I and steps; smaller systems are filled up with tokens of weight zero and
    coordinates that are zero. All in one program, one system after the other.
    """
    import jax
    import numpy as np
    import xarray

    count = cell["systems"]
    rng = np.random.default_rng(cell["seed"])
    n, d = rng.integers(5, SIZE + 1, count), rng.integers(2, DIMENSION + 1, count)
    alpha = rng.uniform(0.1, 2.0, count)
    inside = np.arange(DIMENSION) < d[:, None]
    weight = (np.arange(SIZE) < n[:, None]) / n[:, None]
    x0 = rng.standard_normal((count, SIZE, DIMENSION)) * inside[:, None, :] * (weight > 0)[:, :, None]
    G = rng.standard_normal((count, DIMENSION, DIMENSION)) * inside[:, :, None] * inside[:, None, :]
    B = G @ G.swapaxes(1, 2) + 0.1 * np.eye(DIMENSION) * inside[:, :, None]
    found = jax.jit(lambda *a: jax.lax.map(_invariants, a))(x0, weight, B, alpha)
    return xarray.Dataset({name: ("system", np.asarray(value)) for name, value in found.items()})


def _invariants(system: Any) -> dict[str, Any]:
    """What should be zero, or one, of a system."""
    import jax.numpy as jnp

    import attnflow as af

    x0, w, B, alpha = system
    run = af.simulate(af.HardmaxLayers(alpha, B), x0, t1=LAYERS, weights=w, solver="layers")
    norm = jnp.sum((run.xs @ B) * run.xs, axis=-1)
    began = run.info["leader_layer"]
    leads, here = began >= 0, w > 0
    last = run.final
    apart = jnp.sqrt(jnp.sum((last[:, None] - last[None]) ** 2, axis=-1))
    nearest = jnp.min(jnp.where(leads[None, :], apart, jnp.inf), axis=1)
    falls = jnp.where(here[None, :], norm[:-1] / norm[1:] - 1, -jnp.inf)  # absent tokens are 0/0
    return {
        "norm_falls_by": jnp.max(falls),
        "leader_moves_by": leader_moves_by(run.xs, began),
        "from_a_leader": jnp.max(jnp.where(here, nearest, 0)),
        "leaders": jnp.sum(leads),
        "largest_leads": began[jnp.argmax(jnp.where(here, norm[0], -1))] == 0,
    }


def leader_moves_by(xs: Any, began: Any) -> Any:
    """How far any leader is ever from where it began to lead."""
    import jax.numpy as jnp

    since = xs[jnp.maximum(began, 0), jnp.arange(xs.shape[1])]
    moved = jnp.sqrt(jnp.sum((xs - since[None]) ** 2, axis=-1))
    counts = (began >= 0)[None, :] & (jnp.arange(len(xs))[:, None] >= began[None, :])
    return jnp.max(jnp.where(counts, moved, 0))


def _beyond(cell: Cell) -> "xarray.Dataset":
    """Matrices that are not symmetric and positive definite, 12 tokens of NumPy's generator, 2000 layers."""
    import jax
    import numpy as np
    import xarray

    import attnflow as af

    x0 = np.random.default_rng(1).standard_normal((12, 2))
    B = np.stack([af.models.hardmax_matrix(name) for name in BEYOND])
    runs = jax.vmap(lambda B: af.simulate(af.HardmaxLayers(ALPHA, B), x0, t1=2000, solver="layers"))(B)
    xs, began = np.asarray(runs.xs), np.asarray(runs.info["leader_layer"])
    form = np.einsum("ktni,kij,ktnj->ktn", xs, B, xs)
    early = xs[:, [*range(20), 2000]]
    last = xs[:, -1]
    return xarray.Dataset(
        {
            "x": (("matrix", "layer", "token", "coordinate"), early),
            "leader_layer": (("matrix", "token"), began),
            "form_falls_by": ("matrix", (form[:, :-1] - form[:, 1:]).max(axis=(1, 2))),
            "clusters": ("matrix", [af.clusters(x, eps=1e-8, space=af.Euclidean()).count for x in last]),
            "diameter": ("matrix", np.linalg.norm(last[:, :, None] - last[:, None], axis=-1).max(axis=(1, 2))),
            "hull_grows_by": ("matrix", [af.diagnostics.hull_nonincreasing(x).violation for x in early]),
            "leader_moves_by": ("matrix", [leader_moves_by(x, b) for x, b in zip(xs, began, strict=True)]),
        },
        coords={"matrix": list(BEYOND), "layer": [*range(20), 2000]},
    )


def _special(cell: Cell) -> "xarray.Dataset":
    """A vertex that is there twice, and a token at the origin; filled up to eight tokens, as many as others have."""
    import numpy as np
    import xarray

    import attnflow as af

    twice = [(1.0, 1.0), (1.0, 1.0), (1.0, -1.0), (0.5, 0.0)]
    zero = [(0.0, 0.0), (1.0, 0.25), (-0.5, 1.0), (0.125, -1.5)]
    x0 = np.pad([twice, zero], ((0, 0), (0, 4), (0, 0)))
    weight = np.repeat([1 / 4, 0.0], 4)
    runs = [af.simulate(af.HardmaxLayers(ALPHA), x, t1=60, weights=weight, solver="layers") for x in x0]
    xs = np.stack([run.xs[:, :4] for run in runs])
    return xarray.Dataset({"x": (("case", "layer", "token", "coordinate"), xs)}, coords={"case": ["twice", "zero"]})


EXPERIMENT = Experiment(
    id="hardmax-leaders",
    paper="hardmax",
    title="Leaders of hardmax layers",
    summary=(
        "Each token steps towards the tokens that reach farthest in its own direction. Leaders, which have all others "
        "behind them, never move again; they are the vertices of a polytope, and tokens in general position end on "
        "them. Ties between vertices last only if the arithmetic keeps them: tolerance, frozen leaders and absorption "
        "do that. With matrices that are not symmetric and positive definite tokens may all shrink to one point."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[reference_configurations, half_spaces, ties_that_are_lost, beyond_the_theorem],
    parameters={"systems": Parameter("number of random systems", bounds=(1, 100000))},
)
