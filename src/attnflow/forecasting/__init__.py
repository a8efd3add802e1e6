"""Forecasters of time series, and what is needed to judge them."""

from . import pictures as pictures
from . import systems as systems
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
from .rolling import RollingOrigin, rolling_origin
from .study import ForecastStudy, study
from .tables import TimeSeries, read_table, write_table

__all__ = [
    "ForecastStudy",
    "LyapunovEstimate",
    "RollingOrigin",
    "TimeSeries",
    "ValidTime",
    "histogram_distance",
    "largest_lyapunov",
    "nrmse",
    "read_table",
    "rolling_origin",
    "study",
    "valid_prediction_time",
    "wasserstein1d",
    "window_step",
    "write_table",
]
