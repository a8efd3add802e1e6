"""The report on a run folder: one HTML file that holds everything, to read on screen, print, or send to a colleague."""

from ._analysis import write_analysis
from ._page import write_report

__all__ = ["write_analysis", "write_report"]
