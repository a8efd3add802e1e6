"""The mean-field model of a wake: from an unstable flow, slowly, to its cycle; what the loss has to resolve."""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from ..measured import SEEDS
from .claims import CLAIMS, DELAYS, LOSSES, STEPS
from .figures import growth_of_the_cycle

if TYPE_CHECKING:
    import xarray

TRAIN = ((0.02, 0.0), (0.05, 1.0), (0.15, 2.0), (0.5, 3.0), (1.2, 4.0), (1.6, 5.0))  # radius and angle of the start
VALIDATION, TEST = (0.03, 2.5), (0.01, 0.0)


def cells(scale: str) -> list[Cell]:
    return [
        *({"part": "network", "loss": loss, "draws": SEEDS[scale], "steps": 5000} for loss in LOSSES),
        {"part": "linear", "delays": 20},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    return {"network": _network, "linear": _linear}[cell["part"]](cell)


def _path(radius: float, angle: float, n: int) -> Any:
    import numpy as np

    from attnflow.forecasting.systems import wake

    return wake(n, start=(radius * np.cos(angle), radius * np.sin(angle), 0.0)).values


def _data() -> tuple[list[Any], Any, Any]:
    return [_path(*start, 400) for start in TRAIN], _path(*VALIDATION, 700), _path(*TEST, STEPS)


def _radius(rows: Any) -> Any:
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        return np.nan_to_num(np.hypot(rows[..., 0], rows[..., 1]), nan=1e6, posinf=1e6)


def _network(cell: Cell) -> "xarray.Dataset":
    import jax
    import xarray

    from attnflow.forecasting import TimeDelayedTransformer

    from ..measured import errors_of_seeds

    train, held, test = _data()
    model = TimeDelayedTransformer(
        DELAYS, loss=cell["loss"], linear_skip=False, max_steps=cell["steps"], n_seeds=cell["draws"],
        key=jax.random.key(cell["seed"]),
    ).fit(train, X_val=[held])  # fmt: skip
    m = DELAYS
    runs = model.forecast_ensemble(STEPS - m, x0=test[:m])
    numbers: dict[str, Any] = {
        "rollout": ("draw", errors_of_seeds(runs, test[m:])),
        "late": ("draw", (_radius(runs[:, -100:]) ** 2).mean(axis=1)),
        "true_late": float((_radius(test[-100:]) ** 2).mean()),
        "radius": (("draw", "step"), _radius(runs)),
        "true_radius": ("step", _radius(test[m:])),
    }
    return xarray.Dataset(numbers)


def _linear(cell: Cell) -> "xarray.Dataset":
    import warnings

    import numpy as np
    import xarray

    from attnflow.errors import AttnflowWarning
    from attnflow.forecasting import TDDMD, nrmse

    train, _, test = _data()
    m = cell["delays"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AttnflowWarning)
        made = TDDMD(m).fit(train).forecast(STEPS - m, x0=test[:m])
    full = np.concatenate([made, np.full((STEPS - m - len(made), 3), np.inf)])
    return xarray.Dataset({"rollout": min(nrmse(made, test[m:]), 1e6), "radius": ("step", _radius(full))})


EXPERIMENT = Experiment(
    id="time-delayed-wake",
    paper="time-delayed",
    title="From an unstable flow to its cycle",
    summary=(
        "Growth from one per cent of the cycle is lost by a loss that weighs all windows alike, and found by one that "
        "is relative to the increment of each, nothing else changed. The set-up is ours."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[growth_of_the_cycle],
)
