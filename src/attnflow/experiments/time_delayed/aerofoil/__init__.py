"""Lift and drag of a pitching aerofoil under a known angle: inputs, with and without stall."""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from ..measured import SEEDS
from .claims import CLAIMS, DELAYS, TWIN
from .figures import errors_of_the_coefficients, lift_and_drag

if TYPE_CHECKING:
    import xarray


def cells(scale: str) -> list[Cell]:
    return [
        {"part": "twin", "delays": TWIN},
        {"part": "linear", "delays": DELAYS},
        {"part": "network", "delays": DELAYS, "draws": SEEDS[scale], "steps": 9000},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    return {"twin": _linear, "linear": _linear, "network": _network}[cell["part"]](cell)


def _phases(seed: int) -> Any:
    import numpy as np

    return np.random.default_rng(seed).uniform(0, 2 * np.pi, 8)


def _data(stall: bool) -> tuple[Any, dict[str, Any]]:
    """The training set, and test A (other phases) and B (one tone)."""
    import numpy as np

    from attnflow.forecasting.systems import aerofoil, pitching

    train = aerofoil(pitching(3000, phases=_phases(0)), stall=stall)
    a = pitching(1500, mean=0.08, amplitude=0.27, phases=_phases(7))
    b = 0.1 + 0.18 * np.sin(0.12 * 0.5 * np.arange(600))
    return train, {"A": aerofoil(a, stall=stall), "B": aerofoil(b, stall=stall)}


def _errors(made: Any, true: Any) -> list[float]:
    """NRMSE of lift and of drag; drag that is constant has none."""
    import numpy as np

    from attnflow.forecasting import nrmse

    return [min(nrmse(made[:, [k]], true[:, [k]]), 1e6) if np.ptp(true[:, k]) > 1e-12 else 0.0 for k in (0, 1)]


def _linear(cell: Cell) -> "xarray.Dataset":
    import xarray

    from attnflow.forecasting import TDDMD

    stall, m = cell["part"] == "linear", cell["delays"]
    train, tests = _data(stall)
    model = TDDMD(m).fit(train["y"].values, u=train["u"].values)
    numbers: dict[str, Any] = {}
    for name, test in tests.items():
        y, u = test["y"].values, test["u"].values
        made = model.forecast(len(y) - m, x0=y[:m], u=u)
        numbers[f"error_{name}"] = ("output", _errors(made, y[m:]))
        numbers[f"run_{name}"] = ((f"step_{name}", "output"), made)
    return xarray.Dataset(numbers)


def _network(cell: Cell) -> "xarray.Dataset":
    import jax
    import xarray

    from attnflow.forecasting import TimeDelayedTransformer

    m = cell["delays"]
    train, tests = _data(True)
    model = TimeDelayedTransformer(
        m, loss="plain", linear_skip=False, max_steps=cell["steps"], n_seeds=cell["draws"],
        key=jax.random.key(cell["seed"]),
    ).fit(train["y"].values, u=train["u"].values)  # fmt: skip
    numbers: dict[str, Any] = {"parameters": model.n_parameters_}
    for name, test in tests.items():
        y, u = test["y"].values, test["u"].values
        runs = model.forecast_ensemble(len(y) - m, x0=y[:m], u=u)
        numbers[f"error_{name}"] = (("draw", "output"), [_errors(run, y[m:]) for run in runs])
        numbers[f"run_{name}"] = ((f"step_{name}", "output"), runs[model.best_seed_])
        numbers[f"true_{name}"] = ((f"step_{name}", "output"), y[m:])
    return xarray.Dataset(numbers)


EXPERIMENT = Experiment(
    id="time-delayed-aerofoil",
    paper="time-delayed",
    title="A pitching aerofoil",
    summary=(
        "Without stall the aerofoil is a linear system with inputs, and TD-DMD continues it to rounding. With stall "
        "the network is several times better, under other phases of the pitching and under a single tone. The model is "
        "our own open substitute; the paper's data are not public to our knowledge."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[errors_of_the_coefficients, lift_and_drag],
)
