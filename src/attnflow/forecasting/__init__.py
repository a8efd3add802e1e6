"""Forecasting: dynamics learned from time series, by attention over the last states or by a linear map of them.

`TimeDelayedTransformer` and `TDDMD` follow the conventions of scikit-learn: `fit`, `predict` (one step), `forecast`
(many), `score`, `score_rollout`, `save` and `load`. `PODReducer` takes fields to a few coefficients and back. The
mathematics is in docs/theory/time-delayed.md.

`systems` gives series to learn from, `nrmse` and the measures beside it say how good a forecast is, `pictures` draws
it. `read_table` takes a CSV file as it is, and `study` forecasts it and compares forecasters on its held-out tail;
docs/forecasting.md shows how.
"""

from . import pictures as pictures
from . import systems as systems
from ._files import load
from ._parameters import NotFittedError
from .metrics import (
    LyapunovEstimate,
    ValidTime,
    histogram_distance,
    largest_lyapunov,
    nrmse,
    valid_prediction_time,
    wasserstein1d,
    window_step,
)
from .pod import PODReducer
from .rolling import RollingOrigin, rolling_origin
from .study import ForecastStudy, study
from .tables import TimeSeries, read_table, write_table
from .td_dmd import TDDMD
from .transformer import TimeDelayedTransformer

__all__ = [
    "TDDMD",
    "ForecastStudy",
    "LyapunovEstimate",
    "NotFittedError",
    "PODReducer",
    "RollingOrigin",
    "TimeDelayedTransformer",
    "TimeSeries",
    "ValidTime",
    "histogram_distance",
    "largest_lyapunov",
    "load",
    "nrmse",
    "read_table",
    "rolling_origin",
    "study",
    "valid_prediction_time",
    "wasserstein1d",
    "window_step",
    "write_table",
]
