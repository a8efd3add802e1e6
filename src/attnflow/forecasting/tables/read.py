"""A CSV file as a time series: header or not, time column found or named, gaps, decimal commas, files of any size."""

import os
from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...checks import whole
from ...errors import InputError, shown
from ...files import path_of
from . import _times
from ._numbers import decimal_comma, is_missing, number_of
from ._text import Layout, layout, rows
from .series import TimeSeries

MOST_BYTES = 32 * 2**20  # of a larger file the end is read
MOST_ROWS = 100_000


def read_table(
    path: str | os.PathLike,
    *,
    time: str | None = None,
    columns: Sequence[str] | None = None,
    last: int = MOST_ROWS,
    resample: bool = False,
    most_bytes: int = MOST_BYTES,
) -> TimeSeries:
    """Read a table with a row for each time.

    **Arguments:** `time`, the name of the column of times, is found if it is not given: a column of dates, or of
    growing numbers that is named like one; without any, rows are counted. `columns`, the names that are wanted, by
    default all that hold numbers. Of more than `last` rows, or `most_bytes`, the last ones are kept: memory is bounded.
    `resample` puts irregular times on equal steps by straight lines.

    Separator, decimal comma, encoding and header are seen from the file. A column without a header is named by its
    number, from 1. Empty cells, NA and infinities are gaps, and so are times that are missing between regular ones.
    What was decided stands in `notes`.
    """
    path, last, most_bytes = path_of(path), whole("last", last, 2), whole("most_bytes", most_bytes, 1024)
    if not isinstance(resample, bool):
        raise InputError(f"resample = {shown(resample)} is neither True nor False.")
    found = layout(path)
    names, has_header = _header(found)
    comma = decimal_comma([c for row in found.sample[1:] for c in row]) if found.separator != "," else False
    wanted = _wanted(columns, names, path)
    text, total, notes = _gathered(path, found, names, has_header, last, most_bytes)
    if len(text[0]) < 2:
        raise InputError(f"{path} has {len(text[0])} row{'s'[: len(text[0]) != 1]}; a series needs two at least.")
    if comma:
        notes.append("decimals are written with a comma")
    place = _time_column(text, names, has_header, time, comma, path)
    times, dates = _times_of(text, place, names, comma, path)
    values, kept = _values(text, names, place, wanted, comma, path, notes, total)
    times, values = _increasing(times, values, f"column {names[place]!r}" if place is not None else "", notes)
    where = f"the time column {names[place]!r} of {path}" if place is not None else ""
    if resample and place is not None:
        times, values = _resampled(times, values, notes)
    axis = _axis(times, dates, where)
    values = _with_missing_rows(values, axis, notes)
    name = (names[place] or "time") if place is not None else ""
    return TimeSeries(values, tuple(kept), axis._replace(place=np.arange(len(values))), name, tuple(notes))


def _header(found: Layout) -> tuple[list[str], bool]:
    """Names of the columns, and whether the first row has them: where a cell is text above numbers or dates."""
    first, rest = found.sample[0], found.sample[1:]
    counts = [len(row) for row in rest] or [len(first)]
    usual = max(set(counts), key=counts.count)
    comma = found.separator != ","

    def is_text(cell: str) -> bool:
        plain = number_of(cell, False) is not None or (comma and number_of(cell, True) is not None)
        return not plain and _times.parsed([cell], comma, "the file") is None

    has_header = any(is_text(cell) for cell in first) and (not rest or not all(map(is_text, rest[0])))
    if not has_header and any(is_text(cell) for cell in first) and rest:
        has_header = True  # a column of text below a name
    if not has_header:
        return [str(k + 1) for k in range(usual)], False
    if len(first) == usual - 1 > 1:  # a table of R: the index has no name
        first = ["", *first]
    names: list[str] = []
    for k, cell in enumerate(first):
        name = cell or ("" if k == 0 else str(k + 1))
        own, count = name, 1
        while own in names:
            count += 1
            own = f"{name}.{count}"
        names.append(own)
    return names, True


