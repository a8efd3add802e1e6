r"""Two tokens in a stack of random layers: coefficients, exponents, and the law of their inner product.

In the stochastic limit $q = \langle x_1, x_2\rangle$ is a diffusion on $[-1, 1]$ with closed coefficients. Its law
follows from a parabolic equation, its behaviour at the ends from two exponents, and its limit from its scale
function.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from ..tables import CONSTANTS, LAW, LAYERS
from .claims import CLAIMS, SAMPLED, STARTS
from .figures import antipodal_exponents, the_law_of_q, where_two_tokens_end
from .witness import covariance_as_printed, spectral_moments

if TYPE_CHECKING:
    import xarray

LATE = 150.0  # q is then near 1 or -1
SHOWN = (0.25, 1.0, 4.0, 16.0)  # times of the figure


def cells(scale: str) -> list[Cell]:
    full = scale == "full"
    return [
        {"part": "covariance", "samples": 200_000 if full else 40_000},
        {"part": "drift", "samples": 400_000 if full else 100_000},
        {"part": "exponents"},
        *({"part": "law", "d": d, "beta": beta, "drift": 0.0} for d, beta in LAW),
        {"part": "law", "d": 4, "beta": 0.0, "drift": 1.0},
        *({"part": "ending", "d": d, "T": T} for d, (T, *_) in LAYERS.items()),
        {"part": "spreading"},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {
        "covariance": _covariance,
        "drift": _drift,
        "exponents": _exponents,
        "law": _law,
        "ending": _ending,
        "spreading": _spreading,
    }
    return parts[cell["part"]](cell)


def _covariance(cell: Cell) -> "xarray.Dataset":
    """The covariance of two outputs: by the library's quadrature, by the printed formula, by random matrices."""
    import jax
    import numpy as np
    import xarray

    import attnflow as af

    columns = {name: [] for name in ("closed", "printed", "sampled", "stderr")}
    for k, (beta, q) in enumerate(SAMPLED):
        x = np.array([[1.0, 0.0], [q, np.sqrt(1 - q**2)]])
        key = jax.random.fold_in(jax.random.key(cell["seed"]), k)
        sampled = af.reductions.homogenized.covariance(x, beta, key=key, samples=cell["samples"])
        columns["closed"].append(af.reductions.homogenized.two_token_covariance(q, beta=beta))
        columns["printed"].append(covariance_as_printed(q, beta))
        columns["sampled"].append(np.asarray(sampled.value)[0])
        columns["stderr"].append(np.asarray(sampled.stderr)[0])
    return xarray.Dataset({name: (("case", "entry"), np.array(values)) for name, values in columns.items()})


def _drift(cell: Cell) -> "xarray.Dataset":
    """Itô's formula against one short layer: three tokens in dimension five, antithetic noise."""
    import numpy as np
    import xarray

    import attnflow as af

    rng = np.random.default_rng(cell["seed"])
    n, d, h = 3, 5, 1e-4
    x = np.array([[1.0, 0, 0, 0, 0], [0.6, 0.8, 0, 0, 0], [-0.3, 0.1, 0.9, 0, 0]])
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    S = np.array([[1.0, 0, 0], [0.4, 0.7, 0], [-0.2, 0.5, 1.1]])
    q, C = x @ x.T, S @ S.T
    pairs = np.triu_indices(n, 1)
    xi = np.einsum("ij,rjd->rid", S, rng.standard_normal((cell["samples"], n, d)))
    moved = []
    for sign in (1, -1):
        y = x + sign * np.sqrt(h) * xi
        y /= np.linalg.norm(y, axis=2, keepdims=True)
        moved.append((np.einsum("rid,rjd->rij", y, y) - q)[:, *pairs])
    drift, square = (moved[0] + moved[1]) / (2 * h), (moved[0] - moved[1]) ** 2 / (4 * h)
    root = np.sqrt(cell["samples"])
    return xarray.Dataset(
        {
            "drift": ("pair", af.reductions.homogenized.inner_product_drift(q, C, d=d)[pairs]),
            "variance": ("pair", af.reductions.homogenized.inner_product_variance(q, C)[pairs]),
            "measured_drift": ("pair", drift.mean(0)),
            "measured_variance": ("pair", square.mean(0)),
            "drift_stderr": ("pair", drift.std(0) / root),
            "variance_stderr": ("pair", square.std(0) / root),
        }
    )


