"""A time series with names and times, and gaps as NaN."""

from dataclasses import dataclass, replace

import numpy as np

from ._times import Axis


@dataclass(frozen=True)
class TimeSeries:
    """Values `(n, d)` on a regular time axis, NaN where a gap is; `notes` says what was made of the file.

    `names` of the columns; `time_name` of the column of times (empty: rows are counted); `times(k)` gives the text of
    the times of rows, and of `k` rows after the last one.
    """

    values: np.ndarray
    names: tuple[str, ...]
    axis: Axis
    time_name: str
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    @property
    def dt(self) -> float:
        """The step, in seconds for dates."""
        return self.axis.step

    @property
    def ts(self) -> np.ndarray:
        """Times as numbers."""
        return self.axis.numbers(np.arange(len(self)))

    def times(self, beyond: int = 0) -> list[str]:
        """The times of all rows as text, or of the rows that follow."""
        places = np.arange(len(self), len(self) + beyond) if beyond else np.arange(len(self))
        return self.axis.times(places)

    @property
    def gaps(self) -> int:
        """How many rows lack a value."""
        return int(np.isnan(self.values).any(axis=1).sum())

    def filled(self) -> "TimeSeries":
        """Gaps inside filled by straight lines; before the first and after the last value of a column by that value."""
        values, rows = self.values.copy(), np.arange(len(self))
        for column in values.T:
            known = ~np.isnan(column)
            column[~known] = np.interp(rows[~known], rows[known], column[known])
        lines = (
            f"{self.gaps} rows with gaps were filled by straight lines, which know what came after: errors may be too "
            "small",
        ) if self.gaps else ()
        return replace(self, values=values, notes=self.notes + lines)

    def stretches(self) -> list[np.ndarray]:
        """The parts without gaps, in order."""
        whole = ~np.isnan(self.values).any(axis=1)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], whole, [False]]).astype(int)))
        return [self.values[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
