r"""The sum of two sinusoids, $\sin t + \frac12\sin(\sqrt5 t + 0.3)$: 1000 samples to learn from, 1000 to forecast.

A linear map of four lags continues it exactly. Attention with shared values can do so only from long windows, since all
its lags have coefficients of one sign.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from ..measured import SEEDS
from .claims import CLAIMS, DELAYS, LONG, SHORT, STEPS, TRAIN
from .figures import errors_against_delays, forecasts_of_the_signal

if TYPE_CHECKING:
    import xarray


def cells(scale: str) -> list[Cell]:
    network = {"part": "network", "draws": SEEDS[scale], "steps": 4000 if scale == "quick" else 9000}
    windows = (SHORT, LONG) if scale == "quick" else (SHORT, 24, 32, LONG, 64)
    return [
        *({"part": "linear", "delays": m} for m in DELAYS),
        *({**network, "delays": m, "values": "shared"} for m in windows),
        *({**network, "delays": SHORT, "values": "per_delay"} for _ in range(scale == "full")),
        {"part": "linear part", "delays": 32},
        {"part": "feasible"},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {"linear": _linear, "network": _network, "linear part": _linear_part, "feasible": _feasible}
    return parts[cell["part"]](cell)


def _signal() -> tuple[Any, Any]:
    from attnflow.forecasting.systems import two_tone

    values = two_tone(TRAIN + STEPS).values
    return values[:TRAIN], values[TRAIN:]


def _linear(cell: Cell) -> "xarray.Dataset":
    import numpy as np
    import xarray

    from attnflow.forecasting import TDDMD, nrmse

    train, test = _signal()
    model = TDDMD(cell["delays"]).fit(train, t=0.1 * np.arange(TRAIN))
    angular = 2 * np.pi * np.abs(model.frequencies_[:4])  # the first in the order of amplitude
    found = {"rollout": nrmse(model.forecast(STEPS), test), "frequencies": ("mode", np.sort(angular)[::2])}
    return xarray.Dataset(found)


def _network(cell: Cell) -> "xarray.Dataset":
    import jax
    import xarray

    from attnflow.forecasting import TimeDelayedTransformer, nrmse

    from ..measured import errors_of_seeds

    train, test = _signal()
    model = TimeDelayedTransformer(
        cell["delays"], values=cell["values"], loss="plain", linear_skip=False, lr=5e-3, max_steps=cell["steps"],
        n_seeds=cell["draws"], key=jax.random.key(cell["seed"]),
    ).fit(train)  # fmt: skip
    runs = model.forecast_ensemble(STEPS)
    one_step = nrmse(model.predict(test)[:-1], test[cell["delays"] :])
    numbers: dict[str, Any] = {
        "rollout": ("draw", errors_of_seeds(runs, test)),
        "one_step": one_step,
        "parameters": model.n_parameters_,
        "runs": (("draw", "step"), runs[:, :300, 0]),
        "true": ("step", test[:300, 0]),
    }
    return xarray.Dataset(numbers)


def _linear_part(cell: Cell) -> "xarray.Dataset":
    import xarray

    from attnflow.forecasting import TimeDelayedTransformer, nrmse

    train, test = _signal()
    model = TimeDelayedTransformer(cell["delays"], loss="plain", linear_skip=True, max_steps=2000).fit(train)
    return xarray.Dataset({"rollout": nrmse(model.forecast(STEPS), test)})


def _feasible(cell: Cell) -> "xarray.Dataset":
    """The residual of non-negative least squares for each window: lag matrices of one sign, and lag zero free."""
    import numpy as np
    import xarray
    from scipy.optimize import nnls

    steps = np.array([0.1, 0.1 * 5**0.5])
    windows = np.arange(2, 61)
    left = []
    for m in windows:
        waves = np.exp(-1j * steps[:, None] * np.arange(m))
        best = np.inf
        for sign in (1, -1):
            A = np.concatenate([np.ones((2, 1)), -np.ones((2, 1)), sign * waves], axis=1)
            b = np.concatenate([np.cos(steps), np.sin(steps)])
            best = min(best, nnls(np.concatenate([np.real(A), np.imag(A)]), b)[1])
        left.append(best)
    return xarray.Dataset({"residual": ("window", left)}, coords={"window": windows})


EXPERIMENT = Experiment(
    id="time-delayed-signals",
    paper="time-delayed",
    title="A sum of two sinusoids",
    summary=(
        "TD-DMD continues the signal to rounding from four lags on. The network with shared values cannot from windows "
        "shorter than about half the slow period, and does from longer ones, to three digits; with the linear part it "
        "is exact, too. The set-up is ours."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[errors_against_delays, forecasts_of_the_signal],
)
