"""The report on a forecast: one HTML file with its pictures, its errors and what was done."""

import base64
import io
from importlib import resources
from pathlib import Path
from typing import Any

from ..files import write_atomically
from .references import references
from .text import e, number

TAIL = 4  # windows or horizons of the series that are shown before a forecast


def write_forecast_report(path: Path, study: Any, command: str) -> Path:
    """Write the report of an `attnflow.forecasting.ForecastStudy`."""
    return write_atomically(path, page(study, command))


def page(study: Any, command: str) -> str:
    """The report as text."""
    style = resources.files(__package__ or "attnflow.report").joinpath("style.css").read_text()
    title = f"Forecast of {_listed(study.series.names)}"
    figures = "\n".join(
        f'<figure><img src="{_embedded(figure)}" alt="{e(caption)}"><figcaption><b>Figure {i + 1}.</b> {e(caption)}'
        "</figcaption></figure>"
        for i, (figure, caption) in enumerate(_figures(study))
    )
    notes = "".join(f"<li>{e(note)}</li>" for note in study.notes)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>attnflow forecast: {e(title)}</title>
<style>
{style}
</style>
</head>
<body>
<header>
<p class="kicker">attnflow · forecast</p>
<h1>{e(title)}</h1>
<p class="verdict">{e(study.verdict)}</p>
</header>
<main>
<section>
{_data(study)}
{f"<ul>{notes}</ul>" if notes else ""}
<h3>Errors on the held-out tail</h3>
{_table(study)}
{figures}
<h3>Computation</h3>
<p>{_computation(study)}</p>
<pre>{e(command)}</pre>
{"".join(f'<p class="reference">{e(r.authors)}. <cite>{e(r.title)}</cite>. {e(r.place)}.</p>'
         for r in references("time-delayed"))}
</section>
</main>
<footer>
<p>A range of seeds says how much trainings differ, not how far the truth may be: for that, read the error at each lead
time, which was measured on held-out rows.</p>
</footer>
</body>
</html>
"""


def _listed(names: Any) -> str:
    few = ", ".join(names[:4])
    return few + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _data(study: Any) -> str:
    series = study.series
    times = series.times()
    when = f"from {times[0]} to {times[-1]}, step {series.axis.words}" if series.time_name else "without a time column"
    gaps = f"; {series.gaps} rows have gaps" if series.gaps else ""
    return f"<p>{len(series)} rows of {len(series.names)} column{'s'[: len(series.names) != 1]}, {e(when)}{gaps}.</p>"


def _table(study: Any) -> str:
    comparison = study.comparison
    leads = sorted({1, max(1, study.horizon // 4), max(1, study.horizon // 2), study.horizon})
    head = "".join(f"<th>lead {lead}</th>" for lead in leads)
    errors = {name: comparison.nrmse(name) for name in comparison.errors}
    rows = ""
    for name, error in errors.items():
        by_lead = comparison.by_lead(name)
        cells = "".join(f"<td class=num>{_error(by_lead[lead - 1])}</td>" for lead in leads)
        shown = f"<b>{_error(error)}</b>" if error == min(errors.values()) else _error(error)
        diverged = comparison.diverged(name)
        rows += f"<tr><td>{e(name)}</td><td class=num>{shown}</td>{cells}<td class=num>{diverged or '–'}</td></tr>"
    origins = len(comparison.origins) - comparison.chosen_with
    season = f"The season has {study.period} rows." if study.period else "No season was found: its mean is that of all."
    head = f"<th>forecaster</th><th>all leads</th>{head}<th>diverged</th>"
    return f"""<div class="wide"><table><thead><tr>{head}</tr></thead>
