"""N measures to N measures with one transformer: pieces as counted, distances by solvers that know no closed form."""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from .claims import CLAIMS, DIMENSIONS, EPS, PAIRS, SAMPLES, TARGETS, TOKENS
from .figures import (
    averaging_to_points,
    distances_along_the_schedule,
    families_on_the_sphere,
    laws_and_other_samples,
    order_of_the_atoms,
    words_on_the_sphere,
)

if TYPE_CHECKING:
    import xarray

STEPS = 300  # of Runge and Kutta's method in every piece


def cells(scale: str) -> list[Cell]:
    full = scale == "full"
    return [
        *({"part": "atoms", "N": N, "draw": draw} for N in PAIRS for draw in range(5) if N == 5 or full),
        *({"part": "large", "d": d} for d in DIMENSIONS if d == 3 or full),
        *({"part": "points", "draw": draw} for draw in range(5 if full else 2)),
        {"part": "times"},
        *({"part": "theorem", "d": d} for d in (3, 4, 5) if d != 4 or full),
        *({"part": "targets", "kind": kind} for kind in TARGETS),
        *({"part": "laws", "atoms": atoms} for atoms in (1, 3)),
        *({"part": "samples", "n": n} for n in TOKENS[: 3 if full else 2]),
        {"part": "order"},
        {"part": "words"},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {
        "atoms": _atoms,
        "large": _large,
        "points": _points,
        "times": _times,
        "theorem": _theorem,
        "targets": _targets,
        "laws": _laws,
        "samples": _samples,
        "order": _order,
        "words": _words,
    }
    return parts[cell["part"]](cell)


def _numbers(matching: Any) -> dict[str, Any]:
    """Counts, norms and distances: by closed forms, and by an adaptive solver."""
    report, checked = matching.report(), matching.verify()
    return {
        "pieces": report.pieces,
        "bound": report.bound,
        "norm": report.norm,
        "clearance": report.clearance,
        "seconds": sum(report.seconds.values()),
        "closed": ("measure", report.distances),
        "integrated": ("measure", checked.distances),
        "before": ("measure", checked.before),
        "fresh": ("measure", checked.fresh),
        "difference": checked.difference,
        "steps": checked.steps,
    }


def _atoms(cell: Cell) -> "xarray.Dataset":
    """N measures of 20 atoms, 10 of them common to all, to clusters: also by a fixed step, 300 in every piece."""
    import xarray

    import attnflow as af

    from ..data_sets import clusters, inputs, rng_of

    N, rng = cell["N"], rng_of(cell["seed"], 10 * cell["N"] + cell["draw"])
    sources, targets = inputs(rng, N, 20, 10, 3), clusters(rng, N, 20, 3)
    matching = af.match_measures(sources, targets)
    numbers = _numbers(matching) | {"fixed_steps": ("measure", _by_fixed_steps(matching, targets))}
    if cell["draw"] == 0:
        ts, xs = matching.schedule.trace(sources)
        away = [
            [af.measures.wasserstein(x[k], y) for k in range(0, len(ts), 3)] for x, y in zip(xs, targets, strict=True)
        ]
        numbers |= {"away": (("measure", "time"), away), "time": ("time", ts[::3])}
    return xarray.Dataset(numbers)


def _by_fixed_steps(matching: Any, targets: list[Any]) -> list[float]:
    """$W_2$ of every measure after 300 steps of Runge and Kutta's method in every piece."""
    import attnflow as af
    from attnflow.constructions import TransformerSchedule

    even = TransformerSchedule(piece.lasting(1.0) for piece in matching.schedule)
    model, count = even.model, len(even)
    solver = {"solver": "rk4", "dt": 1 / STEPS, "save": 1, "max_steps": (STEPS + 2) * count, "throw": False}
    ends = [af.simulate(model, one.x, t1=float(count), **solver).final for one in matching.sources]
    return [float(af.measures.wasserstein(x, y)) for x, y in zip(ends, targets, strict=True)]


def _large(cell: Cell) -> "xarray.Dataset":
    """Ten measures of fifty atoms, half of them common to all."""
    import xarray

    import attnflow as af

    from ..data_sets import clusters, inputs, rng_of

    d, rng = cell["d"], rng_of(cell["seed"], cell["d"])
    return xarray.Dataset(_numbers(af.match_measures(inputs(rng, 10, 50, 25, d), clusters(rng, 10, 50, d))))


def _points(cell: Cell) -> "xarray.Dataset":
    """Five measures to points, V = I for 12 and for 16, integrated: an instance whose clusters are narrow at 12."""
    import xarray

    from ..data_sets import diracs, inputs, rng_of

    for attempt in range(20):
        rng = rng_of(cell["seed"], 1000 + 20 * cell["draw"] + attempt)
        sources, targets = inputs(rng, 5, 20, 10, 3), diracs(rng, 5, 3)
        first, narrow = _averaged(sources, targets, 12.0)
        if narrow < 0.2:
            break
    else:
        raise ValueError("no instance has clusters narrower than a fifth of their bands at T = 12")
    schedules = [first, _averaged(sources, targets, 16.0)[0]]
    ends = [[_to_a_point(schedule, x, y[0]) for x, y in zip(sources, targets, strict=True)] for schedule in schedules]
    return xarray.Dataset(
        {
            "away": (("averaging", "measure"), ends),
            "narrow": narrow,
            "pieces": ("averaging", [len(schedule) for schedule in schedules]),
        },
        coords={"averaging": [12.0, 16.0]},
    )


def _averaged(sources: list[Any], targets: list[Any], T: float) -> tuple[Any, float]:
    """V = I for the time T and a band for each cluster; and the widest cluster over the narrowest band."""
    import numpy as np

    from attnflow.constructions import TransformerSchedule, full_averaging, match_atoms

    from ..data_sets import unit

    averaging = [full_averaging(3, T)]
    clouds = TransformerSchedule(averaging).run(sources)
    centres = [unit(cloud.mean(axis=0, keepdims=True)) for cloud in clouds]
    matched = match_atoms(centres, targets, share=0.6)
    wide = max(np.linalg.norm(x - centre, axis=1).max() for x, centre in zip(clouds, centres, strict=True))
    return TransformerSchedule([*averaging, *matched.pieces]), 2 * wide / min(piece.b[0] for piece in matched.pieces)


def _to_a_point(schedule: Any, x: Any, y: Any) -> float:
    """The distance of a cloud from its point, after an integration of the model."""
    import numpy as np

    import attnflow as af

    run = af.simulate(schedule.model, x, t1=schedule.T, solver="dopri8", rtol=1e-12, atol=1e-14, save=1)
    return float(np.sqrt(np.mean(np.sum((np.asarray(run.final) - y) ** 2, axis=1))))


def _times(cell: Cell) -> "xarray.Dataset":
    """How long V = I must act for an eps, and what the norms become."""
    import xarray

    import attnflow as af

    from ..data_sets import diracs, inputs, rng_of

    rng = rng_of(cell["seed"], 7)
    sources, targets = inputs(rng, 5, 20, 10, 3), diracs(rng, 5, 3)
    rows = []
    for eps in EPS:
        matching = af.match_measures(sources, targets, T=1.0, eps=eps)
        piece = next(piece for piece in matching.schedule if piece.role == "cluster")
        rows.append((piece.speed * piece.T, matching.schedule.norm, matching.distances().max()))
    averaging, norm, away = zip(*rows, strict=True)
    return xarray.Dataset(
        {"averaging": ("eps", list(averaging)), "norm": ("eps", list(norm)), "away": ("eps", list(away))},
        coords={"eps": list(EPS)},
    )


def _theorem(cell: Cell) -> "xarray.Dataset":
    """The paper's lemma for every measure: four measures to points."""
    import xarray

    import attnflow as af

    from ..data_sets import diracs, inputs, rng_of

    rng = rng_of(cell["seed"], 50 + cell["d"])
    sources, targets = inputs(rng, 4, 12, 6, cell["d"]), diracs(rng, 4, cell["d"])
    return xarray.Dataset(_numbers(af.match_measures(sources, targets, method="isolate")))


def _targets(cell: Cell) -> "xarray.Dataset":
    """Targets that overlap, that are equal, that have fewer atoms than the sources, and unequal masses."""
    import xarray

    import attnflow as af

    from ..data_sets import clusters, inputs, rng_of

    rng = rng_of(cell["seed"], 90 + list(TARGETS).index(cell["kind"]))
    sources, targets = inputs(rng, 3, 12, 6, 3), clusters(rng, 3, 12, 3)
    matching = af.match_measures(*_problem(cell["kind"], sources, targets, rng))
    steps = {f"did_{name}": float(name in matching.steps) for name in ("undo", "merge")}
    return xarray.Dataset(_numbers(matching) | steps)


def _problem(kind: str, sources: list[Any], targets: list[Any], rng: Any) -> tuple[list[Any], list[Any]]:
    import numpy as np

    if kind == "shared":  # four atoms common to all targets
        return sources, [np.concatenate([targets[0][:4], target[4:]]) for target in targets]
    if kind == "equal":
        return sources, [targets[0], targets[0], targets[2]]
    if kind == "fewer":  # groups of four atoms become one
        return sources, [target[:3] for target in targets]
    # Roots of primes over their sum, in another order in the targets; one target has sums of two of them.
    w = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0, 31.0, 37.0])
    w = w / w.sum()
    pairs = w[:6] + w[6:]
    return [(x, w) for x in sources], [*((y, rng.permutation(w)) for y in targets[:2]), (targets[2][:6], pairs)]


