"""Forecasts as CSV."""

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...checks import finite_array
from ...errors import InputError
from ...files import write_atomically
from ...spaces import Numbers


def write_table(
    path: str | os.PathLike, times: Sequence[str], values: Numbers, names: Sequence[str], time_name: str = "time"
) -> Path:
    """Write a table with a row for each time, `time_name` first; numbers can be read back to the last digit."""
    table = finite_array("values", values)
    if table.ndim != 2 or table.shape != (len(times), len(names)):
        raise InputError(
            f"values has shape {table.shape}; give a row for each of {len(times)} times and a column for each of "
            f"{len(names)} names."
        )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([time_name or "time", *names])
    for time, row in zip(times, np.asarray(table), strict=True):
        writer.writerow([time, *(repr(float(v)) for v in row)])
    return write_atomically(path, text.getvalue())
