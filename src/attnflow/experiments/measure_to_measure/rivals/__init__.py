r"""Two rivals of the construction: softmax attention in place of rank one, and weights found by gradient descent.

Proposition 6.2 says that one piece of softmax attention at a finite temperature disentangles measures in general; it is
compared with two pieces of rank one, in pieces, room and time. The same pairs of measures are given to an optimiser
that trains a transformer of the same kind through `simulate`.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from .claims import BETAS, CLAIMS, LIMIT_TIME
from .figures import loss_of_the_trained, softmax_against_rank_one

if TYPE_CHECKING:
    import xarray

N, TOKENS = 3, 8  # of the trained task
PIECES, WIDTH, STARTS = 12, 3, 6
EPOCHS = {"quick": 300, "full": 1500}


def cells(scale: str) -> list[Cell]:
    draws = range(3 if scale == "quick" else 10)
    return [
        *({"part": "ways", "way": way, "draw": draw} for way in ("generic", "softmax") for draw in draws),
        *({"part": "separation", "beta": beta} for beta in BETAS),
        *({"part": "limits", "draw": draw} for draw in draws),
        {"part": "trained", "epochs": EPOCHS[scale]},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {"ways": _ways, "separation": _separation, "limits": _limits, "trained": _trained}
    return parts[cell["part"]](cell)


def _ways(cell: Cell) -> "xarray.Dataset":
    """Five measures of twenty atoms, ten in common, with attention of either kind."""
    import time

    import xarray

    import attnflow as af

    from ..data_sets import clusters, inputs, rng_of

    rng = rng_of(cell["seed"], 500 + cell["draw"])
    sources, targets = inputs(rng, 5, 20, 10, 3), clusters(rng, 5, 20, 3)
    begun = time.perf_counter()
    matching = af.match_measures(sources, targets, method=cell["way"])
    seconds = time.perf_counter() - begun
    attends = sum(piece.attends for piece in matching.schedule)
    numbers = {"pieces": len(matching.schedule), "attends": attends, "clearance": matching.clearance}
    return xarray.Dataset(
        numbers | {"seconds": seconds, "away": ("measure", matching.verify().distances)},
    )


def _separation(cell: Cell) -> "xarray.Dataset":
    """How far atoms are apart after one piece of softmax attention, and after two of rank one; five draws."""
    import time

    import numpy as np
    import xarray

    from attnflow.constructions import disentangle

    from ..data_sets import inputs, rng_of

    rows = []
    for draw in range(5):
        sources = inputs(rng_of(cell["seed"], 500 + draw), 5, 20, 10, 3)
        for method in ("softmax", "generic"):
            begun = time.perf_counter()
            found = disentangle(sources, method, beta=cell["beta"])
            rows.append((found.separation, len(found.pieces), time.perf_counter() - begun))
    values = np.reshape(rows, (5, 2, 3))
    names = ("separation", "pieces", "seconds")
    variables = {name: (("draw", "way"), values[:, :, k]) for k, name in enumerate(names)}
    return xarray.Dataset(variables, coords={"way": ["softmax", "generic"]})


def _limits(cell: Cell) -> "xarray.Dataset":
    """Where V = I, B = I takes five samples of twenty uniform points in the long run: points, and their distances."""
    import numpy as np
    import xarray

    from attnflow.constructions import TransformerSchedule, softmax_attention

    from ..data_sets import rng_of, unit

    rng = rng_of(cell["seed"], 550 + cell["draw"])
    clouds = [unit(rng.normal(size=(20, 3))) for _ in range(5)]
    ends = np.stack(TransformerSchedule([softmax_attention(3, 1.0, LIMIT_TIME)]).run(clouds))
    centres = unit(ends.mean(axis=1))
    apart = np.linalg.norm(centres[:, None] - centres, axis=2)[~np.eye(5, dtype=bool)]
    diameter = np.linalg.norm(ends - centres[:, None], axis=2).max()
    return xarray.Dataset({"apart": apart.min(), "diameter": 2 * diameter})


def _trained(cell: Cell) -> "xarray.Dataset":
    """Three pairs of measures of eight atoms, four in common: trained from several starts, and built."""
    import time

    import jax
    import numpy as np
    import xarray

    import attnflow as af

    from ..data_sets import clusters, inputs, rng_of
    from ..training import trained

    rng = rng_of(cell["seed"], 600)
    sources, targets = inputs(rng, N, TOKENS, 4, 3), clusters(rng, N, TOKENS, 3)
    begun = time.perf_counter()
    matching = af.match_measures(sources, targets)
    seconds = time.perf_counter() - begun
    result = trained(
        np.stack(sources), np.stack(targets), pieces=PIECES, width=WIDTH, attends=True, starts=STARTS,
        epochs=cell["epochs"], coupled=True, key=jax.random.key(cell["seed"]),
    )  # fmt: skip
    numbers: dict[str, Any] = {
        "trained": (("start", "measure"), result.distances),
        "loss": (("start", "epoch"), result.losses),
        "seconds_trained": result.seconds,
        "built": ("measure", matching.verify().distances),
        "seconds_built": seconds,
        "pieces": len(matching.schedule),
    }
    return xarray.Dataset(numbers)


EXPERIMENT = Experiment(
    id="measure-rivals",
    paper="measure-to-measure",
    title="Rivals of the construction",
    summary=(
        "One piece of softmax attention disentangles as two of rank one do. Trained by gradient descent through the "
        "same solver, a transformer of twelve pieces comes nearer to its targets and does not arrive; the built one, "
        "of 26 pieces, is there after a fraction of a second."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[softmax_against_rank_one, loss_of_the_trained],
)
