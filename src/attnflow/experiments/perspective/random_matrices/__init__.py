r"""Random matrices Q, K, V: the map of probabilities over time and temperature (section 9 of the paper, figure 5).

Every realisation draws new tokens and matrices, and follows

$$ \dot x_i = P_{x_i} \sum_j \frac{e^{\beta\langle x_i, B x_j\rangle}}{Z_i}\, V x_j, \qquad B = Q^\top K , $$

at every $\beta$ with the same draw, which changes no mean and makes the map smooth in $\beta$.

**How large is V?** The field is linear in $V$, so a factor of $V$ is a factor of time and nothing else: the right one
makes $|Vx|$ of order one for a unit $x$, in every dimension. Gaussian moments give, for a fixed unit $x$,

| $V$ | $\mathbb E|Vx|^2$ | largest eigenvalue or singular value |
|---|---|---|
| $G/\sqrt d$ | $1$ | $2$ |
| $G_1^\top G_2/d$ | $1$ | $3\sqrt3/2$ |
| $(G + G^\top)/\sqrt{2(d+1)}$ | $1$ | $2$ |
| $GG^\top/d$ | $2 + 1/d$ | $4$ |
| $GG^\top/\sqrt d$ | $2d + 1$ | $4\sqrt d$ |

The last row is the choice of the authors' program. On its clock the positive semi-definite case runs $\sqrt d$ times
faster than the others (11 times at $d = 128$), and with its step $h = 0.1$ the product $h|V|$ is 4.5: no longer a
scheme for the differential equation. Ours is $GG^\top/d$; the choice of the program is offered, too, with its scheme.

The program multiplies rows from the right, $x \mapsto xV$, which applies $V^\top$. This matters for $V = B$ with $Q, K$
Ginibre: there it moves tokens by $B^\top$. Both are offered.
"""

import functools
from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from ..single_cluster.runs import orbit
from .claims import CLAIMS, CONTROL_BETA, SIZE_DIMENSION
from .ensembles import ENSEMBLES, draw
from .exact import authors_step, exact_runs, size_of_values
from .figures import maps

if TYPE_CHECKING:
    import xarray

STEP = 0.1
DELTA = 1e-3  # two tokens have met if their inner product is at least 1 - DELTA


def cells(scale: str) -> list[Cell]:
    full = scale == "full"
    shape: Cell = {"n": 32, "d": 128 if full else 32}
    grid = {"beta_min": 0.1 if full else 0.25, "beta_max": 9.0, "betas": 90 if full else 15}
    times = {"t1": 30.0 if full else 15.0, "times": 301 if full else 31}
    table = [
        {"part": "map", "ensemble": name, **shape, **grid, **times, "draws": 32 if full else 16, "solver": e.solver}
        for name, e in ENSEMBLES.items()
    ]
    control = {"part": "control", **shape, "beta": CONTROL_BETA, "t1": 8.0, "times": 9, "draws": 256 if full else 128}
    small = {"n": 12, "d": 16, "draws": 32 if full else 8}
    others = [
        {"part": "exact", **small},
        {"part": "step", **small},
        {"part": "size", "d": SIZE_DIMENSION, "draws": 1000},
    ]
    return [*table, control, *others]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {"map": _map, "control": _control, "exact": exact_runs, "step": authors_step, "size": size_of_values}
    return parts[cell["part"]](cell)


def _map(cell: Cell) -> "xarray.Dataset":
    import numpy as np

    # Different draws for each panel.
    rng = np.random.default_rng([cell["seed"], list(ENSEMBLES).index(cell["ensemble"])])
    B, V, x = draw(cell["ensemble"], rng, draws=cell["draws"], n=cell["n"], d=cell["d"])
    return _met(cell, np.linspace(cell["beta_min"], cell["beta_max"], cell["betas"]), B, V, x, solver=cell["solver"])


def _control(cell: Cell) -> "xarray.Dataset":
    """The same program with Q = K = V = I, for which reference numbers exist."""
    import numpy as np

    n, d, draws = cell["n"], cell["d"], cell["draws"]
    identity = np.broadcast_to(np.eye(d), (draws, d, d))
    x = np.random.default_rng([cell["seed"], len(ENSEMBLES)]).normal(size=(draws, n, d))
    return _met(cell, np.array([cell["beta"]]), identity, identity, x, solver="rk4")


def _met(cell: Cell, betas: Any, B: Any, V: Any, x: Any, *, solver: str) -> "xarray.Dataset":
    """Mean over realisations, and its standard error, of the fraction of pairs that have met."""
    import jax.numpy as jnp
    import numpy as np
    import xarray

    ts = np.linspace(0.0, cell["t1"], cell["times"])
    substeps = round(ts[1] / STEP)
    numbers = (jnp.asarray(a, jnp.float32) for a in (betas, B, V, x))
    fractions = np.asarray(_program(solver, cell["times"], substeps)(*numbers))
    mean, deviation = fractions.mean(axis=0), fractions.std(axis=0, ddof=1)
    return xarray.Dataset(
        {
            "probability": (("beta", "time"), mean),
            "stderr": (("beta", "time"), deviation / np.sqrt(cell["draws"])),
        },
        coords={"beta": betas, "time": ts},
    )


@functools.cache
def _program(solver: str, times: int, substeps: int) -> Any:
    """`(betas, B, V, x) -> (realisations, betas, times)`, one realisation after the other, all betas together.

    Matrices do not depend on β, so tokens at all β are the rows of one matrix product.
    """
    import jax
    import jax.numpy as jnp

    import attnflow as af

    def along(beta: Any, B: Any, V: Any, x: Any) -> Any:
        model = af.SelfAttention(af.Softmax(beta=beta, B=B, V=V))
        h = jnp.asarray(STEP, x.dtype)
        return orbit(
            model, x, h, substeps, times, solver=solver, observe=lambda y: af.diagnostics.pair_fraction(y, DELTA)
        )

    def every_beta(betas: Any, item: Any) -> Any:
        return jax.vmap(along, in_axes=(0, None, None, None))(betas, *item)

    return jax.jit(lambda betas, B, V, x: jax.lax.map(lambda item: every_beta(betas, item), (B, V, x)))


EXPERIMENT = Experiment(
    id="perspective-random",
    paper="perspective",
    title="Random matrices Q, K, V",
    summary=(
        "How likely two of 32 tokens have met, over time and inverse temperature, when Q, K, V are random and drawn "
        "anew for every realisation. The four ensembles of the paper are quoted from memory, and the "
        "number of its realisations is not known. V is divided so that |Vx| is of order one for unit x in every "
        "dimension: GGᵀ/d for the positive semi-definite one. The authors' program has GGᵀ/√d, a clock √d times "
        "faster, on which its step 0.1 no longer follows the differential equation; that map is shown beside ours, "
        "and so are the transpose that its right multiplication of rows applies, V = −B, and GGᵀ with Q, K Ginibre. "
        "The claims are those that can be derived: the sizes of V, the change of clock, the energy for V = ±B, the "
        "motion and the rate of consensus. There are no claims about the maps, for which there is no theory."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[maps],
    parameters={
        "n": Parameter("number of tokens", bounds=(2, 500), where={"part": "map"}),
        "d": Parameter("dimension", bounds=(2, 1000), where={"part": "map"}),
        "t1": Parameter("final time", bounds=(1, 100), where={"part": "map"}),
        "draws": Parameter("number of draws", bounds=(2, 100000), where={"part": "map"}),
    },
)
