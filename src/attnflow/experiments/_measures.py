"""Measurements that claims of several experiments share: functions of the `Results`, and statistics of draws."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._results import Results

if TYPE_CHECKING:
    from xarray import DataArray


def value(variable: str, **cell: Any) -> Callable[[Results], Any]:
    """A variable of the one cell with these parameters, as a number or a nested list."""
    return lambda results: results.select(**cell)[variable].values.tolist()


def difference(first: str, second: str, **cell: Any) -> Callable[[Results], float | list[float]]:
    """The first variable of the one cell with these parameters less the second, entry by entry."""

    def measure(results: Results) -> float | list[float]:
        data = results.select(**cell)
        return (data[first] - data[second]).values.tolist()

    return measure


def mean_and_error(values: "DataArray | Any") -> tuple[float, float]:
    """The mean over draws and its standard error."""
    return float(values.mean()), float(values.std(ddof=1)) / math.sqrt(values.size)


def with_reference_error(measure: Callable[..., tuple[float, float]], *args: Any, error: float):
    """`measure(results, *args)` with its standard error combined with that of the reference, `error`."""

    def combined(results: Results) -> tuple[float, float]:
        mean, own = measure(results, *args)
        return mean, math.hypot(own, error)

    return combined
