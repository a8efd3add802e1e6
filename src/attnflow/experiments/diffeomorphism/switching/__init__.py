"""Random switching after Maurey: one neuron of a field at a time, drawn by the size of its weight.

The flow is compared with that of the whole field. Its error falls as the root of the number of pieces, whatever the
number of neurons, and has the size that the theory of fluctuations gives.
"""

from typing import TYPE_CHECKING

from ... import Cell, Experiment
from .claims import CLAIMS, PIECES, SIZE
from .figures import errors_of_switching

if TYPE_CHECKING:
    import numpy
    import xarray

POINTS, REPEATS = 400, 16


def cells(scale: str) -> list[Cell]:
    repeats = REPEATS if scale == "quick" else 8 * REPEATS
    return [
        {"part": "field"},
        *({"part": "random", "pieces": n, "repeats": 4 * repeats if n == SIZE else repeats} for n in PIECES),
        *({"part": "in turn", "pieces": n} for n in PIECES),
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    return {"field": _field, "random": _random, "in turn": _in_turn}[cell["part"]](cell)


def _field(cell: Cell) -> "xarray.Dataset":
    import numpy as np
    import xarray

    from .field import fitted, fluctuation

    field, x = fitted(cell["seed"]), _points(cell)
    variation = (np.linalg.norm(field.W, axis=-1) * np.sqrt(1 + field.b**2)).sum(axis=1).mean()
    return xarray.Dataset({"fluctuation": fluctuation(field, x), "variation": variation})


def _random(cell: Cell) -> "xarray.Dataset":
    """Mean squared errors of schedules that are drawn independently."""
    import jax
    import xarray

    from attnflow.constructions import maurey_schedule

    from .field import fitted, flow

    field, x = fitted(cell["seed"]), _points(cell)
    keys = jax.random.split(jax.random.fold_in(jax.random.key(cell["seed"]), cell["pieces"]), cell["repeats"])
    schedules = (maurey_schedule(*field, cell["pieces"], key=key) for key in keys)
    wanted = flow(field, x)
    squares = [((schedule.forward(x) - wanted) ** 2).sum(axis=1).mean() for schedule in schedules]
    return xarray.Dataset({"square": ("repeat", squares)})


def _in_turn(cell: Cell) -> "xarray.Dataset":
    """All neurons of a part of the time, one after another, and again."""
    import numpy as np
    import xarray

    from attnflow.constructions import Schedule

    from .field import NEURONS, PARTS, fitted, flow

    field, x = fitted(cell["seed"]), _points(cell)
    rounds = cell["pieces"] // (PARTS * NEURONS)
    W, A, b = (np.repeat(part[:, None], rounds, axis=1).reshape(-1, *part.shape[2:]) for part in field)
    schedule = Schedule.from_arrays(W, A, b, 1 / (PARTS * rounds))
    return xarray.Dataset({"rms": np.sqrt(((schedule.forward(x) - flow(field, x)) ** 2).sum(axis=1).mean())})


def _points(cell: Cell) -> "numpy.ndarray":
    import numpy as np

    return np.random.default_rng([cell["seed"], 1]).normal(size=(POINTS, 2))


EXPERIMENT = Experiment(
    id="diffeomorphism-switching",
    paper="diffeomorphism",
    title="Random switching between neurons",
    summary=(
        "A field of 64 neurons in each of 16 parts of the time is replaced by one neuron at a time, drawn by the size "
        "of its weight. The error is that of independent fluctuations, and falls as the root of the number of pieces. "
        "Running the neurons in turn is far more accurate: random switching is a device of theory, for fields of more "
        "neurons than there are pieces."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[errors_of_switching],
)
