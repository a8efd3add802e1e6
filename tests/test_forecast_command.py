"""`attnflow forecast`: from a CSV to a forecast with its uncertainty, a table of errors and a report."""

import base64
import json
import re

import numpy as np
import pytest

from attnflow import forecasting as fc
from attnflow.errors import AttnflowWarning, InputError
from attnflow.forecasting import read_table, study, systems, write_table

QUICK = ("--steps", "120", "--seeds", "2", "--origins", "6")
ROWS = 300
SMALL = {"n_seeds": 2, "max_steps": 60, "linear_skip": False, "loss": "plain"}  # of one shape: they share a program


def signal():
    """Two tones on a slope, and a column that is a tone alone: nearly linear, with a season of 20 rows."""
    k = np.arange(ROWS)
    x = np.sin(2 * np.pi * k / 20) + 0.2 * np.sin(0.7 * k) + 0.002 * k
    return np.column_stack([x, 3 + np.cos(2 * np.pi * k / 20)])


@pytest.fixture
def table(tmp_path):
    days = np.datetime64("2023-01-01") + np.arange(ROWS)
    return write_table(tmp_path / "data.csv", [str(d) for d in days], signal(), ["x", "y"], "day")


def test_a_table_is_forecast(call, table):
    code, out, err = call("forecast", table, "--delays", "8", "--horizon", "20", *QUICK, "--model", "td-tf", "--json")
    assert code == 0, err
    summary = json.loads(out)
    assert summary["columns"] == ["x", "y"] and summary["time"] == "day" and summary["step"] == "1 day"
    assert summary["period"] == 20 and summary["origins"] == {"choice": 1, "report": 3}
    errors = {row["model"]: row["nrmse"] for row in summary["models"]}
    assert set(errors) == {"TD-TF", "TD-DMD", "persistence", "seasonal mean"}
    assert errors["TD-DMD"] < 1e-6 and errors["persistence"] > 0.5
    made = read_table(summary["forecast"])
    assert made.names[0] == "x" and {"x", "x_rmse", "y", "y_rmse"} <= set(made.names)
    assert made.times()[0] == str(np.datetime64("2023-01-01") + ROWS) and len(made) == 20
    k = np.arange(ROWS, ROWS + 20)
    true = np.sin(2 * np.pi * k / 20) + 0.2 * np.sin(0.7 * k) + 0.002 * k
    # The network chose its linear part alone, from roll-outs inside its training rows.
    assert np.abs(made.values[:, 0] - true).max() < 1e-4
    assert any("linear part alone" in note for note in summary["notes"])
    assert "not worth it" in summary["verdict"]
    page = (table.parent / "data-forecast.html").read_text()
    pictures = re.findall(r"base64,([A-Za-z0-9+/=]+)", page)
    assert len(pictures) >= 4 and all(base64.b64decode(p).startswith(b"\x89PNG") for p in pictures)
    assert summary["verdict"] in page and "2602.08478" in page and str(table) in page
    code, _, err = call("forecast", table, "--delays", "8", "--horizon", "20", *QUICK)
    assert code == 2 and "already there" in err and len(err.splitlines()) == 1


def test_the_range_of_seeds_holds_the_forecast(tmp_path):
    write_table(tmp_path / "x.csv", [str(k) for k in range(ROWS)], signal(), ["x", "y"])
    series = read_table(tmp_path / "x.csv")
    made = study(series, 8, 10, model="td-tf", origins=4, **SMALL)
    assert made.model == "TD-TF" and made.has_network and made.low is not None
    assert (made.low <= made.forecast).all() and (made.forecast <= made.high).all() and (made.low < made.high).any()
    assert made.rmse.shape == (10, 2) and made.others.keys() == made.comparison.errors.keys()
    # What a forecaster is asked at an origin depends on the rows before it alone.
    place, example = made.example
    np.testing.assert_array_equal(example["persistence"], np.repeat(series.values[place - 1 : place], 10, axis=0))


def test_the_choice_never_sees_the_report(monkeypatch, tmp_path):
    """Noise in the last rows, which only origins of the report see, changes the report and not the choice."""
    from attnflow.forecasting import rolling

    rng, X = np.random.default_rng(0), signal()
    made = []
    for spoilt in (X, np.concatenate([X[:281], X[281:] + 50 * rng.normal(size=(19, 2))])):
        forecasters = {"last": fc.baselines.persistence, "mean": lambda h, n: fc.baselines.seasonal_mean(h, n, None)}
        made.append(rolling.rolling_origin(forecasters, spoilt, 10, first=240, origins=10))
    assert made[0].chosen_with == 5 and made[0].origins[4] + 10 <= 281
    assert made[0].nrmse("last", part="choice") == made[1].nrmse("last", part="choice")
    assert made[0].best == made[1].best and made[0].nrmse("last") < made[1].nrmse("last")