def _exponents(cell: Cell) -> "xarray.Dataset":
    """The constants of opposite tokens, and the exponents against temperature in dimensions 2 to 6."""
    import numpy as np
    import xarray
    from scipy.optimize import minimize_scalar

    from attnflow.reductions import homogenized

    betas = np.concatenate([[0.0], np.geomspace(0.02, 20, 240)])
    ds = np.arange(2, 7)
    C_0, K = homogenized.antipodal_constants(list(CONSTANTS))
    least: Any = minimize_scalar(lambda b: homogenized.antipodal_exponent(4, beta=b, sigma_V=1.0), bounds=(0.5, 5))
    return xarray.Dataset(
        {
            "C_0": ("case", C_0),
            "K": ("case", K),
            "collapse": ("d", [homogenized.collapse_exponent(int(d)) for d in ds]),
            "antipodal": (("d", "beta"), [homogenized.antipodal_exponent(int(d), beta=betas, sigma_V=1.0) for d in ds]),
            "at_two": ("d", [homogenized.antipodal_exponent(int(d), beta=2.0) for d in ds]),
            "least": float(least.fun),
            "least_at": float(least.x),
        },
        coords={"d": ds, "beta": betas},
    )


def _law(cell: Cell) -> "xarray.Dataset":
    """Mean and standard deviation of q at time 1 from orthogonal tokens, by two methods, and the expectation of q²."""
    import xarray

    from attnflow.reductions import homogenized

    arguments = {name: cell[name] for name in ("d", "beta", "drift")}
    law = homogenized.two_token_law(0.0, 1.0, **arguments)
    mean, sd = spectral_moments(T=1.0, **arguments)
    square = homogenized.two_token_expectation(lambda q: q**2, 0.0, 1.0, **arguments)
    library = {"mean": law.mean, "sd": law.sd, "backward_square": float(square)}
    return xarray.Dataset({**library, "spectral_mean": mean, "spectral_sd": sd})


def _ending(cell: Cell) -> "xarray.Dataset":
    """The share of pairs within 0.05 of ±1 at T and much later, and the probability to meet, for several starts."""
    import numpy as np
    import xarray

    from attnflow.reductions import homogenized

    d = cell["d"]
    law = homogenized.two_token_law(0.0, cell["T"], d=d, beta=2.0)
    late = homogenized.two_token_law(0.0, LATE, d=d, beta=2.0)
    starts, betas = np.cos(np.linspace(np.pi, 0, 121)), np.array([0.0, 0.5, 2.0, 8.0])
    return xarray.Dataset(
        {
            "near": ("end", [1 - law.cdf(0.95), law.cdf(-0.95)]),
            "late": ("end", [1 - late.cdf(0.95), late.cdf(-0.95)]),
            "together": (("beta", "start"), [homogenized.collapse_probability(starts, d=d, beta=b) for b in betas]),
            "from_claimed": ("case", homogenized.collapse_probability(STARTS, d=d, beta=2.0)),
        },
        coords={"beta": betas, "start": starts, "end": [1, -1]},
    )


def _spreading(cell: Cell) -> "xarray.Dataset":
    """The law of q at several times in dimension 3, and at time 1 in several dimensions; densities of artanh q."""
    import numpy as np
    import xarray

    from attnflow.reductions import homogenized

    y = np.linspace(-9, 9, 901)

    def density(d: int, beta: float, T: float) -> np.ndarray:
        law = homogenized.two_token_law(0.0, T, d=d, beta=beta)
        return np.interp(y, law.y[1:-1], law.mass[1:-1] / (law.y[2] - law.y[1]))

    return xarray.Dataset(
        {
            "by_time": (("time", "y"), [density(3, 2.0, T) for T in SHOWN]),
            "by_case": (("dimension", "beta", "y"), [[density(d, b, 1.0) for b in (0.0, 3.0)] for d in (4, 16)]),
        },
        coords={"y": y, "time": list(SHOWN), "dimension": [4, 16], "beta": [0.0, 3.0]},
    )


EXPERIMENT = Experiment(
    id="homogenized-coefficients",
    paper="homogenized",
    title="Two tokens in random layers: coefficients, exponents, laws",
    summary=(
        "Layers with fresh random weights move two tokens by a diffusion of their inner product. Its coefficients are "
        "Gaussian means of logistic functions. Two tokens meet at the rate (d − 1)σ² at every temperature; opposite "
        "tokens attract each other in dimensions 2 and 3 only. The law of the inner product comes from a parabolic "
        "equation, and agrees with polynomials, with random matrices and with simulated layers."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[antipodal_exponents, the_law_of_q, where_two_tokens_end],
)
