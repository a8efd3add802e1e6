r"""Why attention is needed: what no perceptron can do alone, however it is trained.

Two measures share a fraction f of their atoms, and their targets are points at the distance D. Without attention one
map moves both, and an atom that they share cannot be at both points: the squares of the two distances sum to $fD^2/2$
at least, and on the sphere to $f(4 - 2\sqrt{4 - D^2})$, which is attained.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from .claims import CLAIMS, FRACTION, FRACTIONS, SCHEDULES
from .figures import below_the_bound, one_map_for_both

if TYPE_CHECKING:
    import xarray

TOKENS, PIECES, WIDTH, STARTS = 20, 8, 16, 8
EPOCHS = {"quick": 300, "full": 1500}


def cells(scale: str) -> list[Cell]:
    return [
        {"part": "random", "draws": SCHEDULES},
        {"part": "trained", "epochs": EPOCHS[scale]},
        *({"part": "neurons", "fraction": fraction} for fraction in FRACTIONS),
        *({"part": "built", "fraction": fraction} for fraction in FRACTIONS),
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    return {"random": _random, "trained": _trained, "neurons": _neurons, "built": _built}[cell["part"]](cell)


def _task(seed: int, fraction: float) -> tuple[list[Any], Any]:
    """Two clouds of twenty atoms with that part in common, and two antipodal points."""
    import numpy as np

    from ..data_sets import inputs, rng_of

    return inputs(rng_of(seed, 400), 2, TOKENS, round(fraction * TOKENS), 3), np.array([[0.0, 0, 1], [0.0, 0, -1]])


def _random(cell: Cell) -> "xarray.Dataset":
    """Schedules of neurons by chance: the distances of both measures after each."""
    import numpy as np
    import xarray

    from attnflow.constructions import TransformerPiece, TransformerSchedule

    from ..data_sets import rng_of

    (first, second), goals = _task(cell["seed"], FRACTION)
    rng, rows = rng_of(cell["seed"], 401), []
    for _ in range(cell["draws"]):
        size = rng.exponential(2.0, 2)
        schedule = TransformerSchedule(
            TransformerPiece(W=s * rng.normal(size=(3, 3)), U=rng.normal(size=(3, 3)), b=rng.normal(size=3))
            for s in size
        )
        moved = schedule.run([first, second])
        rows.append([np.sqrt(np.mean(np.sum((x - y) ** 2, axis=1))) for x, y in zip(moved, goals, strict=True)])
    return xarray.Dataset({"away": (("draw", "measure"), rows)})


def _trained(cell: Cell) -> "xarray.Dataset":
    """Neurons trained from eight starts to bring both measures to their points."""
    import jax
    import numpy as np
    import xarray

    from ..training import trained

    clouds, goals = _task(cell["seed"], FRACTION)
    targets = np.repeat(goals[:, None], TOKENS, axis=1)
    result = trained(
        np.stack(clouds), targets, pieces=PIECES, width=WIDTH, attends=False, starts=STARTS, epochs=cell["epochs"],
        coupled=False, key=jax.random.key(cell["seed"]),
    )  # fmt: skip
    return xarray.Dataset(
        {"away": (("start", "measure"), result.distances), "loss": (("start", "epoch"), result.losses)}
    )


def _neurons(cell: Cell) -> "xarray.Dataset":
    """The best without attention: atoms of one measure alone go home, those in common stay where they are."""
    import numpy as np
    import xarray

    import attnflow as af

    clouds, goals = _task(cell["seed"], cell["fraction"])
    shared = round(cell["fraction"] * TOKENS)
    own, common = [cloud[shared:] for cloud in clouds], clouds[0][:shared]
    matching = af.match_measures([*own, common], [*(goal[None] for goal in goals), common], method="generic")
    moved = matching(clouds)
    away = [np.sqrt(np.mean(np.sum((x - y) ** 2, axis=1))) for x, y in zip(moved, goals, strict=True)]
    attends = sum(piece.attends for piece in matching.schedule)
    return xarray.Dataset({"away": ("measure", away), "attends": attends})


def _built(cell: Cell) -> "xarray.Dataset":
    """The transformer with attention, integrated."""
    import xarray

    import attnflow as af

    clouds, goals = _task(cell["seed"], cell["fraction"])
    matching = af.match_measures(clouds, [goal[None] for goal in goals])
    return xarray.Dataset({"away": ("measure", matching.verify().distances), "pieces": len(matching.schedule)})


EXPERIMENT = Experiment(
    id="measure-attention",
    paper="measure-to-measure",
    title="Why attention is needed",
    summary=(
        "Two measures with half of their atoms in common go to two antipodal points. Without attention the larger "
        "error is at least 1, whatever the neurons do: schedules by chance, trained ones, and built ones, which attain "
        "the bound. With one piece of attention both errors vanish."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[one_map_for_both, below_the_bound],
)
