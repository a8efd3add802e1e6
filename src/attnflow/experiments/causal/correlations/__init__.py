r"""Correlations of causal tokens: closed forms against quadrature, matrices and simulation.

Tokens on the circle (or a sphere) start independent and uniform and are moved by earlier ones alone. Correlations of
order $1/N$ follow: mode by mode in closed form, up to a bias that shrinks like $1/N$.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from .claims import ALWAYS, CLAIMS, GEOMETRIES, SOURCES
from .figures import finite_bias, two_times_and_equal_times

if TYPE_CHECKING:
    import numpy
    import xarray

REPLICAS = {
    "quick": {16: 8000, 64: 4000, 256: 1200},
    "full": {16: 100_000, 32: 100_000, 64: 60_000, 256: 40_000},
}


def cells(scale: str) -> list[Cell]:
    full = scale == "full"
    return [
        {"part": "closed form"},
        *({"part": "matrix", "n": n} for n in (500, 1000, 2000)),
        {"part": "estimators", "n": 16, "replicas": REPLICAS[scale][16]},
        *({"part": "bias", "n": n, "replicas": many} for n, many in REPLICAS[scale].items() if n != 16),
        *(
            {"part": "geometry", "case": case, "n": n, "replicas": 10_000 if full else 1024}
            for case, (_, others) in GEOMETRIES.items()
            for n in (32, *others)
            if full or (n == 32 and case in ALWAYS)
        ),
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {
        "closed form": _closed_form,
        "matrix": _matrix,
        "estimators": _estimators,
        "bias": _bias,
        "geometry": _geometry,
    }
    return parts[cell["part"]](cell)


def _closed_form(cell: Cell) -> "xarray.Dataset":
    """The series against Bessel functions; the integral over all sources; curves for the figure."""
    import math

    import numpy as np
    import xarray
    from scipy.special import iv

    import attnflow as af

    c, y = np.meshgrid(np.geomspace(1e-3, 10, 60), np.geomspace(1e-3, 10, 60))
    series = sum(c ** (k + 1) * y**k / (math.factorial(k) * math.factorial(k + 1)) for k in range(80))
    a, s = float(iv(1, 1.0)), np.linspace(0.005, 1, 400)
    # In s = e^{-v²} the singularity at the first source is gone, and the integrand falls like a Gaussian.
    nodes, weights = np.polynomial.legendre.leggauss(200)
    v = 5 * (nodes + 1)
    integrand = af.reductions.causal.two_time(1.0, np.exp(-(v**2)), a=a, context_slope=1.0) * 2 * v * np.exp(-(v**2))
    return xarray.Dataset(
        {
            "psi": float(np.abs(af.reductions.causal.psi(c, y) / series - 1).max()),
            "total": 5 * float(weights @ integrand),
            "two_time": ("source", af.reductions.causal.two_time(1.0, SOURCES, a=a, context_slope=1.0)),
            "equal_time": ("source", af.reductions.causal.equal_time(1.0, SOURCES, a=a, context_slope=1.0)),
            "g": ("s", af.reductions.causal.two_time(1.0, s, a=a, context_slope=1.0)),
            "h": ("s", af.reductions.causal.equal_time(1.0, s, a=a, context_slope=1.0)),
        },
        coords={"source": list(SOURCES), "s": s},
    )


def _matrix(cell: Cell) -> "xarray.Dataset":
    """Both matrix forms of N tokens, interpolated to three sources."""
    import numpy as np
    import xarray

    import attnflow as af

    n = cell["n"]
    a, w, s = float(af.reductions.causal.rates(1.0, 1)[0]), _weights(n), (np.arange(n - 1) + 0.5) / n
    forms = {"two_time": af.reductions.causal.two_time_matrix, "equal_time": af.reductions.causal.equal_time_matrix}
    columns = {name: np.interp(SOURCES, s, form(1.0, a, w)[:-1]) for name, form in forms.items()}
    return xarray.Dataset({k: ("source", v) for k, v in columns.items()}, coords={"source": list(SOURCES)})


def _weights(n: int) -> "numpy.ndarray":
    import numpy as np

    import attnflow as af

    return np.asarray(af.pairsums.weight_matrix(af.Causal(strict=True, slope=1 / n, normalized=True), n))


def _estimate(cell: Cell, salt: int, **options: Any) -> Any:
    import jax

    import attnflow as af

    key = jax.random.fold_in(jax.random.key(cell["seed"]), salt)
    return af.reductions.causal.estimate_correlations(
        key, n=cell["n"], t=1.0, context_slope=1.0, replicas=cell["replicas"], **options
    )


def _estimators(cell: Cell) -> "xarray.Dataset":
    """Modes 1 and 2 averaged over sources by both estimators, the bias of mode 1, and the spread of a single source."""
    import numpy as np
    import xarray

    methods = ("response", "direct")
    estimates = [_estimate(cell, k, beta=1.0, modes=2, method=m) for k, m in enumerate(methods)]
    mean, stderr = zip(*(estimate.average() for estimate in estimates), strict=True)
    spread, spread_stderr = _spread(estimates[0])
    return xarray.Dataset(
        {
            "mean": (("estimator", "mode"), np.array(mean)),
            "stderr": (("estimator", "mode"), np.array(stderr)),
            "spread": spread,
            "spread_stderr": spread_stderr,
            **_less_matrix_form(estimates[0]),
        },
        coords={"estimator": list(methods), "mode": [1, 2]},
    )


def _spread(estimate: Any) -> tuple[float, float]:
    """Standard deviation of one source in one replica, mode 1, over all sources, and its standard error (jackknife)."""
    import numpy as np

    x = estimate.batches[:, 0]
    many, total, squares = len(x), x.sum(axis=0), (x**2).sum(axis=0)
    without = (squares - x**2 - (total - x) ** 2 / (many - 1)) / (many - 2)  # variances without one batch
    # Of single replicas, not of batches.
    whole, without = (np.sqrt(estimate.together * v.mean(axis=-1)) for v in (x.var(axis=0, ddof=1), without))
    return float(whole), float(np.sqrt((many - 1) * np.var(without)))


def _bias(cell: Cell) -> "xarray.Dataset":
    import xarray

    return xarray.Dataset(_less_matrix_form(_estimate(cell, 10 + cell["n"], beta=1.0)))


def _less_matrix_form(estimate: Any) -> dict[str, float]:
    """Monte Carlo less the matrix form, mode 1, averaged over all sources."""
    import attnflow as af

    (mean, *_), (stderr, *_) = estimate.average()
    matrix = af.reductions.causal.two_time_matrix(
        1.0, af.reductions.causal.rates(1.0, 1)[0], _weights(len(estimate.s) + 1)
    )[:-1].mean()
    return {"bias": float(mean - matrix), "bias_stderr": float(stderr)}


def _geometry(cell: Cell) -> "xarray.Dataset":
    """Degree 1 on another sphere or with softmax, averaged over all sources but the first, and the matrix form."""
    import xarray

    import attnflow as af

    n, (options, _) = cell["n"], GEOMETRIES[cell["case"]]
    mean, stderr = _estimate(cell, 1000 + n, **options).average(slice(1, n - 1))
    a = float(af.reductions.causal.rates(options["beta"], 1, options["d"], options["normalize"])[0])
    matrix = af.reductions.causal.two_time_matrix(1.0, a, _weights(n))[1 : n - 1].mean()
    return xarray.Dataset({"mean": float(mean[0]), "stderr": float(stderr[0]), "matrix": float(matrix), "rate": a})


EXPERIMENT = Experiment(
    id="causal-correlations",
    paper="causal",
    title="Correlations of causal tokens",
    summary=(
        "Independent uniform tokens, moved by earlier ones with ALiBi weights, become correlated at order 1/N. The "
        "correlation of the last token with the initial position of a source has a closed form, which differs from "
        "that at equal times. Simulation with an estimator of bounded variance agrees, up to a bias like 1/N, on the "
        "circle and on spheres, with unnormalised and with softmax attention."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[two_times_and_equal_times, finite_bias],
)