def _wanted(columns: Sequence[str] | None, names: list[str], path: Path) -> list[str] | None:
    if columns is None:
        return None
    listed = [columns] if isinstance(columns, str) else list(columns)
    for name in listed:
        if name not in names:
            raise InputError(f"{path} has no column {shown(name)}; it has {_listed(names)}.")
    return listed


def _listed(names: Sequence[str]) -> str:
    few = ", ".join(repr(name) for name in names[:12])
    return few + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _gathered(
    path: Path, found: Layout, names: list[str], has_header: bool, last: int, most_bytes: int
) -> tuple[list[list[str]], int, list[str]]:
    """The cells of the last rows, by column, and the number of rows that were read."""
    from collections import deque

    kept: deque[list[str]] = deque(maxlen=last)
    total = 0
    source, skipped = rows(path, found, most_bytes)
    for number, row in enumerate(source):
        if number == 0 and has_header and not skipped:
            continue
        if len(row) == len(names) + 1 and not row[-1]:  # a separator at the end of each row
            row = row[:-1]
        if len(row) != len(names):
            hint = "; if decimals are written with a comma, separate columns by semicolons" * (found.separator == ",")
            place = "" if skipped else f" (row {number + 1} of the file)"
            raise InputError(f"{path} has a row of {len(row)} cells{place}, and {len(names)} columns{hint}.")
        total += 1
        kept.append(row)
    notes = []
    if skipped:
        notes.append(f"the file is large: of it the last {most_bytes / 1e6:.3g} MB were read")
    if total > len(kept):
        notes.append(f"the last {len(kept)} of {total} rows are used")
    return [list(column) for column in zip(*kept, strict=True)] or [[]], total, notes


def _time_column(
    text: list[list[str]], names: list[str], has_header: bool, time: str | None, comma: bool, path: Path
) -> int | None:
    if time is not None:
        if time not in names:
            raise InputError(f"{path} has no column {time!r} for the time; it has {_listed(names)}.")
        return names.index(time)
    counted = None  # the index that pandas writes only counts: a column of times goes before it
    for k, (name, cells) in enumerate(zip(names, text, strict=True)):
        plain = name.split("(")[0].split("[")[0].strip().lower()
        read = _times.parsed(cells, comma, f"column {name!r} of {path}")
        if read is None or np.isnan(read[0]).any():
            if has_header and plain in _times.SURE and _is_date(cells[0], comma, name):
                return k  # one entry is none: refused where times are read
            continue
        stamps, dates = read
        steps = np.diff(stamps)
        # A time that occurs twice is refused later on; a year beside months is no time.
        ordered = bool(((steps >= 0).all() or (steps <= 0).all()) and (steps != 0).mean() > 0.5)
        if dates:
            return k
        if has_header and (plain in _times.SURE or (ordered and plain in _times.NAMES)):
            if plain not in ("", "index"):
                return k
            counted = k
        even = len(steps) > 1 and ordered and np.ptp(steps) <= 1e-6 * abs(steps).max()
        if not has_header and k == 0 and len(names) > 1 and even:
            counted = k
    return counted


def _is_date(cell: str, comma: bool, name: str) -> bool:
    read = _times.parsed([cell], comma, f"column {name!r}")
    return read is not None and read[1]


def _times_of(
    text: list[list[str]], place: int | None, names: list[str], comma: bool, path: Path
) -> tuple[np.ndarray, bool]:
    if place is None:
        return np.arange(len(text[0]), dtype=float), False
    read = _times.parsed(text[place], comma, f"column {names[place]!r} of {path}")
    if read is None or np.isnan(read[0]).any():
        bad = next((c for c in text[place] if is_missing(c) or _times.parsed([c], comma, "it") is None), "")
        raise InputError(
            f"column {names[place]!r} of {path} holds {bad!r}, which is no time; give numbers, or dates as 2024-01-31."
        )
    return read


