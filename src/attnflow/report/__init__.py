"""Reports on a run folder, a forecast, a text in a model: HTML files that hold everything, to read, print or send."""

from ._analysis import write_analysis
from ._forecast import write_forecast_report
from ._page import write_report

__all__ = ["write_analysis", "write_forecast_report", "write_report"]
