r"""Collapse of many tokens in random layers of high dimension, and the effect of context and temperature.

Equiangular tokens follow one ordinary equation. At infinite temperature its solution is closed, and a longer context
delays collapse by its logarithm. At lower temperature heads attend to single tokens, which delays collapse further.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from .claims import BETAS, CASES, CLAIMS, CONDENSED, FINITE, HOT, SIZES, WITNESSED
from .figures import SHOWN, collapse_in_time, low_temperature_delays_collapse, sharing_of_attention
from .witness import finite_dimension, sampled_collisions, sampled_delay

if TYPE_CHECKING:
    import xarray

LONGER = (512, 2048)  # further lengths of context, for the figure
COLDER = (6.0,)


def cells(scale: str) -> list[Cell]:
    full = scale == "full"
    sizes = sorted({*SIZES, *LONGER, *((8192, 32768) if full else ())})
    betas = sorted({*BETAS, *(COLDER if full else ())})
    finite = FINITE if full else FINITE[:1]
    return [
        *({"part": "collapse", "n": n, "beta": beta} for n in sizes for beta in (*betas, "infinite")),
        *({"part": "sharing", "n": 128, "beta": beta} for beta in SHOWN),
        {"part": "collisions", "draws": 200_000 if full else 20_000},
        *({"part": "sampled", "n": n, "beta": b, "draws": 60_000 if full else 6_000} for n, b in WITNESSED),
        {"part": "asymptotics"},
        *({"part": "finite", "d": d, "replicas": 1000 if full else 200, "steps": 200 if full else 100} for d in finite),
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {
        "collapse": _collapse,
        "sharing": _sharing,
        "collisions": _collisions,
        "sampled": _sampled,
        "asymptotics": _asymptotics,
        "finite": _finite,
    }
    return parts[cell["part"]](cell)


def inverse_temperature(cell: Cell) -> float:
    """Cells are stored as JSON, which has no infinity."""
    return float("inf") if cell["beta"] == "infinite" else cell["beta"]


def _collapse(cell: Cell) -> "xarray.Dataset":
    """The flow from orthogonal tokens, and the time at which it reaches 0.9."""
    import numpy as np
    import xarray

    from attnflow.reductions import homogenized

    arguments: dict[str, Any] = {"n": cell["n"], "beta": inverse_temperature(cell)}
    ts = np.linspace(0.0, 16.0, 161)
    flow = homogenized.collapse_flow(ts, **arguments)
    arrival = homogenized.collapse_time(0.9, **arguments)
    return xarray.Dataset({"inner_product": ("time", flow), "arrival": arrival}, coords={"time": ts})


def _sharing(cell: Cell) -> "xarray.Dataset":
    """The two probabilities against the inner product."""
    import numpy as np
    import xarray

    from attnflow.reductions import homogenized

    q = 1 - np.linspace(1, 0.1, 37) ** 2
    P0, P1 = homogenized.collisions(q, n=cell["n"], beta=inverse_temperature(cell))
    return xarray.Dataset({"P0": ("q", P0), "P1": ("q", P1)}, coords={"q": q})


def _collisions(cell: Cell) -> "xarray.Dataset":
    """The deterministic sums against softmax weights of Gaussian scores, drawn at random."""
    import numpy as np
    import xarray

    from attnflow.reductions import homogenized

    rng = np.random.default_rng(cell["seed"])
    columns = {name: [] for name in ("exact", "sampled", "stderr")}
    for n, beta, q in CASES:
        drawn = sampled_collisions(rng, n, beta, q, cell["draws"])
        columns["exact"].append(homogenized.collisions(q, n=n, beta=beta))
        columns["sampled"].append(drawn.mean(axis=1))
        columns["stderr"].append(drawn.std(axis=1) / np.sqrt(cell["draws"]))
    return xarray.Dataset({name: (("case", "which"), np.array(values)) for name, values in columns.items()})


def _sampled(cell: Cell) -> "xarray.Dataset":
    """The change of the time to 0.9 if both probabilities are estimated by random draws."""
    import numpy as np
    import xarray

    from attnflow.reductions import homogenized

    n, beta = cell["n"], cell["beta"]
    rng = np.random.default_rng([cell["seed"], n])
    delay, stderr = sampled_delay(rng, n, beta, cell["draws"], lambda q: homogenized.collapse_rate(q, n=n, beta=beta))
    return xarray.Dataset({"delay": delay, "stderr": stderr})


def _asymptotics(cell: Cell) -> "xarray.Dataset":
    """High temperature: P n against its exponential law. Low temperature: 1 − P₀ against the density of a zero gap."""
    import numpy as np
    import xarray
    from scipy.integrate import quad
    from scipy.stats import norm

    from attnflow.reductions import homogenized

    n, q = HOT
    hot = []
    for beta in (1.0, 2.0):
        P0, P1 = homogenized.collisions(q, n=n, beta=beta)
        hot.append([n * P0 / np.exp(beta**2 * (1 - q)), n * P1 / np.exp(beta**2 * q * (1 - q))])

    def gap(n: int) -> float:  # of the two largest of n Gaussians, density at zero
        value = quad(lambda x: norm.pdf(x) ** 2 * norm.cdf(x) ** (n - 2), -10, 10, epsabs=1e-14, points=[2.0])[0]
        return n * (n - 1) * value

    betas = np.array([16.0, 32.0, 64.0])
    cold = [[float(homogenized.collisions(0.0, n=n, beta=b).P0) for b in betas] for n in CONDENSED]
    return xarray.Dataset(
        {
            "hot": (("beta", "which"), np.array(hot)),
            "P0": (("n", "cold_beta"), np.array(cold)),
            "gap": ("n", [gap(n) for n in CONDENSED]),
        },
        coords={"beta": [1.0, 2.0], "n": list(CONDENSED), "cold_beta": betas},
    )


def _finite(cell: Cell) -> "xarray.Dataset":
    """The mean inner product of 32 tokens at β = 0 in finite dimension, at t = 4."""
    import xarray

    mean, stderr = finite_dimension(cell["d"], cell["replicas"], cell["steps"], cell["seed"])
    return xarray.Dataset({"mean": mean, "stderr": stderr})


EXPERIMENT = Experiment(
    id="homogenized-collapse",
    paper="homogenized",
    title="Collapse in high dimension: context, temperature, depth",
    summary=(
        "In random layers of high dimension n equiangular tokens follow an ordinary equation, in which temperature "
        "enters through the probability that two random heads attend to the same token. Geometrically convergent sums "
        "give it to many digits. Collapse takes log(9n + 1) at infinite temperature; low temperature delays it, up to "
        "the time of argmax attention. In a stack of L layers with step η and H heads the time is Lη²/H."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[collapse_in_time, low_temperature_delays_collapse, sharing_of_attention],
    parameters={"draws": Parameter("number of draws", bounds=(100, 10000000), where={"part": "collisions"})},
)
