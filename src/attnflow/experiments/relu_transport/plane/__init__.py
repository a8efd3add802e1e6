"""Transport in the plane: a field and its neurons, one direction after another, a grid; conditions that stay."""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from .claims import CLAIMS, FINE, GRIDS, ROUGH
from .figures import divergence_against_switches, grid_errors, moons_three_ways, normal_becomes_moons

if TYPE_CHECKING:
    import xarray

DRAWS = {"quick": 3, "full": 10}
FINE_DRAWS = {"quick": 1, "full": 4}
BUDGETS = {"quick": (29, 59, 119, 239), "full": (29, 59, 119, 239, 479, 1007)}
METHODS = ("field", "ridge", "field+ridge")


def cells(scale: str) -> list[Cell]:
    from ..targets import PLANE

    slabs = [(*ROUGH, DRAWS[scale], "strang"), (*FINE, FINE_DRAWS[scale], "strang")]
    slabs += [(*FINE, FINE_DRAWS[scale], "lie")] if scale == "full" else []
    return [
        *(
            {"part": "field", "target": target, "n_t": n_t, "m": m, "splitting": splitting, "draw": draw}
            for target in PLANE
            for n_t, m, draws, splitting in slabs
            for draw in range(draws)
        ),
        *({"part": "ridge", "target": "moons", "draw": draw} for draw in range(5)),
        *({"part": "grid", "target": target, "n": n} for target in ("mix3", "moons") for n in GRIDS[scale]),
        *({"part": "condition", "target": target, "draw": 0} for target in ("mix3", "moons")),
        *(
            {"part": "curve", "method": method, "budget": budget, "draw": draw}
            for method in METHODS
            for budget in BUDGETS[scale]
            for draw in range(1 if scale == "quick" else 4)
        ),
        *({"part": "picture", "method": method} for method in ("field", "ridge", "grid")),
        {"part": "film"},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {
        "field": _field,
        "ridge": _ridge,
        "grid": _grid,
        "condition": _condition,
        "curve": _curve,
        "picture": _picture,
        "film": _film,
    }
    return parts[cell["part"]](cell)


def _key(cell: Cell) -> Any:
    import jax

    return jax.random.fold_in(jax.random.key(cell["seed"]), cell.get("draw", 0))


def _measured(transport: Any, **more: Any) -> "xarray.Dataset":
    """The divergences of a report, with their standard errors, on points drawn for it alone."""
    import jax
    import xarray

    report = transport.report(n=20_000, key=jax.random.key(2**20))
    found = {"switches": report.switches, "pieces": report.pieces, **more}
    for name in ("kl", "reverse_kl", "tv"):
        divergence = getattr(report, name)
        found |= {name: divergence.value, f"{name}_error": divergence.stderr}
    return xarray.Dataset(found)


def _field(cell: Cell) -> "xarray.Dataset":
    """The field of a Gaussian mixture in slabs, without the rounds that try neurons near the chosen ones."""
    import numpy as np

    from attnflow.constructions import Transport, laws, switching_flow

    from ..targets import in_plane, velocity

    target, base = in_plane(cell["target"]), laws.StandardNormal(2)

    def along(t: float, n: int, *, key: Any) -> np.ndarray:
        z, y = (law.sample(n, key=key_) for law, key_ in zip((base, target), _split(key), strict=True))
        return (1 - t) * z + t * y

    schedule = switching_flow(
        lambda t, x: velocity(target, t, x),
        along,
        cell["n_t"],
        cell["m"],
        cell["splitting"],
        refine=0,
        key=_key(cell),
    )
    x = base.sample(2000, key=_key(cell))
    returned = float(abs(schedule.inverse(schedule.forward(x)) - x).max())
    return _measured(Transport.of(schedule, base, target), returned=returned, mass=_mass(schedule, base))


def _mass(schedule: Any, base: Any) -> float:
    """The integral of the density that was built over a square, by a midpoint rule."""
    import numpy as np

    side = np.linspace(-8, 8, 401)
    middle = (side[1:] + side[:-1]) / 2
    y = np.stack(np.meshgrid(middle, middle), axis=-1).reshape(-1, 2)
    return float(np.exp(schedule.log_density(y, base)).sum() * (middle[1] - middle[0]) ** 2)


def _split(key: Any) -> Any:
    import jax

    return jax.random.split(key)


def _ridge(cell: Cell) -> "xarray.Dataset":
    """Eight steps of eight knots from samples."""
    from attnflow.constructions import Transport, laws, ridge_gaussianize

    from ..targets import in_plane

    target = in_plane(cell["target"])
    schedule = ridge_gaussianize(target, 8, 8, key=_key(cell))
    expected = _by_marginals(schedule, target, cell)
    return _measured(Transport.of(schedule, laws.StandardNormal(2), target), by_marginals=expected)


def _by_marginals(schedule: Any, target: Any, cell: Cell) -> float:
    """KL(target | normal) by a grid, less what every step takes from its own marginal: histograms, no densities."""
    import numpy as np

    side = np.linspace(-6, 6, 1001)
    x = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    log = target.log_density(x)
    left = np.sum(np.exp(log) * (log + np.log(2 * np.pi) + (x**2).sum(axis=1) / 2)) * (side[1] - side[0]) ** 2
    y = target.draw(400_000, np.random.default_rng([cell["seed"], cell["draw"], 9]))
    for piece in reversed(schedule.blocks):
        before, y = y @ piece.e, piece.inverse(y)
        left -= _of_histogram(before) - _of_histogram(y @ piece.e)
    return float(left)


def _of_histogram(s: Any) -> float:
    """KL(law of the samples | N(0, 1)) from the shares in 400 bins."""
    import numpy as np
    from scipy.special import ndtr

    edges = np.concatenate([[-np.inf], np.linspace(-5, 5, 399), [np.inf]])
    shares, normal = np.bincount(np.digitize(s, edges[1:-1]), minlength=400) / len(s), np.diff(ndtr(edges))
    some = shares > 0
    return float(np.sum(shares[some] * np.log(shares[some] / normal[some])))


def _grid(cell: Cell) -> "xarray.Dataset":
    """Cell averages on the square from -4 to 4, and how well they are reproduced."""
    import numpy as np

    from attnflow.constructions import Transport, grid_transport, laws

    from ..targets import in_plane

    target, n, sides = in_plane(cell["target"]), cell["n"], ([-4.0, -4.0], [4.0, 4.0])
    base = laws.UniformBox(*sides)
    schedule = grid_transport(target, n, low=sides[0], high=sides[1])
    transport = Transport.of(schedule, base, target, method="grid")
    # Averages by a rule of their own, finer than that of the construction.
    at, weights = np.polynomial.legendre.leggauss(10)
    places = -4 + 8 * (np.arange(n)[:, None] + (1 + at) / 2).ravel() / n
    x = np.stack(np.meshgrid(places, places, indexing="ij"), axis=-1).reshape(-1, 2)
    values = np.exp(target.log_density(x)).reshape(n, 10, n, 10)
    average = np.einsum("aibj,i,j->ab", values, weights / 2, weights / 2)
    average = np.maximum(average, 1e-6 * average.max())  # no cell is left empty
    average /= average.sum() * (8 / n) ** 2
    centre = -4 + 8 * (np.arange(n) + 0.5) / n
    middle = np.stack(np.meshgrid(centre, centre, indexing="ij"), axis=-1).reshape(-1, 2)
    built = np.exp(transport.log_density(middle)).reshape(n, n)
    return _measured(transport, cells=float(abs(built / average - 1).max()))


def _condition(cell: Cell) -> "xarray.Dataset":
    """The second coordinate given the first, which must not move."""
    import numpy as np

    from attnflow.constructions import Transport, laws, switching_flow

    from ..targets import conditional_velocity, in_plane

    target, base = in_plane(cell["target"]), laws.StandardNormal(1)

    def along(t: float, n: int, *, key: Any) -> np.ndarray:
        first, second = _split(key)
        y = target.sample(n, key=first).copy()
        y[:, 1] = (1 - t) * base.sample(n, key=second)[:, 0] + t * y[:, 1]
        return y

    schedule = switching_flow(
        lambda t, x: conditional_velocity(target, t, x), along, *FINE, condition=(0,), refine=0, key=_key(cell)
    )
    transport = Transport.of(schedule, base, target, condition=(0,))
    x = 3 * np.random.default_rng(cell["seed"]).standard_normal((10_000, 2))
    drift = np.max([abs(move(x)[:, 0] - x[:, 0]).max() for move in (transport.forward, transport.inverse)])
    return _measured(transport, drift=float(drift))


def _curve(cell: Cell) -> "xarray.Dataset":
    """The two half-moons by one method within a number of switches."""
    import attnflow as af

    from ..targets import in_plane

    base, target = af.constructions.laws.StandardNormal(2), in_plane("moons")
    found = af.transport(base, target, budget=cell["budget"], method=cell["method"], key=_key(cell))
    return _measured(found)


def _picture(cell: Cell) -> "xarray.Dataset":
    """The density that each method makes of the two half-moons, and the number of its switches."""
    import attnflow as af

    from ..targets import in_plane
    from .pictures import density

    laws, target = af.constructions.laws, in_plane("moons")
    base = laws.UniformBox([-3.0, -3.0], [3.0, 3.0]) if cell["method"] == "grid" else laws.StandardNormal(2)
    budget = 1273 if cell["method"] == "grid" else 199
    found = af.transport(base, target, budget=budget, method=cell["method"], key=_key(cell))
    return density(found.log_density).assign(switches=found.switches, kl=found.report(n=20_000).kl.value)


def _film(cell: Cell) -> "xarray.Dataset":
    """Densities on the way from the normal law to the half-moons."""
    import xarray

    import attnflow as af

    from ..targets import in_plane
    from .pictures import density

    base, target = af.constructions.laws.StandardNormal(2), in_plane("moons")
    schedule = af.transport(base, target, budget=467, method="field", key=_key(cell)).schedule
    shares = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    parts = [density(base.log_density)]
    for share in shares[1:]:
        begun = af.constructions.Schedule(schedule.until(share * schedule.duration))
        parts.append(density(lambda y, begun=begun: begun.log_density(y, base)))
    return xarray.concat(parts, dim="share").assign_coords(share=list(shares)).assign(switches=schedule.switches)


EXPERIMENT = Experiment(
    id="transport-plane",
    paper="relu-transport",
    title="Transport in the plane",
    summary=(
        "Mixtures of Gaussians and two half-moons, reached from a normal law along a field (neurons in slabs of time), "
        "or one direction after another from samples, or from a uniform law by exact cell averages on a grid: relative "
        "entropies against switches. With one coordinate as a condition, the other follows and the first does not move."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[divergence_against_switches, moons_three_ways, normal_becomes_moons, grid_errors],
)
