"""One time series, forecast: both models and two baselines on held-out tails, then a forecast from the end."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import jax
import numpy as np

from ..checks import number, whole
from ..errors import AttnflowWarning, InputError, shown
from .baselines import persistence, season_of, seasonal_mean
from .rolling import RollingOrigin, first_origin, rolling_origin
from .tables import TimeSeries
from .td_dmd import TDDMD
from .transformer import TimeDelayedTransformer

NONLINEAR, LINEAR, PERSISTENCE, SEASON = "TD-TF", "TD-DMD", "persistence", "seasonal mean"
Choice = Literal["auto", "td-tf", "td-dmd", "persistence", "seasonal"]
CHOICES: dict[str, str] = {"td-tf": NONLINEAR, "td-dmd": LINEAR, "persistence": PERSISTENCE, "seasonal": SEASON}


@dataclass(frozen=True)
class ForecastStudy:
    """A forecast of a series, and what is known of its error.

    `forecast (k, channel)`: rows after the last one, fewer than the horizon where the forecast diverged; by `model`.
    `low`, `high`: the range of seeds where the model has several, else None. `rmse (horizon, channel)`: the error of
    this model at each lead time on the held-out tail. `others`: the forecasts of all models. `comparison`: errors at
    rolling origins. `example`: the row of one origin of the report, with all forecasts from it. `has_network`: whether
    the nonlinear model that was compared chose to have a network, and not its linear part alone. `notes`: sentences.
    """

    series: TimeSeries
    horizon: int
    n_delays: int
    period: int | None
    model: str
    comparison: RollingOrigin
    forecast: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    others: dict[str, np.ndarray]
    example: tuple[int, dict[str, np.ndarray]]
    linear: Any = field(repr=False)
    nonlinear: Any = field(repr=False)
    has_network: bool = True
    notes: tuple[str, ...] = ()

    @property
    def rmse(self) -> np.ndarray:
        return self.comparison.rmse(self.model)

    @property
    def verdict(self) -> str:
        """Whether the nonlinear model is worth it, by the origins that nothing was chosen with."""
        error = {name: self.comparison.nrmse(name) for name in self.comparison.errors}
        best = min(error, key=lambda name: error[name])
        origins = len(self.comparison.origins) - self.comparison.chosen_with
        if not np.isfinite(error[best]):
            return "Every forecaster diverged on the held-out tail; take a shorter horizon, or fewer delays."
        if best == NONLINEAR and not self.has_network:
            best = LINEAR
        rest = ", ".join(f"{name} {error[name]:.3g}" for name in sorted(error, key=lambda n: error[n]) if name != best)
        if best == NONLINEAR:
            second = min((n for n in error if n != best), key=lambda name: error[name])
            wins = self.comparison.wins(best, second)
            return (
                f"{NONLINEAR} has the smallest error on the held-out tail, NRMSE {error[best]:.3g} ({rest}); it is "
                f"better than {second} at {wins} of {origins} origins."
            )
        return (
            f"{best} has the smallest error on the held-out tail, NRMSE {error[best]:.3g} ({rest}): the nonlinear "
            "model is not worth it here."
        )


def study(
    series: TimeSeries,
    n_delays: int,
    horizon: int,
    *,
    model: Choice = "auto",
    period: int | None = None,
    origins: int = 20,
    held_out: float | int = 0.2,
    n_seeds: int = 3,
    max_steps: int = 3000,
    linear_skip: bool | Literal["auto"] = "auto",
    key: jax.Array | None = None,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> ForecastStudy:
    """Forecast `horizon` rows of a series, and compare forecasters on its held-out tail.

    Models are fitted on the rows before the last `held_out` share, and roll out from `origins` moments in it; the first
    half of these origins chooses the model if `model="auto"`, errors are reported on the second half. Then the models
    are fitted again on all rows. `period`, in rows, is found from the autocorrelation if it is not given. Gaps divide
    the series for fitting; in the rows before an origin they are filled from the past. Further options go to
    `TimeDelayedTransformer`.
    """
    if not isinstance(series, TimeSeries):
        raise InputError(f"series = {shown(series)} is no TimeSeries; read_table gives one.")
    n_delays, horizon = whole("n_delays", n_delays), whole("horizon", horizon)
    if model != "auto" and model not in CHOICES:
        raise InputError(f"model = {shown(model)} is unknown; choose auto, {', '.join(CHOICES)}.")
    origins = whole("origins", origins, 2)
    if not 0 < number("held_out", held_out) < 1:
        raise InputError(f"held_out = {held_out:g} must be between 0 and 1, a share of the rows.")
    series, notes = _varying(series)
    values = series.values
    first = first_origin(len(values), horizon, held_out)
    needed = n_delays + 2
    if first < needed or max((len(part) for part in _stretches(values[: max(first, 0)])), default=0) < needed:
        gaps = " without gaps" if series.gaps else ""
        raise InputError(
            f"the series has {len(values)} rows; with {n_delays} delays and a horizon of {horizon} the first "
            f"{max(first, 0)} are to fit with, and {needed} of them in a row{gaps} are needed: take fewer delays, "
            "a shorter horizon, or hold less out."
        )
    if period is None:
        period = season_of(values[:first])
    else:
        period = whole("period", period, 2, first)
    say = progress or (lambda sentence: None)

    def fitted(rows: np.ndarray) -> tuple[_Scaled, _Scaled]:
        scale = _Scale.of(rows)
        parts = [scale.down(part) for part in _stretches(rows) if len(part) >= needed]
        linear = TDDMD(n_delays).fit(parts)
        network = TimeDelayedTransformer(
            n_delays, n_seeds=n_seeds, max_steps=max_steps, linear_skip=linear_skip,
            key=jax.random.key(0) if key is None else key, **options,
        )  # fmt: skip
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", AttnflowWarning)
            network.fit(parts)
        for one in told:
            sentence = f"{NONLINEAR}: {str(one.message).rstrip('.')}"
            if issubclass(one.category, AttnflowWarning) and sentence not in notes:
                notes.append(sentence)
        return _Scaled(linear, scale, n_delays), _Scaled(network, scale, n_delays)

    say("fitting on the rows before the held-out tail")
    linear, nonlinear = fitted(values[:first])
    forecasters = {
        NONLINEAR: nonlinear.forecast,
        LINEAR: linear.forecast,
        PERSISTENCE: persistence,
        SEASON: lambda history, n_steps: seasonal_mean(history, n_steps, period),
    }
    comparison = rolling_origin(forecasters, values, horizon, first=first, origins=origins)
    if np.isnan([comparison.nrmse(NONLINEAR, part=part) for part in ("choice", "report")]).any():
        raise InputError("half of the held-out tail is all gaps, so no forecast can be judged; hold more back.")
    place = int(comparison.origins[(comparison.chosen_with + len(comparison.origins)) // 2])
    example = place, {name: one(values[:place], horizon) for name, one in forecasters.items()}
    has_network = nonlinear.model.network_
    notes += _choice_of(nonlinear.model)
    say("fitting on all rows")
    linear, nonlinear = fitted(values)
    forecasters |= {NONLINEAR: nonlinear.forecast, LINEAR: linear.forecast}
    others = {name: one(values, horizon) for name, one in forecasters.items()}
    name = comparison.best if model == "auto" else CHOICES[model]
    if model == "auto" and comparison.overlapping:
        notes.append(
            "the origins that chose forecast rows that the report counts, too, so the error of what was chosen may be "
            "too small; hold more rows back, or take a shorter horizon"
        )
    low = high = None
    if name == NONLINEAR and n_seeds > 1 and nonlinear.model.network_:
        low, high = nonlinear.range(values, horizon)
        made = others[name]
        low, high = np.fmin(low[: len(made)], made), np.fmax(high[: len(made)], made)
    if not np.isfinite(comparison.rmse(name)).all():
        notes.append(f"{name} diverged, or nothing is known, at some held-out leads: a column of errors is left out")
    if len(others[name]) < horizon:
        notes.append(f"the forecast of {name} diverged after {len(others[name])} of {horizon} rows and ends there")
    for one in (NONLINEAR, LINEAR):
        many = comparison.diverged(one)
        if many:
            notes.append(f"{one} diverged from {many} of {len(comparison.origins)} origins")
    if np.isnan(values[-n_delays:]).any():
        notes.append("the last window has gaps, which were filled from the past")
    return ForecastStudy(
        series, horizon, n_delays, period, name, comparison, others[name], low, high, others, example,
        linear.model, nonlinear.model, has_network, (*series.notes, *notes),
    )  # fmt: skip


def _choice_of(network: Any) -> list[str]:
    """What the network chose by roll-outs inside its training rows."""
    chosen = [row["candidate"] for row in network.selection_ if row["chosen"]]
    return [f"{NONLINEAR} chose, inside its training rows: {chosen[0]}"] if chosen else []


def _varying(series: TimeSeries) -> tuple[TimeSeries, list[str]]:
    """Without columns that are constant."""
    values = series.values
    if np.isnan(values).all(axis=0).any():
        raise InputError("a column has no numbers; leave it out.")
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    if not (np.maximum(abs(low), abs(high)) < 1e100).all():
        raise InputError("a column has numbers above 1e100, whose squares overflow; give it in another unit.")
    # A column of one number and rounding is constant, too.
    varies = high - low > 1e-12 * np.maximum(abs(low), abs(high))
    if not varies.any():
        raise InputError("every column is constant; there is nothing to forecast.")
    names = [name for name, keep in zip(series.names, varies, strict=True) if keep]
    left = [f"{n!r} ({v:g})" for n, v, keep in zip(series.names, low, varies, strict=True) if not keep]
    notes = [f"constant columns are left out: {', '.join(left)}"] if left else []
    return replace(series, values=values[:, varies], names=tuple(names)), notes


def _stretches(values: np.ndarray) -> list[np.ndarray]:
    """The parts without gaps."""
    known = ~np.isnan(values).any(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(int)))
    return [values[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]


@dataclass(frozen=True)
class _Scale:
    """Means and standard deviations of the rows that a model is fitted on."""

    mean: np.ndarray
    std: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray) -> "_Scale":
        std = np.nanstd(rows, axis=0)
        if not (std > 0).all():
            raise InputError(f"a column does not vary in the first {len(rows)} rows; leave it out with --columns.")
        return cls(np.nanmean(rows, axis=0), std)

    def down(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.mean) / self.std

    def up(self, rows: np.ndarray) -> np.ndarray:
        return rows * self.std + self.mean


@dataclass(frozen=True)
class _Scaled:
    """A fitted model of scaled rows, as a function of rows."""

    model: Any
    scale: _Scale
    n_delays: int

    def forecast(self, history: np.ndarray, n_steps: int) -> np.ndarray:
        with warnings.catch_warnings():  # that a forecast diverged is told once, in the notes
            warnings.simplefilter("ignore", AttnflowWarning)
            return self._forecast(history, n_steps)

    def _forecast(self, history: np.ndarray, n_steps: int) -> np.ndarray:
        return self.scale.up(np.asarray(self.model.forecast(n_steps, x0=self._window(history))))

    def range(self, history: np.ndarray, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest of all seeds that have not diverged."""
        runs = self.scale.up(np.asarray(self.model.forecast_ensemble(n_steps, x0=self._window(history))))
        return np.nanmin(runs, axis=0), np.nanmax(runs, axis=0)

    def _window(self, history: np.ndarray) -> np.ndarray:
        """The last rows, with gaps filled by lines, and after its last value of a column by that value."""
        rows = np.arange(len(history))[-4 * self.n_delays :]
        window = history[rows]
        if np.isnan(window).any():
            window = np.stack([_filled(column) for column in window.T], axis=1)
        return self.scale.down(window[-self.n_delays :])


def _filled(column: np.ndarray) -> np.ndarray:
    known = ~np.isnan(column)
    if not known.any():
        raise InputError("a gap is longer than four windows; take another part of the series, or fewer columns.")
    rows = np.arange(len(column))
    return np.interp(rows, rows[known], column[known])
