"""Time series as users hold them (arrays, pandas, xarray, lists of these), and back to the same kind.

Inside the room a series is a `Series`: float64 numbers `(n, d)` in time order, NaN where a sample is missing, and the
places of the samples on a regular clock.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, shown

OFF_GRID = 0.05  # of a step: how far a time may lie from the regular clock; printed times are rounded
TIME_NAMES = ("time", "t")


class Clock(NamedTuple):
    """Regular times: `step` apart, in the unit of the user's times (seconds for dates)."""

    step: float
    given: bool  # False: rows are counted


@dataclass(frozen=True)
class Series:
    """One trajectory. `at (n,)`: the place of every row on the clock; a gap is a jump of more than one."""

    values: np.ndarray
    at: np.ndarray
    clock: Clock
    wrap: Any
    """`wrap(rows, start)`: rows `(k, d)` that begin `start` places after the last sample, as the kind given."""


def read(
    name: str, X: Any, t: Any = None, *, time_axis: int = 0, columns: int | None = None, owner: str = "model"
) -> list[Series]:
    """The trajectories in `X`: one, or a list of them; `t` are their times, in the same form.

    `columns` is how many they must have for the model that is their `owner`.
    """
    if time_axis not in (0, 1) or isinstance(time_axis, bool):
        raise InputError(f"time_axis = {shown(time_axis)}; take 0 where rows are times, 1 where columns are.")
    if is_list(X):
        if not X:
            raise InputError(f"{name} is an empty list; give at least one trajectory.")
        times = [None] * len(X) if t is None else t
        if not isinstance(times, list | tuple) or len(times) != len(X):
            raise InputError(f"{name} has {len(X)} trajectories; give t as a list of {len(X)} arrays of times.")
        series = [_one(f"{name}[{i}]", x, times[i], time_axis) for i, x in enumerate(X)]
    else:
        series = [_one(name, X, t, time_axis)]
    widths = {s.values.shape[1] for s in series}
    if len(widths) > 1:
        raise InputError(f"the trajectories of {name} have {sorted(widths)} columns; give all of them the same.")
    if columns is not None and widths != {columns}:
        given = f"{name} has {widths.pop()} features, but {owner} is expecting {columns} features as input"
        hint = "" if np.ndim(X) != 1 else f". Reshape your data: rows are times, (n, {columns})"
        raise InputError(given + hint + ".")
    _one_clock(name, series)
    return series


def is_list(X: Any) -> bool:
    """Whether `X` is a list of trajectories, and not one written as a list of rows or numbers."""
    if not isinstance(X, list | tuple):
        return False
    if not len(X) or _axes(X[0]) >= 2 or _module(X[0]) in ("pandas", "xarray"):
        return True
    return all(isinstance(x, np.ndarray) and x.ndim == 1 for x in X) and len({len(x) for x in X}) > 1


def _axes(x: Any) -> int:
    if hasattr(x, "ndim"):
        return x.ndim
    return 1 + _axes(x[0]) if isinstance(x, list | tuple) and len(x) else int(isinstance(x, list | tuple))


def _module(x: Any) -> str:
    return type(x).__module__.partition(".")[0]


def _one_clock(name: str, series: list[Series]) -> None:
    steps = [s.clock.step for s in series if s.clock.given]
    if steps and max(steps) > (1 + OFF_GRID) * min(steps):
        raise InputError(
            f"the trajectories of {name} have time steps from {min(steps):g} to {max(steps):g}; resample them to one."
        )


def _one(name: str, X: Any, t: Any, time_axis: int) -> Series:
    kind = _module(X)
    if kind == "pandas" and hasattr(X, "index"):
        return _of_pandas(name, X, t, time_axis)
    if kind == "xarray" and hasattr(X, "dims"):
        return _of_xarray(name, X, t, time_axis)
    raw = numbers(name, X)
    if raw.ndim == 2 and 0 in raw.shape:
        raise InputError(
            f"{name} has {raw.shape[0]} sample(s) and {raw.shape[1]} feature(s) (shape={raw.shape}) while a minimum of "
            "1 is required."
        )
    if raw.ndim not in (1, 2) or 0 in raw.shape:
        raise InputError(
            f"{name} has shape {raw.shape}; give samples as rows (n, d), a minimum of one of each. Fields with more "
            "axes go through PODReducer."
        )
    kind = ArrayKind(raw.ndim == 1, bool(time_axis))
    return _series(name, raw[:, None] if kind.flat else raw.T if kind.turned else raw, t, kind)


@dataclass(frozen=True)
class ArrayKind:
    """A NumPy array: of numbers, or of rows, or of columns."""

    flat: bool = False
    turned: bool = False

    def __call__(self, rows: np.ndarray, start: int) -> np.ndarray:
        return rows[:, 0] if self.flat and rows.shape[1] == 1 else rows.T if self.turned and not self.flat else rows


