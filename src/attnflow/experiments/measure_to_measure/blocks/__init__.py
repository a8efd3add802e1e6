"""The parts of which a transformer between measures is made: closed forms against solvers.

A boost, attention of rank one, a gate on a cap, a band, and what is made of them: gathering in the orthant, and the
lemma that isolates a measure, makes a point of it, and brings the others back.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from .claims import CLAIMS, DIMENSIONS, FORMS
from .figures import isolate_cluster_reverse, maps_of_the_parts

if TYPE_CHECKING:
    import xarray

DRAWS = 3


def cells(scale: str) -> list[Cell]:
    draws = range(DRAWS if scale == "quick" else 10)
    return [
        *({"part": "closed forms", "d": d} for d in DIMENSIONS),
        {"part": "maps"},
        {"part": "gate"},
        *({"part": "gather", "d": d} for d in DIMENSIONS),
        *({"part": "lemma", "draw": draw} for draw in draws),
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {"closed forms": _closed, "maps": _maps, "gate": _gate, "gather": _gather, "lemma": _lemma}
    return parts[cell["part"]](cell)


def pieces_of(rng: Any, d: int) -> dict[str, Any]:
    """One piece of every form, with numbers by chance."""
    import numpy as np

    import attnflow.constructions as made

    from ..data_sets import unit

    e, gamma, omega = np.linalg.qr(rng.normal(size=(d, 3)))[0].T
    slanted = unit(e + 0.5 * omega)
    return {
        "boost": made.boost(e, -1.7, 2.0),
        "rank one": made.rank_one_attention(slanted, 2.3),
        "rank one reversed": made.rank_one_attention(slanted, 1.5, speed=-1.0),
        "cap gate": made.cap_gate(e, 0.3, 5.0),
        "cap gate outwards": made.cap_gate(e, 0.3, -3.0),
        "band": made.hat_band(gamma, omega, 0.6, 4.0),
        "band backwards": made.hat_band(gamma, omega, 0.6, -2.0),
        "averaging": made.full_averaging(d, 2.0),
        "softmax": made.softmax_attention(d, 3.0, 1.5),
    }


def _closed(cell: Cell) -> "xarray.Dataset":
    """The largest distance of a token moved by a closed form from one integrated by `simulate`."""
    import numpy as np
    import xarray

    import attnflow as af
    from attnflow.constructions import TransformerSchedule

    from ..data_sets import rng_of, unit

    d, rng = cell["d"], rng_of(cell["seed"], cell["d"])
    x, w = unit(rng.normal(size=(24, d))), rng.dirichlet(np.full(24, 2.0))
    errors = []
    for piece in pieces_of(rng, d).values():
        schedule = TransformerSchedule([piece])
        closed = schedule.run([(x, w)])[0]
        solver = {"solver": "dopri8", "rtol": 1e-12, "atol": 1e-14, "save": 1, "weights": w}
        errors.append(np.abs(af.simulate(schedule.model, x, t1=schedule.T, **solver).final - closed).max())
    return xarray.Dataset(
        {"error": ("form", np.array(errors)), "log_det": _log_det_error(rng, d, x)}, coords={"form": list(FORMS)}
    )


def _log_det_error(rng: Any, d: int, x: Any) -> float:
    """The logarithm of the determinant of a boost, against differences along the sphere."""
    import numpy as np

    from attnflow.constructions.matching.boost import boosted, log_det_boost

    from ..data_sets import unit

    e, tau, h, worst = unit(rng.normal(size=d)), 0.8, 1e-5, 0.0
    for point in x[:5]:
        frame = np.linalg.svd(point[None])[2][1:]
        there = np.linalg.svd(boosted(point, e, tau)[None])[2][1:]
        ends = [boosted(unit(point + s * h * frame), e, tau) for s in (1, -1)]
        jacobian = (ends[0] - ends[1]) / (2 * h) @ there.T
        determinant = np.log(abs(np.linalg.det(jacobian)))
        worst = max(worst, abs(determinant - log_det_boost(point[None], e, tau)[0]))
    return worst


def _maps(cell: Cell) -> "xarray.Dataset":
    """A grid of points on the front of S^2 under a boost, a gate and a band."""
    import numpy as np
    import xarray

    import attnflow.constructions as made

    u, v = np.meshgrid(np.linspace(-1.35, 1.35, 28), np.linspace(-1.2, 1.2, 24))
    x = np.stack([np.cos(v) * np.cos(u), np.cos(v) * np.sin(u), np.sin(v)], axis=-1).reshape(-1, 3)
    z, side, up = np.eye(3)
    turned = (z + side) / 2**0.5
    pieces = {
        "boost": made.boost(side, 0.2),
        "cap gate": made.cap_gate(z, np.cos(0.7), 6.0),
        "band": made.hat_band(up, turned, 0.45, 1.0),
    }
    moved = [made.TransformerSchedule([piece]).run([x])[0] for piece in pieces.values()]
    return xarray.Dataset(
        {"x": (("point", "coordinate"), x), "moved": (("form", "point", "coordinate"), np.stack(moved))},
        coords={"form": list(pieces)},
    )


def _gate(cell: Cell) -> "xarray.Dataset":
    """The shares of the points inside and outside of a ball B(z, R) that the gate moves."""
    import numpy as np
    import xarray

    import attnflow.constructions as made

    from ..data_sets import rng_of, unit

    rng = rng_of(cell["seed"], 0)
    x, z, R = unit(rng.normal(size=(4000, 3))), unit(rng.normal(size=3)), 0.9
    moved = made.TransformerSchedule([made.cap_gate(z, np.cos(R), 3.0)]).run([x])[0]
    share = np.linalg.norm(moved - x, axis=1) > 1e-12
    inside = x @ z > np.cos(R)
    return xarray.Dataset({"inside": share[inside].mean(), "outside": share[~inside].mean()})


def _gather(cell: Cell) -> "xarray.Dataset":
    """Angles from the two centres after the two boosts, and the least coordinate."""
    import numpy as np
    import xarray

    from attnflow.constructions import TransformerSchedule, gather_orthant

    from ..data_sets import inputs, rng_of

    d = cell["d"]
    clouds = inputs(rng_of(cell["seed"], d), 5, 20, 5, d)
    pieces = gather_orthant(clouds)
    first = np.concatenate(TransformerSchedule(pieces[:1]).run(clouds))
    last = np.concatenate(TransformerSchedule(pieces).run(clouds))
    to = pieces[0].W[:, 0] / np.linalg.norm(pieces[0].W)
    return xarray.Dataset(
        {
            "first": np.arccos(np.min(first @ to)),
            "last": np.arccos(np.min(last @ np.full(d, d**-0.5))),
            "least": last.min(),
        }
    )


def _lemma(cell: Cell) -> "xarray.Dataset":
    """Lemma 3.3 on three gathered measures in R^3, integrated by `simulate`: each piece, and what it leaves."""
    import numpy as np
    import xarray

    import attnflow as af
    from attnflow.constructions import TransformerSchedule, gather_orthant, isolate

    from ..data_sets import inputs, rng_of

    clouds = inputs(rng_of(cell["seed"], cell["draw"]), 3, 20, 10, 3)
    clouds = TransformerSchedule(gather_orthant(clouds)).run(clouds)
    schedule = TransformerSchedule(isolate(clouds, 0, T=8.0))
    ends = np.cumsum([piece.T for piece in schedule])
    solver = {"solver": "dopri8", "rtol": 1e-12, "atol": 1e-14}
    xs = np.stack([af.simulate(schedule.model, x, ts=[0.0, *ends], **solver).xs for x in clouds], axis=1)
    point, others = xs[-1, 0], xs[-1, 1:]
    return xarray.Dataset(
        {
            "x": (("time", "measure", "token", "coordinate"), xs),
            "diameter": np.linalg.norm(point[:, None] - point, axis=2).max(),
            "restored": np.abs(others - np.stack(clouds[1:])).max(),
            "pieces": len(schedule),
        }
    )


EXPERIMENT = Experiment(
    id="measure-blocks",
    paper="measure-to-measure",
    title="The parts of a transformer between measures",
    summary=(
        "Every piece of a schedule has a closed form, which is compared with an adaptive solver. Two boosts gather all "
        "measures in the positive orthant; attention, a gate and attention reversed make a point of one measure and "
        "bring the others back."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[maps_of_the_parts, isolate_cluster_reverse],
)