<tbody>{rows}</tbody></table></div>
<p class="note">Root mean square of errors over the standard deviation of each column before the first origin, at
{origins} origins; 1 is about what the mean would have. The {len(comparison.choosing)} origins before these
chose whose forecast is written. {season}</p>"""


def _error(value: float) -> str:
    return number(float(f"{value:.3g}")) if value < float("inf") else "∞"


def _computation(study: Any) -> str:
    model, rows = study.nonlinear, int(study.comparison.origins[0])
    if model.network_:
        part = "with" if model.linear_ else "without"
        about = f"the network of {model.n_parameters_} numbers, with the {model.loss_} loss and {part} a linear part,"
    else:
        about = f"TD-TF, here its linear part alone ({model.n_parameters_} numbers),"
    return (
        f"Windows of {study.n_delays} rows, a horizon of {study.horizon}. For the forecast, {about} and TD-DMD were "
        f"fitted on all rows; for the table both were fitted on the {rows} rows before the first origin, where TD-TF "
        "may have chosen otherwise (see the notes). Nothing was fitted again between origins."
    )


def _figures(study: Any) -> list[tuple[Any, str]]:
    """Pictures with their captions."""
    import numpy as np

    from ..forecasting import pictures

    series, horizon = study.series, study.horizon
    rows = np.arange(len(series))
    shown = min(len(series), max(TAIL * max(horizon, study.n_delays), 60))
    band = {} if study.low is None else {"low": study.low, "high": study.high}
    ahead = np.arange(len(series), len(series) + horizon)
    ts, label = _clock(series)
    drawn = [
        (
            pictures.forecast(
                ts(rows[-shown:]), series.values[-shown:], ts(ahead), {study.model: study.forecast},
                names=series.names, time_label=label, **band,
                error=np.where(np.isfinite(study.rmse), study.rmse, np.nan),
            ),
            f"The forecast, by {study.model}, with its error at each lead on held-out rows"
            + (" and the range of all seeds." if band else "."),
        )
    ]  # fmt: skip
    place, forecasts = study.example
    before = rows[max(0, place - shown // 2) : place]
    known = rows[place : place + horizon]
    drawn.append(
        (
            pictures.forecast(
                ts(before), series.values[before], ts(known), forecasts, names=series.names,
                held_out=series.values[known], time_label=label,
            ),
            "What the forecasters said at one held-out origin, the middle one of the report, and what came.",
        )
    )  # fmt: skip
    errors = {name: study.comparison.by_lead(name) for name in study.comparison.errors}
    drawn.append((pictures.error_growth(errors), "Errors on the held-out tail against the lead, in rows."))
    window = _window(study)
    eigs = getattr(study.linear, "eigs_", None)
    if eigs is not None:
        others = None if window is None else _quietly(study.nonlinear, "jacobian_eigs", window)
        drawn.append(
            (
                pictures.eigenvalues(np.asarray(eigs), others=others),
                "Eigenvalues of the step from window to window: of TD-DMD, and of the Jacobian of TD-TF at the last "
                "window. Outside the circle is growth.",
            )
        )
    drawable = window is not None and getattr(study.nonlinear, "network_", True)
    weights = None if not drawable else _quietly(study.nonlinear, "attention", _scaled(study))
    if weights is not None and np.ndim(weights) == 2 and np.shape(weights)[1] > 1:
        count = len(weights)
        drawn.append(
            (
                pictures.attention(np.asarray(weights), times=ts(rows[-count:])),
                "Attention of TD-TF against the lag, in rows, and along the series. It shows what this network looks "
                "at; another seed may look elsewhere and forecast as well.",
            )
        )
    return drawn


def _clock(series: Any) -> tuple[Any, str]:
    """Times of rows as numbers that people read, and what they are: years, days or hours where they are dates."""
    import numpy as np

    if not series.time_name or series.axis.unit == "number":
        return series.axis.numbers, series.time_name or "row"

    def days(places: Any) -> Any:
        return np.array(series.axis.times(places), "datetime64[ms]").astype(float) / 86400e3

    first, last = days(np.array([0, len(series) - 1]))
    if last - first > 3 * 365:
        return lambda places: 1970 + days(places) / 365.2425, "year"
    name, size = ("days", 1.0) if last - first > 3 else ("hours", 1 / 24)
    return lambda places: (days(places) - first) / size, f"{name} since {series.times()[0]}"


def _scaled(study: Any) -> Any:
    """The series as the models saw it, its last part without gaps."""
    parts = study.series.stretches()
    values = study.series.values
    import numpy as np

    return (parts[-1] - np.nanmean(values, axis=0)) / np.nanstd(values, axis=0)


def _window(study: Any) -> Any:
    rows = _scaled(study)
    return rows[-study.n_delays :] if len(rows) >= study.n_delays else None


def _quietly(model: Any, method: str, values: Any) -> Any:
    """What a method of the network says, None if it has no such method."""
    import numpy as np

    return np.asarray(getattr(model, method)(values)) if hasattr(model, method) else None


def _embedded(figure: Any) -> str:
    from ..plot import style

    data = io.BytesIO()
    with style():
        figure.savefig(data, format="png", dpi=150, metadata={})
    return f"data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}"
