r"""Two tokens under random layers: they meet, or in few dimensions become opposite, at exponents known in closed form.

Near $q = \pm1$ the gap $1 - |q|$ shrinks or grows exponentially. Exponents are measured from starts near the ends,
on all paths, because a selection of paths by their ends would be biased. From orthogonal tokens we count the ends.
Only the products of weights with tokens are drawn, which has the same law.
"""

from typing import TYPE_CHECKING

from ... import Cell, Experiment
from ..tables import REPLICAS
from .claims import BETA, CLAIMS, ENDS, GAP, LATE, SIDES
from .figures import exponents, paths_to_two_ends

if TYPE_CHECKING:
    import xarray

PATHS = 48


def cells(scale: str) -> list[Cell]:
    dimensions = tuple(ENDS) if scale == "full" else (2, 6)
    return [
        *({"part": "exponents", "d": d, "side": side} for d in dimensions for side in SIDES),
        *({"part": "ends", "d": d} for d in dimensions),
        *({"part": "paths", "d": d} for d in (2, 6)),
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    return {"exponents": _exponents, "ends": _ends, "paths": _paths}[cell["part"]](cell)


def _exponents(cell: Cell) -> "xarray.Dataset":
    """The rate of log(1 - q) from nearly equal tokens, or of log(1 + q) from nearly opposite ones, up to time 4."""
    import numpy as np
    import xarray

    import attnflow as af

    from .starts import inner_products, nearly, seeded

    d, side = cell["d"], cell["side"]
    name = SIDES[side]
    eta2 = 0.005 * d / 3
    model = af.RandomLayers(beta=BETA, eta=eta2**0.5, draw="projected")
    T = eta2 * round(4.0 / eta2)  # whole layers
    # Twice as many replicas as `_ends` takes, by the same program.
    halves = [inner_products(model, nearly(side, GAP, d), T, REPLICAS, seeded(cell, d, side + 1, k)) for k in range(2)]
    rates = [(half[name] - np.log(GAP)) / T for half in halves]
    errors = [half[f"{name}_stderr"] / T for half in halves]
    return xarray.Dataset({"rate": np.mean(rates), "stderr": np.linalg.norm(errors) / 2})


def _ends(cell: Cell) -> "xarray.Dataset":
    """The shares of orthogonal pairs that are nearly equal and nearly opposite at a late time."""
    import xarray

    import attnflow as af

    from .starts import inner_products, pair, seeded

    d = cell["d"]
    model = af.RandomLayers(beta=BETA, eta=(LATE[d] / 1200) ** 0.5, draw="projected")
    statistics = inner_products(model, pair(0.0, d), LATE[d], REPLICAS, seeded(cell, d, 7))
    return xarray.Dataset({name: statistics[name] for name in ("near_plus", "near_minus", "mean", "mean_stderr")})


def _paths(cell: Cell) -> "xarray.Dataset":
    """A few paths of q, for the figure."""
    import jax
    import numpy as np
    import xarray

    import attnflow as af

    from .starts import pair, seeded

    d = cell["d"]
    model = af.RandomLayers(beta=BETA, eta=(LATE[d] / 1200) ** 0.5, draw="projected")

    def path(key):
        run = af.simulate(model, pair(0.0, d), t1=LATE[d], save=241, solver="layers", key=key)
        return run.ts, (run.xs[:, 0] * run.xs[:, 1]).sum(-1)

    ts, q = jax.jit(jax.vmap(path))(jax.random.split(seeded(cell, d, 8), PATHS))
    return xarray.Dataset({"q": (("path", "time"), np.asarray(q))}, coords={"time": np.asarray(ts[0])})


EXPERIMENT = Experiment(
    id="homogenized-two-tokens",
    paper="homogenized",
    title="Two tokens under random layers: collapse, and opposite tokens in few dimensions",
    summary="Exponents at both ends, and the shares of pairs that meet or become opposite.",
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[paths_to_two_ends, exponents],
)
