"""Reports: on a run folder, and on a forecast; one HTML file that holds everything, to read, print, or send."""

from ._forecast import write_forecast_report
from ._page import write_report

__all__ = ["write_forecast_report", "write_report"]
