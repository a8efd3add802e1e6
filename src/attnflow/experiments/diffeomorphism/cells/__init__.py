"""Diffeomorphisms approximated cell by cell: unfold, compress, permute, fold.

`attnflow.approximate_map` builds the schedules; their errors and their numbers of pieces are compared with the rates of
the theory and with a program that shares no line with the library.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from .claims import CLAIMS, PLANE, RAMPS, SPACE
from .figures import a_map_and_its_approximation, errors_and_pieces, the_square_unrolled

if TYPE_CHECKING:
    import xarray

ETA = 1e-3  # of the ramps that are wide enough to be met
FRAMES = 5  # cells along an axis in the frames of the unrolled square


def cells(scale: str) -> list[Cell]:
    more = [16] if scale == "full" else []
    return [
        *({"part": "ramps", "n": n} for n in RAMPS),
        *({"part": "swirl", "n": n} for n in PLANE),
        *({"part": "bent", "n": n} for n in [*PLANE, *(4 * n for n in more)]),
        *({"part": "space", "n": n} for n in [*SPACE, *more]),
        {"part": "turn", "n": 8},
        {"part": "lines", "n": 64},
        {"part": "frames"},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {
        "ramps": _ramps,
        "swirl": _swirl,
        "bent": _bent,
        "space": _space,
        "turn": _turn,
        "lines": _lines,
        "frames": _frames,
    }
    return parts[cell["part"]](cell)


def _ramps(cell: Cell) -> "xarray.Dataset":
    """A random permutation with wide ramps: the share of points that do not go where their cell goes."""
    import numpy as np
    import xarray

    import attnflow as af

    n, rng = cell["n"], np.random.default_rng(cell["seed"])
    tau = rng.permutation(n * n)
    flow = af.constructions.permutation_flow(tau, n, eta=ETA)
    x = rng.random((1_000_000, 2))
    column, row = np.floor(x * n).astype(int).T
    place = tau[row * n + column]
    wanted = x + (np.column_stack([place % n, place // n]) - np.column_stack([column, row])) / n
    lost = np.mean(abs(flow.schedule.forward(x) - wanted).max(axis=1) > 1e-9)
    return xarray.Dataset({"lost": lost / ETA, "told": flow.ramp_mass / ETA, **_counts(flow)})


def _swirl(cell: Cell) -> "xarray.Dataset":
    """A map that keeps areas, by a permutation of cells."""
    from attnflow.constructions import permutation_flow

    from ..examples import swirl

    return _measured(permutation_flow(swirl, cell["n"]), cell).assign(least=_least(swirl, cell["n"]))


def _bent(cell: Cell) -> "xarray.Dataset":
    """Areas change: cells are stretched first."""
    import attnflow as af

    from ..examples import bent, bent_determinant

    return _measured(af.approximate_map(bent, cell["n"], jac=bent_determinant), cell)


def _space(cell: Cell) -> "xarray.Dataset":
    """The cube, with determinants from differences."""
    import attnflow as af

    from ..examples import bent_in_space

    return _measured(af.approximate_map(bent_in_space, cell["n"], d=3), cell)


def _turn(cell: Cell) -> "xarray.Dataset":
    from attnflow.constructions import permutation_flow

    from ..examples import quarter_turn

    return _measured(permutation_flow(quarter_turn, cell["n"]), cell)


def _measured(flow: Any, cell: Cell) -> "xarray.Dataset":
    import jax
    import xarray

    key = jax.random.key(cell["seed"])
    report, verified = flow.report(key=key), flow.verify(key=key)
    numbers = {"rms": report.rms, "ramps_rms": report.ramps_rms, "tv": report.tv, "kl": report.kl}
    known = {name: estimate.value for name, estimate in numbers.items() if estimate is not None}
    errors = {name: getattr(verified, name) for name in ("images", "round_trip", "log_det")}
    return xarray.Dataset({**known, **errors, **_counts(flow), "identity": report.rms_identity})


def _counts(flow: Any) -> dict[str, int]:
    return flow.counts._asdict()


def _least(psi: Any, n: int) -> float:
    """The RMS error that translations of cells cannot avoid: the variance of the displacements inside cells."""
    import numpy as np

    fine = (np.indices((16 * n, 16 * n)).reshape(2, -1).T + 0.5) / (16 * n)
    away = (psi(fine) - fine).reshape(n, 16, n, 16, 2)
    return float(np.sqrt(away.var(axis=(1, 3)).sum(axis=-1).mean()))


def _lines(cell: Cell) -> "xarray.Dataset":
    """Images of a grid of lines under the map and under the flow, and the distance between them everywhere."""
    import numpy as np
    import xarray

    import attnflow as af

    from ..examples import bent, bent_determinant

    flow = af.approximate_map(bent, cell["n"], jac=bent_determinant)
    n = cell["n"]
    at = (np.arange(-(-n // 21), n, -(-n // 11)) + 0.5) / n  # through centres of cells
    mesh = -(-256 // n) * n  # a multiple of n: midpoints are then on no edge
    along = (np.arange(13 * mesh) + 0.5) / (13 * mesh)
    upright = np.stack(np.broadcast_arrays(at[:, None], along), axis=-1)
    lines = np.concatenate([upright, upright[..., ::-1]])
    x = (np.indices((mesh, mesh)).reshape(2, -1).T + 0.5) / mesh
    data = {
        f"{name}_lines": f(lines.reshape(-1, 2)).reshape(lines.shape) for name, f in (("true", bent), ("flow", flow))
    }
    away = np.linalg.norm(flow(x) - bent(x), axis=1).reshape(mesh, mesh)
    dims = ("line", "point", "coordinate")
    return xarray.Dataset({**{k: (dims, v) for k, v in data.items()}, "away": (("x1", "x2"), away)})


def _frames(cell: Cell) -> "xarray.Dataset":
    """Where the cells are after each of the five shears of a permutation."""
    import xarray

    from attnflow.constructions import permutation_flow

    from ..examples import quarter_turn

    flow = permutation_flow(quarter_turn, FRAMES)
    states = flow.trace(flow.grid.centres)
    return xarray.Dataset({"x": (("frame", "cell", "coordinate"), states), "pieces": flow.counts.merged})


EXPERIMENT = Experiment(
    id="diffeomorphism-cells",
    paper="diffeomorphism",
    title="Diffeomorphisms approximated cell by cell",
    summary=(
        "A box is cut into cells; shears lay them in a strip, where they are stretched to the volumes of their images, "
        "permute them and fold the strip again. All of it is the flow of one ReLU neuron after another. The map and "
        "the law that it makes of the uniform one are approximated at once, with a number of pieces that grows as "
        "ε^(−d). The paper states such a result; this construction of it is our own."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[a_map_and_its_approximation, the_square_unrolled, errors_and_pieces],
    parameters={"n": Parameter("cells along an axis", bounds=(2, 20))},
)
