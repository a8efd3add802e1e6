"""What several experiments measure, and how they name their claims."""

from typing import Any

from .. import Results

PAGE = "docs/forecasting.md"
SEEDS = {"quick": 3, "full": 10}


def every(variable: str, **cell: Any):
    """All values of a variable, of all cells with these parameters, in order."""

    def measure(results: Results) -> list[float]:
        return [float(v) for _, data in results.where(**cell) for v in data[variable].values.reshape(-1)]

    return measure


def median(variable: str, **cell: Any):
    """The median over seeds."""

    def measure(results: Results) -> float:
        import numpy as np

        return float(np.median(every(variable, **cell)(results)))

    return measure


def least(variable: str, **cell: Any):
    return lambda results: min(every(variable, **cell)(results))


def errors_of_seeds(runs: Any, true: Any) -> list[float]:
    """NRMSE of roll-outs `(seed, time, channel)`; infinite ones as 1e6, which files and claims can hold."""
    from attnflow.forecasting import nrmse

    return [min(nrmse(run, true), 1e6) for run in runs]
