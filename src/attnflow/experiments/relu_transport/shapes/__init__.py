"""Shapes that no part of the constructions was chosen on, known by samples alone."""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from .claims import CLAIMS
from .figures import shapes_and_copies

if TYPE_CHECKING:
    import xarray

SHAPES = ("rings", "spiral", "board", "five")
SHOWN = 3000  # points of a picture


def cells(scale: str) -> list[Cell]:
    many = (2000, 20_000) if scale == "full" else (2000,)
    return [{"shape": shape, "n": n} for shape in SHAPES for n in many]


def compute(cell: Cell) -> "xarray.Dataset":
    """Built from n samples; judged by its own report, and on new samples that it has never seen."""
    import jax
    import numpy as np
    import xarray

    import attnflow as af

    from ..targets import shape

    rng = np.random.default_rng([cell["seed"], cell["n"]])
    x = shape(cell["shape"], cell["n"], rng)
    base = af.constructions.laws.StandardNormal(x.shape[1])
    found = af.transport(base, x, key=jax.random.key(cell["seed"]))
    report = found.report()
    fresh = found.log_density(shape(cell["shape"], 20_000, rng))
    gaussian = _gaussian(x, shape(cell["shape"], 20_000, rng))
    copy = found.sample(SHOWN, key=jax.random.key(1))
    return xarray.Dataset(
        {
            "kl": report.kl.value,
            "kl_error": report.kl.stderr,
            "said": report.log_density.value,
            "said_error": report.log_density.stderr,
            "fresh": fresh.mean(),
            "fresh_error": fresh.std() / np.sqrt(len(fresh)),
            "gaussian": gaussian.mean(),
            "switches": found.switches,
            "points": (("point", "coordinate"), shape(cell["shape"], SHOWN, rng)),
            "copy": (("point", "coordinate"), copy),
        },
        attrs={"method": found.method},
    )


def _gaussian(x: Any, y: Any) -> Any:
    """The log densities at y of the Gaussian with the moments of x."""
    import numpy as np

    from attnflow.constructions import laws

    return laws.GaussianMixture(x.mean(axis=0)[None], covs=np.cov(x.T)[None]).log_density(y)


EXPERIMENT = Experiment(
    id="transport-shapes",
    paper="relu-transport",
    title="Shapes known by samples",
    summary=(
        "Two rings, a spiral, a chess board and six Gaussians in dimension five, each known by 2000 samples: what "
        "transport makes of them with 100 switches for each dimension and no choice of ours, and whether its report "
        "says how good that is."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[shapes_and_copies],
)
