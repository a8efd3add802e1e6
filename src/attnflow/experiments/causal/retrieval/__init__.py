r"""Lost in the middle: which sources of a prompt can be retrieved from the last token.

A decoder reads the correlation of the last token, at depth $t$, with the initial position of every earlier one. The
closed form falls from the first sources to a minimum and rises towards the last, as long as $t < t_{crit}$; simulation
of 128 tokens agrees.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from .claims import BETAS, CLAIMS, EDGES, FITTED, MODES, SLOPES, TIMES, N
from .figures import critical_times, double_well, profiles, u_shape

if TYPE_CHECKING:
    import numpy
    import xarray


def cells(scale: str) -> list[Cell]:
    full = scale == "full"
    return [
        {"part": "closed form"},
        {"part": "double well"},
        {"part": "draws", "draws": 1500 if full else 200},
        {"part": "simulation", "replicas": 40_000 if full else 6000},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {"closed form": _closed_form, "double well": _double_well, "draws": _draws, "simulation": _simulation}
    return parts[cell["part"]](cell)


def _closed_form(cell: Cell) -> "xarray.Dataset":
    """Critical times, minima for several times and slopes, the last source, a profile without slope."""
    import numpy as np
    import xarray

    import attnflow as af

    least = np.array([af.reductions.causal.profile_minimum(t, beta=1.0, context_slope=1.0) for t in TIMES])
    curve = np.arange(1, 49) / 10
    without = af.reductions.causal.retrieval_profile(np.geomspace(1e-9, 1, 4000), 1.0, beta=1.0, context_slope=0.0)
    return xarray.Dataset(
        {
            "critical": ("beta", af.reductions.causal.critical_time(beta=list(BETAS), context_slope=1.0)),
            "curve": ("inverse_temperature", af.reductions.causal.critical_time(beta=curve, context_slope=1.0)),
            "argmin": ("time", least[:, 0]),
            "minimum": ("time", least[:, 1]),
            "last": float(af.reductions.causal.retrieval_profile(1.0, 1.0, beta=1.0, context_slope=1.0)),
            "by_slope": (
                "slope",
                [af.reductions.causal.profile_minimum(1.0, beta=1.0, context_slope=x).s for x in SLOPES],
            ),
            "steps_without_slope": float(np.diff(without).max()),
            "rises_at_five": float(np.diff(_plotted(5.0)).max()),
        },
        coords={"beta": list(BETAS), "inverse_temperature": curve, "time": list(TIMES), "slope": list(SLOPES)},
    )


def _plotted(t: float) -> "numpy.ndarray":
    """The profile on the 800 points of the authors' figure."""
    import numpy as np

    import attnflow as af

    return af.reductions.causal.retrieval_profile(np.linspace(0.02, 0.98, 800), t, beta=1.0, context_slope=1.0)


def _double_well(cell: Cell) -> "xarray.Dataset":
    """Turning points of the authors' four heads."""
    import xarray

    import attnflow as af

    turns = af.reductions.causal.turning_points(1.5, heads=af.reductions.causal.DOUBLE_WELL)
    return xarray.Dataset(
        {"s": ("turn", turns.s), "value": ("turn", turns.value), "minimum": ("turn", turns.minimum.astype(int))}
    )


def _draws(cell: Cell) -> "xarray.Dataset":
    """The shapes of profiles with random parameters, below and above the critical time, for several modes and one."""
    import numpy as np
    import xarray

    import attnflow as af

    rng, draws = np.random.default_rng(cell["seed"]), cell["draws"]
    beta, slope = (np.exp(rng.uniform(np.log(0.03), np.log(high), draws)) for high in (10, 16))
    classes = rng.integers(1, 21, draws)
    below, above = rng.uniform(0.001, 1, draws), np.exp(rng.uniform(0, 3, draws))
    shapes: dict[str, Any] = {}
    for name, modes in (("several", 20), ("one", 1)):
        options = {"beta": beta, "context_slope": slope, "classes": classes, "modes": modes}
        critical = af.reductions.causal.critical_time(**options)
        for where, factor in (("below", below), ("above", above)):
            shape = af.reductions.causal.profile_shape(factor * critical, **options)
            shapes[f"{where}_{name}"] = ("draw", shape.astype(str))
    return xarray.Dataset({**shapes, "slope": ("draw", slope)})


def _simulation(cell: Cell) -> "xarray.Dataset":
    """Profiles of 128 tokens: by source, in bins, and both closed forms averaged over the same bins."""
    import jax
    import numpy as np
    import xarray

    import attnflow as af

    estimate = af.reductions.causal.estimate_correlations(
        jax.random.key(cell["seed"]), n=N, t=1.0, beta=1.0, context_slope=1.0, modes=MODES, replicas=cell["replicas"]
    )
    s, value, stderr = estimate.profile(edges=EDGES)
    w = af.pairsums.weight_matrix(af.Causal(strict=True, slope=1 / N, normalized=True), N)
    modes = af.reductions.causal.two_time_matrix(1.0, af.reductions.causal.rates(1.0, MODES), np.asarray(w))[:, :-1]
    matrix = af.reductions.causal.window(modes=MODES) @ modes
    continuum = af.reductions.causal.retrieval_profile(estimate.s, 1.0, beta=1.0, context_slope=1.0, modes=MODES)
    batches = np.einsum("bms,m->bs", estimate.batches, af.reductions.causal.window(modes=MODES))
    at, spread = smoothed_minimum(estimate.s, batches)
    return xarray.Dataset(
        {
            "value": ("bin", value),
            "stderr": ("bin", stderr),
            "matrix": ("bin", af.reductions.causal.bin_means(matrix, EDGES)),
            "continuum": ("bin", af.reductions.causal.bin_means(continuum, EDGES)),
            "argmin": at,
            "argmin_stderr": spread,
            "matrix_argmin": smoothed_minimum(estimate.s, matrix[None])[0],
        },
        coords={"bin": s},
    )


def smoothed_minimum(s: "numpy.ndarray", batches: "numpy.ndarray") -> tuple[float, float]:
    """The minimum of the quartic fitted to the mean of the batches, and its standard error (jackknife).

    NaN unless the quartic has exactly one minimum inside the fitted range.
    """
    import numpy as np

    fitted = (s >= FITTED[0]) & (s <= FITTED[1])
    fine = np.linspace(*FITTED, 4001)
    many = len(batches)
    total = batches.sum(axis=0)
    means = np.stack([total / many, *((total - batch) / (many - 1) for batch in batches if many > 1)])
    curves = np.polynomial.polynomial.polyval(
        fine, np.polynomial.polynomial.polyfit(s[fitted], means[:, fitted].T, 4)
    )  # (curves, points)
    falls = np.diff(curves, axis=1) < 0
    once = (falls[0, :-1] & ~falls[0, 1:]).sum() == 1 and falls[0, 0] and not falls[0, -1]
    least = fine[curves.argmin(axis=1)]
    spread = np.sqrt((many - 1) * np.var(least[1:])) if many > 1 else 0.0
    return float(least[0]) if once else float("nan"), float(spread)


EXPERIMENT = Experiment(
    id="causal-retrieval",
    paper="causal",
    title="Lost in the middle",
    summary=(
        "How well a decoder retrieves each source from the last token of a prompt. First sources are retrieved best, "
        "last ones better than those in the middle, up to a critical depth that has a closed form. Without positional "
        "bias there is no recency; a readout of several heads can have two minima. Simulation of 128 tokens follows "
        "the closed form, below it by a few per cent."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[u_shape, profiles, critical_times, double_well],
    parameters={"replicas": Parameter("number of replicas", bounds=(100, 1000000))},
)