def _series(name: str, values: np.ndarray, t: Any, wrap: Any) -> Series:
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0].tolist()
        raise InputError(f"{name} is infinite in row {row}, column {column}; give numbers, NaN where one is missing.")
    at, clock = places(name, t, len(values))
    return Series(values, at, clock, wrap)


def numbers(name: str, X: Any) -> np.ndarray:
    """Real numbers in float64, NaN allowed; text, dates and complex numbers are refused in a sentence."""
    if _module(X) == "scipy" and hasattr(X, "toarray"):
        raise InputError(f"{name} is a sparse matrix; give a dense one, {name}.toarray().")
    try:
        raw = np.asarray(X)
        if raw.dtype.kind == "c":
            raise InputError(f"Complex data not supported: give real and imaginary part of {name} as two columns.")
        if raw.dtype.kind in "SUmM" or (raw.dtype.kind == "O" and any(isinstance(v, str) for v in raw.flat)):
            raise TypeError
        return np.asarray(raw, float)
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} = {shown(X)} is not an array of numbers (n, d).") from None


def places(name: str, t: Any, n: int) -> tuple[np.ndarray, Clock]:
    """The places of n times on a regular clock, which may have gaps; other irregular times are refused."""
    if t is None:
        return np.arange(n), Clock(1.0, False)
    raw = np.asarray(t)
    if raw.dtype.kind == "O" and all(hasattr(v, "isoformat") for v in raw.flat):
        raw = np.asarray(t, "datetime64[us]")
    if raw.dtype.kind == "M":
        raw = (raw - raw[:1]).astype("timedelta64[ns]").astype(float) * 1e-9
    times = numbers("t", raw)
    if times.shape != (n,):
        raise InputError(f"t has shape {times.shape} and {name} has {n} rows; give one time for each row.")
    if n == 1:
        return np.arange(1), Clock(1.0, False)
    steps = np.diff(times)
    if not np.isfinite(times).all() or not (steps > 0).all():
        raise InputError(f"the times of {name} do not increase (look at row {_first_bad(times)}); sort them.")
    # Printed times are rounded: of the steps without a gap the mean is the best guess.
    step = float(steps[steps < 1.5 * np.median(steps)].mean())
    at = np.concatenate([[0.0], np.cumsum(np.rint(steps / step))])
    step = float((times[-1] - times[0]) / at[-1]) if at[-1] else step
    off = np.abs((times - times[0]) / step - at)
    if off.max() > OFF_GRID or (np.diff(at) < 1).any():
        raise InputError(
            f"the times of {name} are irregular (steps from {steps.min():g} to {steps.max():g}); interpolate to "
            "equal steps first, with numpy.interp for example."
        )
    return at.astype(np.int64), Clock(step, True)


def _first_bad(times: np.ndarray) -> int:
    bad = ~np.isfinite(times)
    bad[1:] |= ~(np.diff(times) > 0)
    return int(np.argmax(bad))


# pandas ---------------------------------------------------------------------------------------------------------------


def _of_pandas(name: str, X: Any, t: Any, time_axis: int) -> Series:
    import pandas as pd

    frame = X.to_frame() if isinstance(X, pd.Series) else X
    if time_axis:
        raise InputError(f"{name} is a table of pandas, whose rows are times; leave time_axis at 0, or transpose it.")
    if 0 in frame.shape:
        raise InputError(f"{name} has shape {frame.shape}; give a minimum of one row and one column.")
    columns = [_numeric(name, frame, j) for j in range(frame.shape[1])]
    index = frame.index
    regular = _regular(index)
    if regular is not None and t is None:
        stamps = index.to_timestamp() if isinstance(index, pd.PeriodIndex) else index
        seconds = np.diff(stamps.to_numpy()).astype("timedelta64[ns]").astype(float) * 1e-9
        series = _series(name, np.stack(columns, axis=1), None, None)
        clock = Clock(float(np.median(seconds)) if len(seconds) else 1.0, True)
    else:
        counted = isinstance(index, pd.RangeIndex) or not (
            isinstance(index, pd.DatetimeIndex) or pd.api.types.is_numeric_dtype(index)
        )
        times = index.to_numpy() if t is None and not counted else t
        series = _series(name, np.stack(columns, axis=1), times, None)
        clock = series.clock
    label = X.name if isinstance(X, pd.Series) else None
    kind = TableKind(index, regular, clock.step if t is None else None, frame.columns, label, X is frame)
    return Series(series.values, series.at, clock, kind)