def _laws(cell: Cell) -> "xarray.Dataset":
    """Laws with a density to points, or to three atoms each."""
    import numpy as np
    import xarray

    from ..data_sets import caps, rng_of, unit

    atoms, rng = cell["atoms"], rng_of(cell["seed"], 200 + cell["atoms"])
    laws = caps(rng, 3, 3, 0.25)
    targets = [(unit(rng.normal(size=(atoms, 3))), rng.dirichlet(np.full(atoms, 8.0))) for _ in laws]
    return xarray.Dataset(_numbers(_matched(laws, targets, SAMPLES)))


def _matched(laws: list[Any], targets: list[Any], samples: int) -> Any:
    """The matching, without the warning about other samples: they are looked at here."""
    import warnings

    import attnflow as af
    from attnflow.errors import AttnflowWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AttnflowWarning)
        return af.match_measures(laws, targets, samples=samples)


def _samples(cell: Cell) -> "xarray.Dataset":
    """Two laws to two atoms each: the mass of another sample that goes astray, and what chance makes of it anyway."""
    import numpy as np
    import xarray

    from ..data_sets import caps, rng_of, unit

    n, astray, chance = cell["n"], [], []
    for draw in range(4):
        rng = rng_of(cell["seed"], 220 + draw)
        laws, masses = caps(rng, 2, 3, 0.25), rng.uniform(0.25, 0.75, 2)
        targets = [(unit(rng.normal(size=(2, 3))), [v, 1 - v]) for v in masses]
        astray.append(_matched(laws, targets, n).another.astray)
        chance.append(np.sqrt(2 / np.pi * 2 * masses * (1 - masses) / n))
    dims = ("draw", "measure")
    return xarray.Dataset({"astray": (dims, np.stack(astray)), "chance": (dims, np.stack(chance))})


