"""`attnflow forecast`."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ._files import refuse_to_overwrite


def forecast(
    table: Annotated[Path, typer.Argument(metavar="FILE.csv", help="A table with a row for each time.")],
    delays: Annotated[int, typer.Option(min=1, help="Rows in the window that a forecast starts from.")],
    horizon: Annotated[int, typer.Option(min=1, help="Rows to forecast.")],
    time: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column of times (default: it is found).")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="A,B", help="The columns to forecast (default: all that hold numbers).")
    ] = None,
    model: Annotated[
        Literal["auto", "td-tf", "td-dmd", "persistence", "seasonal"],
        typer.Option(help="Whose forecast to write; auto: of the one with the smallest error at held-out origins."),
    ] = "auto",
    period: Annotated[
        int | None, typer.Option(min=2, help="Rows of a season (default: found from the autocorrelation).")
    ] = None,
    origins: Annotated[int, typer.Option(min=2, help="Held-out moments to forecast from.")] = 20,
    held_out: Annotated[float, typer.Option(help="Share of the rows that is held out for them.")] = 0.2,
    seeds: Annotated[int, typer.Option(min=1, help="Networks, of which the range is the uncertainty.")] = 3,
    steps: Annotated[int, typer.Option(min=1, help="Steps of training.")] = 3000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the networks.")] = 0,
    last: Annotated[int, typer.Option(min=2, help="Use the last so many rows at most.")] = 100_000,
    resample: Annotated[bool, typer.Option("--resample", help="Put irregular times on equal steps.")] = False,
    fill: Annotated[bool, typer.Option("--fill", help="Fill gaps by straight lines before fitting.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The forecast (default: FILE-forecast.csv beside the table).")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The report (default: FILE-forecast.html beside the forecast).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the forecast and the report.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON on standard output.")] = False,
) -> None:
    """Forecast a time series by a time-delayed transformer, and see whether that is worth it.

    The transformer (TD-TF) stands beside its linear counterpart (TD-DMD), the last value and the mean of the season:
    their errors on held-out tails, from a rolling origin, are in the table that is printed, and pictures in the report.
    The forecast has the range of all seeds (x_low, x_high), if the network makes it, and the error at each lead time
    that was measured on the held-out tail (x_rmse).

    Examples:

    [bold]attnflow forecast data.csv --delays 32 --horizon 100[/bold]

    [bold]attnflow forecast prices.csv --delays 24 --horizon 12 --time month --columns price --period 12[/bold]
    """
    out = table.with_name(f"{table.stem}-forecast.csv") if out is None else out
    report = out.with_suffix(".html") if report is None else report
    refuse_to_overwrite(out, force)
    refuse_to_overwrite(report, force)
    from ..floating_point import precision
    from ..forecasting import read_table, study, write_table
    from ..report import write_forecast_report

    precision("float64")
    chosen = None if columns is None else [name.strip() for name in columns.split(",")]
    series = read_table(table, time=time, columns=chosen, last=last, resample=resample)
    series = series.filled() if fill else series
    import jax

    made = study(
        series, delays, horizon, model=model, period=period, origins=origins, held_out=held_out, n_seeds=seeds,
        max_steps=steps, key=jax.random.key(seed), progress=_say,
    )  # fmt: skip
    names, values = _columns(made)
    write_table(out, made.series.times(horizon)[: len(values)], values, names, made.series.time_name or "time")
    given = {
        "delays": delays, "horizon": horizon, "time": time, "columns": columns, "model": model, "period": period,
        "origins": origins, "held-out": held_out, "seeds": seeds, "steps": steps, "seed": seed, "last": last,
        "resample": resample, "fill": fill,
    }  # fmt: skip
    write_forecast_report(report, made, _command(table, given))
    summary = _summary(made, table, out, report)
    print(json.dumps(summary, indent=1, ensure_ascii=False) if as_json else _text(summary))


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _command(table: Path, given: dict[str, Any]) -> str:
    """The command line that does it again."""
    import shlex

    words = ["attnflow", "forecast", str(table)]
    for name, value in given.items():
        if value is True:
            words.append(f"--{name}")
        elif value not in (None, False):
            words += [f"--{name}", str(value)]
    return shlex.join(words)


def _columns(made: Any) -> tuple[list[str], Any]:
    """The columns of the forecast: of each channel its value, the range of seeds, and the error of that lead."""
    import numpy as np

    names, columns, count = [], [], len(made.forecast)
    rmse = np.nan_to_num(made.rmse[:count], nan=0.0, posinf=0.0)
    told = np.isfinite(made.rmse[:count]).all(axis=0)
    for k, name in enumerate(made.series.names):
        names.append(name)
        columns.append(made.forecast[:, k])
        if made.low is not None:
            names += [f"{name}_low", f"{name}_high"]
            columns += [made.low[:, k], made.high[:, k]]
        if told[k]:
            names.append(f"{name}_rmse")
            columns.append(rmse[:, k])
    return names, np.stack(columns, axis=1)


def _summary(made: Any, table: Path, out: Path, report: Path) -> dict[str, Any]:
    from ..json_values import plain

    comparison = made.comparison
    rows = [
        {
            "model": name,
            "nrmse": plain(comparison.nrmse(name)),
            "first_step": plain(float(comparison.by_lead(name)[0])),
            "last_step": plain(float(comparison.by_lead(name)[-1])),
            "diverged": comparison.diverged(name),
        }
        for name in comparison.errors
    ]
    series = made.series
    return {
        "table": str(table),
        "rows": len(series),
        "columns": list(series.names),
        "time": series.time_name or None,
        "step": series.axis.words,
        "gaps": series.gaps,
        "delays": made.n_delays,
        "horizon": made.horizon,
        "period": made.period,
        "origins": {"choice": len(comparison.choosing), "report": len(comparison.origins) - comparison.chosen_with},
        "models": rows,
        "verdict": made.verdict,
        "model": made.model,
        "forecast": str(out),
        "forecast_rows": len(made.forecast),
        "report": str(report),
        "notes": list(made.notes),
    }


def _text(summary: dict[str, Any]) -> str:
    columns = summary["columns"]
    few = ", ".join(columns[:6]) + (f" and {len(columns) - 6} more" if len(columns) > 6 else "")
    time = f"time in column {summary['time']!r}, step {summary['step']}" if summary["time"] else "rows are counted"
    lines = [f"{summary['table']}: {summary['rows']} rows of {few}; {time}"]
    lines += [f"  {note}" for note in summary["notes"]]
    season = f"period {summary['period']} rows" if summary["period"] else "no period"
    lines += [
        "",
        f"errors over the spread of the series, from {summary['origins']['report']} held-out origins ({season}):",
        f"  {'':<14} {'all leads':>10} {'first':>10} {'last':>10}   diverged",
    ]
    for row in summary["models"]:
        numbers = (row["nrmse"], row["first_step"], row["last_step"])
        shown = " ".join(f"{_number(v, row['diverged']):>10}" for v in numbers)
        lines.append(f"  {row['model']:<14} {shown}   {row['diverged']}")
    lines += ["", summary["verdict"], ""]
    lines.append(f"forecast of {summary['forecast_rows']} rows by {summary['model']}: {summary['forecast']}")
    lines.append(f"report: {summary['report']}")
    return "\n".join(lines)


def _number(value: float | None, diverged: int) -> str:
    return ("infinite" if diverged else "unknown") if value is None else f"{value:.3g}"
