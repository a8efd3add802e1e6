"""Time series from CSV files as people have them, and forecasts back into such files."""

from .read import read_table
from .series import TimeSeries
from .write import write_table

__all__ = ["TimeSeries", "read_table", "write_table"]