def test_rows_that_the_report_counts_choose_nothing():
    """Where the horizon is longer than the distance of origins, those that choose end before the report begins."""
    from attnflow.forecasting import rolling

    rng, X = np.random.default_rng(0), signal()
    forecasters = {"last": fc.baselines.persistence, "mean": lambda h, n: fc.baselines.seasonal_mean(h, n, None)}
    made = rolling.rolling_origin(forecasters, X, 20, first=230, origins=10)
    report = int(made.origins[made.chosen_with])
    assert not made.overlapping and 0 < len(made.choosing) < made.chosen_with
    spoilt = np.concatenate([X[:report], X[report:] + 50 * rng.normal(size=(len(X) - report, 2))])
    again = rolling.rolling_origin(forecasters, spoilt, 20, first=230, origins=10)
    assert again.nrmse("last", part="choice") == made.nrmse("last", part="choice")
    assert rolling.rolling_origin(forecasters, X, 60, first=200, origins=10).overlapping


def test_gaps_divide_the_rows_for_fitting(tmp_path):
    rows = signal()
    text = [["day", "x", "y", "site"]]
    for k, (x, y) in enumerate(rows):
        if k != 150:  # a day is missing
            missing = k in (90, ROWS - 3)
            text.append([str(np.datetime64("2023-01-01") + k), "" if missing else repr(float(x)), repr(float(y)), "A"])
    path = tmp_path / "gaps.csv"
    path.write_text("\n".join(";".join(row).replace(".", ",") for row in text))
    series = read_table(path)
    assert series.gaps == 3 and len(series) == ROWS
    made = study(series, 8, 10, origins=6, model="td-dmd", **SMALL)
    k = np.arange(ROWS, ROWS + 10)
    assert np.abs(made.forecast[:, 1] - (3 + np.cos(2 * np.pi * k / 20))).max() < 0.2  # one gap in the last window
    assert any("last window has gaps" in note for note in made.notes)
    assert made.comparison.nrmse("TD-DMD") < 0.1


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        ("t,x\n" + "".join(f"{k},{k % 3}\n" for k in range(12)), (), "12 rows; with 8 delays .* fewer delays"),
        ("t,x\n" + "".join(f"{k},5\n" for k in range(99)), (), "every column is constant"),
        ("t,x\n" + "".join(f"{k * k},{k % 3}\n" for k in range(99)), (), "irregular"),
        ("a,b\nred,one\nblue,two\n", (), "no column of numbers"),
        ("t,x\n" + "".join(f"{k},{k % 3}\n" for k in range(99)), ("--columns", "z"), "no column 'z'"),
        ("t,x\n" + "".join(f"{k},{k % 3}\n" for k in range(99)), ("--held-out", "1.5"), "between 0 and 1"),
        ("t,x\n" + "".join(f"{k},{k % 3}\n" for k in range(99)), ("--period", "99"), "period"),
    ],
)  # fmt: skip
def test_bad_tables_are_one_sentence(call, tmp_path, text, options, sentence):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    if "irregular" in sentence:
        options = ("--time", "t")
    code, out, err = call("forecast", path, "--delays", "8", "--horizon", "5", *QUICK, *options)
    assert code == 2 and out == ""
    last = err.strip().splitlines()[-1]
    assert last.startswith("attnflow: ") and re.search(sentence, last)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.csv"]  # nothing half-written


def test_constant_columns_are_left_out(tmp_path):
    rows = np.column_stack([signal(), np.full(ROWS, 7.0)])
    series = read_table(write_table(tmp_path / "c.csv", [str(k) for k in range(ROWS)], rows, ["x", "y", "level"]))
    made = study(series, 8, 10, origins=4, model="persistence", **SMALL)
    assert made.series.names == ("x", "y") and any("'level' (7)" in note for note in made.notes)
    assert made.forecast.shape == (10, 2) and made.low is None


def test_a_forecast_that_diverges_says_so(tmp_path):
    """A growing oscillation: TD-DMD follows it until the guard stops it, and no file holds a number that is none."""
    k = np.arange(200)
    rows = (1.08**k)[:, None] * np.column_stack([np.sin(0.5 * k), np.cos(0.5 * k)])
    series = read_table(write_table(tmp_path / "g.csv", [str(i) for i in k], rows, ["x", "y"]))
    made = study(series, 8, 95, origins=4, model="td-dmd", held_out=0.1, **SMALL)
    assert len(made.forecast) < 95 and np.isfinite(made.forecast).all()
    assert any(f"diverged after {len(made.forecast)} of 95 rows" in note for note in made.notes)
    with pytest.warns(AttnflowWarning, match="diverged"):
        rows = fc.TDDMD(4).fit(series.values).forecast(2000)
    assert len(rows) < 2000 and np.isfinite(rows).all()


def test_the_study_refuses_what_is_no_series(as_users_run):
    with pytest.raises(InputError, match="read_table gives one"):
        study(systems.two_tone(50), 4, 5)  # pyright: ignore[reportArgumentType]
