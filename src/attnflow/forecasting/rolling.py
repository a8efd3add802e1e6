r"""Forecasts from a rolling origin: one fit on what came first, then roll-outs from many later moments.

A forecaster is fitted on the rows before the first origin. From each origin it is given the rows up to there and asked
for the next `horizon` ones. It is never fitted again, and it never sees a row after its origin. The first half of the
origins is there to choose with, as far as their rows end before the second half, which reports: so that a choice does
not see what it is judged by. Where a long horizon leaves no such origin, `overlapping` says so.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import number, whole
from ..errors import InputError, shown
from ..spaces import Numbers
from .gaps import table_with_gaps

Forecast = Callable[[np.ndarray, int], np.ndarray]
"""A function of the rows up to the origin, gaps as NaN, and a number of steps; fewer rows mean that it diverged."""


@dataclass(frozen=True)
class RollingOrigin:
    """Errors of forecasters at origins: `errors[name] (origin, lead, channel)`, infinite where a forecast diverged.

    `origins`: the number of rows known at each; `spread (channel,)`: the standard deviation before the first one;
    `chosen_with`: how many of the origins, the first ones, are there to choose with.
    """

    errors: dict[str, np.ndarray]
    origins: np.ndarray
    spread: np.ndarray
    chosen_with: int

    def nrmse(self, name: str, *, part: str = "report") -> float:
        """The root mean square of errors over channels' spreads: of all leads, at the origins of `part`.

        `part` is `"report"` or `"choice"`.
        """
        return float(_root_mean_square(self._part(name, part), None))

    def by_lead(self, name: str, *, part: str = "report") -> np.ndarray:
        """The same for each lead, `(horizon,)`."""
        return _root_mean_square(self._part(name, part), (0, 2))

    def rmse(self, name: str, *, part: str = "report") -> np.ndarray:
        """For each lead and channel, in the units of the series."""
        return _root_mean_square(self._part(name, part), 0) * self.spread

    def diverged(self, name: str) -> int:
        """At how many of all origins the forecast ended before the horizon."""
        return int(np.isinf(self.errors[name]).any(axis=(1, 2)).sum())

    def wins(self, name: str, other: str) -> int:
        """At how many origins of the report `name` has a smaller error than `other`."""
        ours, theirs = (self._part(one, "report") for one in (name, other))
        return sum(bool(_root_mean_square(a) < _root_mean_square(b)) for a, b in zip(ours, theirs, strict=True))

    @property
    def best(self) -> str:
        """The forecaster with the smallest error at the origins that are there to choose with."""
        return min(self.errors, key=lambda name: self.nrmse(name, part="choice"))

    @property
    def choosing(self) -> np.ndarray:
        """The origins that choose, by number: of the first half those whose rows end where the report begins.

        If there are none, all of the first half: their rows and those of the report overlap.
        """
        early = self.origins[: self.chosen_with]
        apart = np.flatnonzero(early + self.horizon <= self.origins[self.chosen_with])
        return apart if len(apart) else np.arange(self.chosen_with)

    @property
    def overlapping(self) -> bool:
        """Whether origins that choose forecast rows that the report counts, too."""
        return bool(self.origins[self.choosing[-1]] + self.horizon > self.origins[self.chosen_with])

    @property
    def horizon(self) -> int:
        return next(iter(self.errors.values())).shape[1]

    def _part(self, name: str, part: str) -> np.ndarray:
        if name not in self.errors:
            raise InputError(f"there is no forecaster {name!r}; there are {', '.join(self.errors)}.")
        if part not in ("choice", "report"):
            raise InputError(f"part = {shown(part)}; choose 'choice' or 'report'.")
        scaled = self.errors[name] / self.spread
        return scaled[self.choosing] if part == "choice" else scaled[self.chosen_with :]


def _root_mean_square(scaled: np.ndarray, axis: Any = None) -> Any:
    """Of what is known; NaN where nothing is."""
    known = ~np.isnan(scaled)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.sqrt(np.where(known, scaled**2, 0.0).sum(axis=axis) / known.sum(axis=axis))


def first_origin(n: int, horizon: int, held_out: float | int = 0.2) -> int:
    """How many rows come before the first origin: all but a share of them, or but three horizons if that is more.

    Of a short series half is left to fit with, as long as two horizons are held out.
    """
    return n - max(round(number("held_out", held_out, 0.0) * n), min(3 * horizon, n // 2), 2 * horizon)


def rolling_origin(
    forecasters: Mapping[str, Forecast], X: Numbers, horizon: int, *, first: int, origins: int = 20
) -> RollingOrigin:
    """Errors of each forecaster at `origins` moments, evenly spaced from row `first` to the last that leaves `horizon`.

    `X (n, d)` may have gaps as NaN, which no error counts. Forecasters are functions `(history, n_steps) -> rows`.
    """
    values = table_with_gaps("X", X)
    horizon, first, origins = whole("horizon", horizon), whole("first", first, 2), whole("origins", origins, 2)
    last = len(values) - horizon
    if last <= first:
        raise InputError(
            f"first = {first} and horizon = {horizon} leave no two origins in {len(values)} rows; shorten the horizon."
        )
    if not isinstance(forecasters, Mapping) or not forecasters:
        raise InputError(f"forecasters = {shown(forecasters)}; give functions (history, n_steps) by name.")
    places = np.unique(np.linspace(first, last, min(origins, last - first + 1)).round().astype(int))
    spread = np.nanstd(values[:first], axis=0)
    if not (spread > 0).all():
        raise InputError(f"a channel of X does not vary in the first {first} rows; leave it out.")
    errors = {}
    for name, forecast in forecasters.items():
        errors[name] = np.stack([_error(forecast(values[:k], horizon), values[k : k + horizon]) for k in places])
    return RollingOrigin(errors, places, spread, len(places) // 2)


def _error(rows: Any, true: np.ndarray) -> np.ndarray:
    """What a forecast is off by; infinite from where it ended, and no number where the truth has a gap."""
    rows = np.asarray(rows, float)
    full = np.full(true.shape, np.inf)
    full[: len(rows)] = np.where(np.isfinite(rows), rows, np.inf)[: len(true)]
    error = np.abs(full - true)
    return np.where(np.isnan(true), np.nan, error)
