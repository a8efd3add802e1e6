"""The time axis: numbers or dates, regular up to gaps, in steps of seconds, of calendar months or of working days."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from ._numbers import number_of

SURE = ("time", "date", "datetime", "timestamp", "zeit", "datum")
NAMES = (*SURE, "t", "temps", "year", "jahr", "index", "")  # times if they grow
FORMATS = (
    *("%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%Y-%m", "%Y/%m", "%b %Y", "%B %Y", "%d %b %Y", "%d-%b-%Y"),
    *("%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%y"),
)
DAY_FIRST = ("%d/%m/%Y", "%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S")
MONTH_FIRST = ("%m/%d/%Y", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S")
NEAR = 1e-3  # of a step: how far a time may be from its place
DAY = 86400.0
_EIGHT = re.compile(r"(1[89]|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")


class Axis(NamedTuple):
    """Times of rows: `place`, the number of each step (gaps are left out), the text or number of each, and its step.

    `unit` is "number", "second", "month" or "working day"; `step` is in this unit, `origin` the time of place 0.
    """

    place: np.ndarray
    unit: str
    step: float
    origin: float
    with_clock: bool = True

    def times(self, places: np.ndarray) -> list[str]:
        """The times at places, as text; beyond the last row, too."""
        if self.unit == "number":
            digits = 15  # milliseconds since 1970 have 13
            return [f"{self.origin + self.step * p:.{digits}g}" for p in places]
        if self.unit == "month":
            months = int(np.floor(self.origin)) + np.round(self.step * np.asarray(places)).astype(int)
            day = round((self.origin % 1) * 100)
            ends = [np.datetime64(f"{1970 + (m + 1) // 12:04d}-{(m + 1) % 12 + 1:02d}-01") - 1 for m in months]
            return [f"{str(end)[:7]}-{min(day, int(str(end)[8:])):02d}" for end in ends]
        if self.unit == "working day":
            first = np.datetime64(int(self.origin // DAY), "D")
            return [str(np.busday_offset(first, int(p * self.step))) for p in places]
        stamps = np.array([round(1e3 * (self.origin + self.step * p)) for p in places], "datetime64[ms]")
        whole = (stamps == stamps.astype("datetime64[s]")).all()
        stamps = stamps.astype("datetime64[s]") if whole else stamps
        return [str(s) if self.with_clock else str(s)[:10] for s in stamps]

    def numbers(self, places: np.ndarray) -> np.ndarray:
        """The times at places as numbers: seconds from the first row on where they are dates."""
        if self.unit == "number":
            return self.origin + self.step * places
        if self.unit == "second":
            return self.step * places
        return np.asarray(places, float) * self.step

    @property
    def words(self) -> str:
        """The step, for people."""
        if self.unit == "number":
            return f"{self.step:.6g}"
        if self.unit == "second":
            for name, size in (("day", DAY), ("hour", 3600.0), ("minute", 60.0)):
                if self.step >= size and self.step % size == 0:
                    return _count(self.step / size, name)
            return _count(self.step, "second")
        return _count(self.step, self.unit)


def _count(n: float, noun: str) -> str:
    return f"{n:g} {noun}{'' if n == 1 else 's'}"


def parsed(cells: list[str], comma: bool, where: str) -> tuple[np.ndarray, bool] | None:
    """Cells as numbers, or as seconds since 1970; whether they are dates. None where they are neither."""
    if cells and all(_EIGHT.fullmatch(cell) for cell in cells):  # 20240131
        stamps = _dates(cells, where)
        if stamps is not None:
            return stamps, True
    numbers = [number_of(cell, comma) for cell in cells]
    if all(v is not None for v in numbers):
        return np.array(numbers, float), False
    stamps = _dates(cells, where)
    return None if stamps is None else (stamps, True)


def _dates(cells: list[str], where: str) -> np.ndarray | None:
    if not any(re.search(r"\d", cell) for cell in cells):
        return None
    iso = _with(cells, datetime.fromisoformat)
    if iso is not None:
        return iso
    for form in FORMATS:
        found = _with(cells, lambda cell, form=form: datetime.strptime(cell, form))
        if found is not None:
            return found
    for day, month in zip(DAY_FIRST, MONTH_FIRST, strict=True):
        first, second = (_with(cells, lambda cell, form=form: datetime.strptime(cell, form)) for form in (day, month))
        if first is not None and second is not None and not np.array_equal(first, second):
            raise InputError(
                f"{where} has dates such as {cells[0]}, and whether day or month comes first cannot be seen; write "
                "them as 2024-01-31."
            )
        if first is not None or second is not None:
            return second if first is None else first
    return None


def _with(cells: list[str], read) -> np.ndarray | None:
    """As the clock shows it where all have one offset from UTC, else in UTC."""
    stamps, offsets = np.empty(len(cells)), np.zeros(len(cells))
    try:
        for i, cell in enumerate(cells):
            moment = read(cell)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            stamps[i], offsets[i] = moment.timestamp(), (moment.utcoffset() or timedelta()).total_seconds()
    except (ValueError, OverflowError):
        return None
    return stamps + offsets if len(stamps) and np.ptp(offsets) == 0 else stamps


def axis_of(times: np.ndarray, dates: bool, where: str) -> Axis:
    """The regular axis on which these increasing times lie, up to gaps; refused where there is none."""
    steps = np.diff(times)
    if dates:
        possible = (_regular(times, "second"), _working_days(times), _months(times))
        found = min((axis for axis in possible if axis is not None), key=lambda axis: axis.place[-1], default=None)
        if found is not None:  # the one with the fewest gaps
            return found._replace(with_clock=bool((times % DAY).any()))
    else:
        found = _regular(times, "number")
        if found is not None:
            return found
    sizes = f"from {_shown(steps.min(), dates)} to {_shown(steps.max(), dates)}"
    raise InputError(
        f"{where} is irregular, with steps {sizes}; give equal steps, or add --resample, which interpolates linearly."
    )


def _shown(step: float, dates: bool) -> str:
    return f"{step / DAY:.4g} days" if dates else f"{step:.4g}"


def _places(values: np.ndarray, step: float) -> np.ndarray | None:
    """Whole numbers of steps from the first value on, if all are near one, and gaps are not most of it."""
    exact = (values - values[0]) / step
    places = np.round(exact)
    if np.abs(exact - places).max() > NEAR * max(1.0, 1e-3 * places[-1]) or places[-1] > 3 * len(values) + 10:
        return None
    return places.astype(int) if (np.diff(places) > 0).all() else None


def _regular(times: np.ndarray, unit: str) -> Axis | None:
    steps = np.diff(times)
    for rough in (float(np.median(steps)), float(steps.min())):
        # One difference has lost digits that all of them together have.
        count = round((times[-1] - times[0]) / rough)
        places = _places(times, (times[-1] - times[0]) / max(count, 1))
        if places is not None:
            return Axis(places, unit, _tidy((times[-1] - times[0]) / places[-1]), float(times[0]))
    return None


def _tidy(step: float) -> float:
    """Without the last digits, where they are rounding."""
    short = float(f"{step:.9g}")
    return short if abs(short - step) < 1e-7 * abs(step) else step


def _working_days(times: np.ndarray) -> Axis | None:
    days = (times // DAY).astype("datetime64[D]")
    if (times % DAY).any() or not np.is_busday(days).all() or len(days) < 10:
        return None
    places = _places(np.busday_count(days[0], days).astype(float), 1.0)
    return None if places is None else Axis(places, "working day", 1.0, float(times[0]))


def _months(times: np.ndarray) -> Axis | None:
    days = (times // DAY).astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    day = (days - months).astype(int) + 1
    last = ((months + 1).astype("datetime64[D]") - days).astype(int) == 1
    if (times % DAY).any() or not (np.ptp(day) == 0 or last.all()):
        return None
    index = months.astype(int).astype(float)
    steps = np.diff(index)
    places = _places(index, float(np.median(steps))) if (steps > 0).all() else None
    if places is None:
        return None
    return Axis(places, "month", float(np.median(steps)), index[0] + (31 if last.all() else int(day[0])) / 100)