def _order(cell: Cell) -> "xarray.Dataset":
    """The clearance of the best order, of a greedy one and of orders by chance, against the number of atoms."""
    import numpy as np
    import xarray

    from attnflow.constructions.matching.order import best_order, clearances

    from ..data_sets import rng_of, unit

    counts, rng = [20, 40, 80, 160, 320], rng_of(cell["seed"], 300)
    rows = np.zeros((len(counts), 5, 3))
    for i, M in enumerate(counts):
        for draw in range(5):
            x, y = unit(rng.normal(size=(M, 3))), unit(rng.normal(size=(M, 3)))
            gamma = unit(np.cross(x, y))
            orders = [best_order(gamma, x, y)[0], _greedy(gamma, x, y), rng.permutation(M)]
            rows[i, draw] = [clearances(gamma, x, y, order).min() for order in orders]
    return xarray.Dataset(
        {"clearance": (("atoms", "draw", "order"), rows)},
        coords={"atoms": counts, "order": ["best", "greedy", "by chance"]},
    )


def _greedy(gamma: Any, x: Any, y: Any) -> Any:
    """Always the atom with the most room at the moment."""
    import numpy as np

    at, left, order = x.copy(), list(range(len(x))), []
    while left:
        away = np.abs(gamma[left] @ at.T)
        away[np.arange(len(left)), left] = np.inf
        k = left.pop(int(np.argmax(away.min(axis=1))))
        at[k] = y[k]
        order.append(k)
    return np.array(order)


def _words(cell: Cell) -> "xarray.Dataset":
    """Four letters to four letters."""
    import numpy as np
    import xarray

    import attnflow as af
    from attnflow.spaces.letters import FIRST, HEIGHT, LAST, UP, word

    first, last = (word(text, 24, height=HEIGHT, latitude=up) for text, up in ((FIRST, UP), (LAST, -UP)))
    matching = af.match_measures(first, last)
    count = len(matching.schedule)
    _, xs = matching.schedule.trace(first)
    chosen = [0, 2, 2 + (count - 2) // 3, 2 + 2 * (count - 2) // 3, count]
    path = np.stack([x[chosen] for x in xs], axis=1)
    dims = ("time", "measure", "token", "coordinate")
    return xarray.Dataset(
        _numbers(matching) | {"x": (dims, path), "wanted": (dims[1:], np.stack(last)), "after": ("time", chosen)}
    )


EXPERIMENT = Experiment(
    id="measure-matching",
    paper="measure-to-measure",
    title="N measures to N measures with one transformer",
    summary=(
        "Measures that share half of their atoms are moved apart by attention, and their atoms walk home one by one. "
        "Pieces are counted, and every schedule is integrated by solvers that know no closed form, one transformer for "
        "all measures."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[
        families_on_the_sphere,
        distances_along_the_schedule,
        words_on_the_sphere,
        averaging_to_points,
        laws_and_other_samples,
        order_of_the_atoms,
    ],
)