@dataclass(frozen=True, eq=False)
class TableKind:
    """A table or a column of pandas."""

    index: Any
    regular: Any
    step: float | None
    columns: Any
    label: Any
    table: bool

    def __call__(self, rows: np.ndarray, start: int) -> Any:
        import pandas as pd

        known = self.index[len(self.index) - 1 + start :][: len(rows)] if start < 1 else self.index[:0]
        index = self._later(max(start, 1), len(rows) - len(known))
        index = known.append(index) if len(known) else index
        if not self.table:
            return pd.Series(rows[:, 0], index=index, name=self.label)
        return pd.DataFrame(rows, index=index, columns=self.columns)

    def _later(self, start: int, n: int) -> Any:
        """n entries, the first of them `start` places after the last one that is known."""
        import pandas as pd

        last, after = self.index, np.arange(start, start + n)
        if self.regular is not None and isinstance(last, pd.PeriodIndex):
            return pd.PeriodIndex([last[-1] + int(k) for k in after], dtype=last.dtype, name=last.name)
        if self.regular is not None:
            return pd.date_range(last[-1] + start * self.regular, periods=n, freq=self.regular, name=last.name)
        if isinstance(last, pd.DatetimeIndex) and self.step is not None:
            stamps = [last[-1] + pd.to_timedelta(k * self.step, unit="s") for k in after]
            return pd.DatetimeIndex(stamps, name=last.name)
        if isinstance(last, pd.RangeIndex):
            return pd.RangeIndex(last[-1] + start * last.step, last[-1] + (start + n) * last.step, last.step)
        if pd.api.types.is_numeric_dtype(last) and self.step is not None:
            return pd.Index(last[-1] + after * self.step, name=last.name)
        return pd.RangeIndex(len(last) - 1 + start, len(last) - 1 + start + n)


def _numeric(name: str, frame: Any, j: int) -> np.ndarray:
    """A column as floats; text and dates are refused by the name of the column."""
    column = frame.iloc[:, j]
    raw = column.to_numpy(dtype=object)
    bad = [v for v in raw if isinstance(v, str | bytes | complex) or (hasattr(v, "isoformat") and v == v)]
    try:
        if not bad:
            return column.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        bad = [raw[0]]
    raise InputError(f"column {frame.columns[j]!r} of {name} holds {shown(bad[0])}, which is no number; drop it.")


def _regular(index: Any) -> Any:
    """The step of an index that is regular by its own calendar (months, say), or None."""
    import pandas as pd

    if isinstance(index, pd.PeriodIndex):
        whole = pd.period_range(index[0], periods=len(index), freq=index.freq)
        return index.freq if whole.equals(index) else None
    if not isinstance(index, pd.DatetimeIndex) or not index.is_monotonic_increasing:
        return None
    if index.freq is not None:
        return index.freq
    try:
        found = pd.infer_freq(index) if len(index) >= 3 else None
    except (TypeError, ValueError):
        return None
    return None if found is None else pd.tseries.frequencies.to_offset(found)


# xarray ---------------------------------------------------------------------------------------------------------------


def _of_xarray(name: str, X: Any, t: Any, time_axis: int) -> Series:
    import xarray

    if not isinstance(X, xarray.DataArray):
        raise InputError(f"{name} is an xarray.Dataset; give one array of it, or {name}.to_dataarray().")
    if X.ndim not in (1, 2) or 0 in X.shape:
        raise InputError(f"{name} has the axes {X.dims}; give (time, channel), and fields by PODReducer.")
    named = [d for d in X.dims if str(d).lower() in TIME_NAMES]
    time = named[0] if named else X.dims[min(time_axis, X.ndim - 1)]
    ordered = X.transpose(time, ...)
    raw = numbers(name, ordered.values)
    stamps = ordered[time].values if time in X.coords else None
    series = _series(name, raw.reshape(len(raw), -1), stamps if t is None else t, None)
    own = series.clock.step if t is None else None
    return Series(series.values, series.at, series.clock, LabelledKind(ordered, X.dims, time, own))


@dataclass(frozen=True, eq=False)
class LabelledKind:
    """An array of xarray, kept with time as the first axis; `step` is that of its own times."""

    known: Any
    dims: tuple[Any, ...]
    time: Any
    step: float | None

    def __call__(self, rows: np.ndarray, start: int) -> Any:
        import xarray

        coords = {k: v for k, v in self.known.coords.items() if self.time not in v.dims}
        if self.time in self.known.coords and self.step is not None:
            stamps = self.known[self.time].values
            inside = stamps[len(stamps) - 1 + start :][: len(rows)] if start < 1 else stamps[:0]
            after = np.arange(max(start, 1), max(start, 1) + len(rows) - len(inside)) * self.step
            if stamps.dtype.kind == "M":
                after = np.rint(after * 1e9).astype("timedelta64[ns]")
            coords[self.time] = (self.time, np.concatenate([inside, stamps[-1] + after]))
        shape = (len(rows), *self.known.shape[1:])
        out = xarray.DataArray(rows.reshape(shape), coords, self.known.dims, name=self.known.name)
        return out.transpose(*self.dims)