def _values(
    text: list[list[str]],
    names: list[str],
    place: int | None,
    wanted: list[str] | None,
    comma: bool,
    path: Path,
    notes: list[str],
    total: int,
) -> tuple[np.ndarray, list[str]]:
    """Columns of numbers; columns of text are left out, and an entry of text among numbers is refused."""
    kept, arrays, left = [], [], []
    for k, (name, cells) in enumerate(zip(names, text, strict=True)):
        if k == place or (name == "" and place is not None) or (wanted is not None and name not in wanted):
            continue
        numbers = array("d")
        bad: tuple[int, str] | None = None
        read = 0
        for i, cell in enumerate(cells):
            value = number_of(cell, comma)
            if value is None:
                bad = bad or (i, cell)
            else:
                read += not is_missing(cell)
            numbers.append(float("nan") if value is None else value)
        if bad is not None and (wanted is not None or read > len(cells) / 2):
            raise InputError(
                f"column {name!r} of {path} holds {shown(bad[1])} (row {total - len(cells) + bad[0] + 1} of the data), "
                "which is no number; leave such cells empty."
            )
        if bad is not None or not read:
            left.append(f"{name!r} ({'no numbers' if not read and bad is None else 'text'})")
            continue
        kept.append(name)
        arrays.append(numbers)
    if left:
        notes.append(f"left out: {', '.join(left[:6])}" + (f" and {len(left) - 6} more" if len(left) > 6 else ""))
    if not kept:
        raise InputError(f"{path} has no column of numbers besides the times; it has {_listed(names)}.")
    if wanted is not None:
        order = [kept.index(name) for name in wanted if name in kept]
        kept, arrays = [kept[i] for i in order], [arrays[i] for i in order]
    values = np.array(arrays, float).T
    chosen = [cell for name in kept for cell in text[names.index(name)]]
    infinite = sum(cell.lower().lstrip("+-") in ("inf", "infinity") for cell in chosen)
    if infinite:
        notes.append(f"{infinite} infinite values count as gaps")
    return values, kept


def _increasing(
    times: np.ndarray, values: np.ndarray, where: str, notes: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    steps = np.diff(times)
    if (steps < 0).all():
        notes.append("rows were from new to old, and were turned round")
        return times[::-1], values[::-1]
    if (steps <= 0).any():
        k = int(np.argmax(steps <= 0))
        how = "occurs twice" if steps[k] == 0 else "is followed by an earlier one"
        raise InputError(f"{where}: the time of row {k + 1} of the data {how}; sort the rows, one for each time.")
    return times, values


def _axis(times: np.ndarray, dates: bool, where: str) -> _times.Axis:
    if not where:
        return _times.Axis(np.arange(len(times)), "number", 1.0, 0.0)
    return _times.axis_of(times, dates, where)


def _resampled(times: np.ndarray, values: np.ndarray, notes: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Equal steps of the median length, by straight lines."""
    step = float(np.median(np.diff(times)))
    even = times[0] + step * np.arange(int(np.floor((times[-1] - times[0]) / step + 1e-9)) + 1)
    if np.allclose(even[: len(times)], times[: len(even)], rtol=0, atol=1e-6 * step):
        return times, values
    if len(even) > 10 * len(times):
        raise InputError(f"times have steps so different that {len(even)} rows would come of {len(times)}.")
    lines = []
    for column in values.T:
        known = ~np.isnan(column)
        lines.append(np.interp(even, times[known], column[known]))
    notes.append(f"times were irregular: interpolated linearly to {len(even)} equal steps")
    return even, np.stack(lines, axis=1)


def _with_missing_rows(values: np.ndarray, axis: _times.Axis, notes: list[str]) -> np.ndarray:
    missing = int(axis.place[-1]) + 1 - len(values)
    if missing == 0:
        return values
    full = np.full((len(values) + missing, values.shape[1]), np.nan)
    full[axis.place] = values
    notes.append(f"{missing} time{'s are' if missing > 1 else ' is'} missing between the others, and count as gaps")
    return full
