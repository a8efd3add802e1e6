"""CSV files as people have them: every one gives a sound series or one sentence."""

import os
import tracemalloc

import numpy as np
import pytest

from attnflow.errors import FileError, InputError
from attnflow.forecasting import read_table, write_table

DAYS = np.datetime64("2024-01-30") + np.arange(40)


def write(tmp_path, text, name="data.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding) if isinstance(text, str) else text)
    return path


def lines(*rows):
    return "\n".join(rows) + "\n"


def refused(tmp_path, text, match, **options):
    with pytest.raises(InputError, match=match) as caught:
        read_table(write(tmp_path, text), **options)
    sentence = str(caught.value)
    assert sentence.endswith(".") and "\n" not in sentence
    return sentence


# How tables are written ----------------------------------------------------------------------------------------------

PLAIN = {
    "comma": "time,a,b\n0,1.5,2\n0.5,2.5,3\n1,3.5,4\n",
    "no header": "0,1.5,2\n0.5,2.5,3\n1,3.5,4\n",
    "tab": "time\ta\tb\n0\t1.5\t2\n0.5\t2.5\t3\n1\t3.5\t4\n",
    "blanks": "time a b\n0   1.5 2\n0.5 2.5  3\n1   3.5 4\n",
    "bar": "time|a|b\n0|1.5|2\n0.5|2.5|3\n1|3.5|4\n",
    "european": "Zeit;a;b\n0;1,5;2\n0,5;2,5;3\n1;3,5;4\n",
    "quoted comma": 'time,a,b\n0,"1.5",2\n0.5,"2.5",3\n1,"3.5",4\n',
    "windows": "time,a,b\r\n0,1.5,2\r\n0.5,2.5,3\r\n1,3.5,4\r\n",
    "comments and empty lines": "# of a sensor\n\ntime,a,b\n0,1.5,2\n\n0.5,2.5,3\n1,3.5,4\n\n",
    "a separator at the end": "time;a;b;\n0;1.5;2;\n0.5;2.5;3;\n1;3.5;4;\n",
    "new to old": "time,a,b\n1,3.5,4\n0.5,2.5,3\n0,1.5,2\n",
}


@pytest.mark.parametrize("how", PLAIN)
def test_the_same_table_in_many_hands(tmp_path, how):
    series = read_table(write(tmp_path, PLAIN[how]))
    np.testing.assert_array_equal(series.values, [[1.5, 2], [2.5, 3], [3.5, 4]])
    np.testing.assert_array_equal(series.ts, [0, 0.5, 1])
    assert series.dt == 0.5 and series.times(2) == ["1.5", "2"]
    if how != "no header":
        assert series.names == ("a", "b")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings(tmp_path, encoding):
    series = read_table(write(tmp_path, "Größe;Maß\n1,5;2\n2,5;3\n", encoding=encoding))
    assert series.names == ("Größe", "Maß") and series.values[1, 0] == 2.5


def test_thousands_and_decimal_commas(tmp_path):
    series = read_table(write(tmp_path, "t;Preis\n1;1.234,50\n2;12.345.678,25\n3;-0,5\n"))
    assert series.values[:, 0].tolist() == [1234.5, 12345678.25, -0.5]
    assert any("comma" in note for note in series.notes)
    american = read_table(write(tmp_path, 't,price\n1,"1,234.5"\n2,"12,345,678"\n'))
    assert american.values[:, 0].tolist() == [1234.5, 12345678.0]


def test_a_decimal_comma_between_commas_is_refused(tmp_path):
    sentence = refused(tmp_path, "value\n1,5\n2,5\n3,5\n", "separate columns by semicolons")
    assert "2 cells" in sentence


def test_one_column_without_times(tmp_path):
    series = read_table(write(tmp_path, lines("x", *map(str, range(5)))))
    assert series.names == ("x",) and series.time_name == "" and series.times(1) == ["5"]
    bare = read_table(write(tmp_path, lines(*map(str, range(5)))))
    assert bare.names == ("1",) and len(bare) == 5


# Times ---------------------------------------------------------------------------------------------------------------

DATES = {
    "iso": [str(d) for d in DAYS],
    "with a clock": [f"{d} 12:00:00" for d in DAYS],
    "zone": [f"{d}T12:00:00+02:00" for d in DAYS],
    "german": [f"{str(d)[8:]}.{str(d)[5:7]}.{str(d)[:4]}" for d in DAYS],
    "american": [f"{str(d)[5:7]}/{str(d)[8:]}/{str(d)[:4]}" for d in DAYS],
    "british": [f"{str(d)[8:]}/{str(d)[5:7]}/{str(d)[:4]}" for d in DAYS],
}


@pytest.mark.parametrize("how", DATES)
def test_dates(tmp_path, how):
    series = read_table(write(tmp_path, lines("when,x", *(f"{d},{k}" for k, d in enumerate(DATES[how])))))
    assert series.time_name == "when" and series.names == ("x",) and series.axis.words == "1 day"
    assert series.times(2)[0][:10] == "2024-03-10"


def test_months_quarters_month_ends_and_working_days(tmp_path):
    months = [f"{2000 + k // 12}-{k % 12 + 1:02d}-01" for k in range(30)]
    series = read_table(write(tmp_path, lines("date,x", *(f"{d},{k}" for k, d in enumerate(months)))))
    assert series.axis.words == "1 month" and series.times(1) == ["2002-07-01"]
    ends = [str(np.datetime64(f"{m[:7]}") + 1)[:7] + "-01" for m in months]
    ends = [str(np.datetime64(e) - 1) for e in ends]
    series = read_table(write(tmp_path, lines("date,x", *(f"{d},{k}" for k, d in enumerate(ends)))))
    assert series.times(1) == ["2002-07-31"] and series.times()[1] == "2000-02-29"
    quarters = months[::3]
    series = read_table(write(tmp_path, lines("date,x", *(f"{d},{k}" for k, d in enumerate(quarters)))))
    assert series.axis.words == "3 months" and series.times(1) == ["2002-07-01"]
    short = read_table(write(tmp_path, lines("date,x", *(f"{d[:7]},{k}" for k, d in enumerate(months)))))
    assert short.times(1) == ["2002-07-01"]
    work = [str(d) for d in DAYS if np.is_busday(d)]
    del work[7]  # a holiday
    series = read_table(write(tmp_path, lines("date,x", *(f"{d},{k}" for k, d in enumerate(work)))))
    assert series.axis.words == "1 working day" and series.gaps == 1
    assert series.times(1) == [str(np.busday_offset(work[-1], 1))]


def test_a_time_column_is_found_or_named(tmp_path):
    text = "station,year,x\nA,1,5\nA,2,6\nA,3,9\n"
    series = read_table(write(tmp_path, text))
    assert series.time_name == "year" and series.names == ("x",) and any("'station'" in note for note in series.notes)
    named = read_table(write(tmp_path, "step,x\n10,5\n12,6\n14,9\n"), time="step")
    assert named.dt == 2 and named.names == ("x",)
    unnamed = read_table(write(tmp_path, "step,x\n10,5\n12,6\n14,9\n"))
    assert unnamed.names == ("step", "x")  # not called a time: it may be data
    pandas = read_table(write(tmp_path, ",x\n0,5\n1,6\n2,9\n"))
    assert pandas.names == ("x",)
    refused(tmp_path, text, "no column 'when' for the time; it has 'station', 'year', 'x'", time="when")
    refused(tmp_path, text, "'A', which is no time", time="station")


def test_gaps(tmp_path):
    series = read_table(write(tmp_path, "t,x,y\n0,1,1\n1,,2\n2,NA,3\n3,4,inf\n5,6,5\n"))
    assert np.isnan(series.values[:, 0]).tolist() == [False, True, True, False, True, False]
    assert series.gaps == 4 and [len(part) for part in series.stretches()] == [1, 1]
    assert any("1 time is missing" in n for n in series.notes) and any("1 infinite" in n for n in series.notes)
    filled = series.filled()
    assert filled.values[:, 0].tolist() == [1, 2, 3, 4, 5, 6] and filled.gaps == 0


def test_irregular_times(tmp_path):
    text = lines("t,x", *(f"{k + 0.3 * (k % 3)},{k}" for k in range(12)))
    refused(tmp_path, text, r"irregular, with steps from 0\.4 to 1\.3; give equal steps, or add --resample")
    series = read_table(write(tmp_path, text), resample=True)
    assert np.ptp(np.diff(series.ts)) < 1e-12 and any("interpolated" in n for n in series.notes)
    refused(tmp_path, "time,x\n0,1\n1,2\n1,3\n", "row 2 of the data occurs twice")
    refused(tmp_path, "t,x\n0,1\n2,2\n1,3\n", "followed by an earlier one", time="t")
    refused(tmp_path, "day,x\n01/02/2020,1\n01/03/2020,2\n01/04/2020,4\n", "day or month comes first")


# What cannot be used -------------------------------------------------------------------------------------------------


def test_text_is_left_out_or_refused(tmp_path):
    text = "t,x,colour\n0,1,red\n1,2,blue\n2,3,red\n"
    series = read_table(write(tmp_path, text))
    assert series.names == ("x",) and any("'colour' (text)" in note for note in series.notes)
    refused(tmp_path, text, "column 'colour' of .* holds 'red'", columns=["colour"])
    refused(tmp_path, text, "no column 'y'; it has", columns=["y"])
    refused(tmp_path, "t,x\n0,1\n1,two\n2,3\n3,4\n", r"holds 'two' \(row 2 of the data\), which is no number")
    refused(tmp_path, "name,colour\nA,red\nB,blue\n", "no column of numbers")


def test_columns_are_chosen_in_the_users_order(tmp_path):
    series = read_table(write(tmp_path, "t,x,y,z\n0,1,2,3\n1,4,5,6\n"), columns=["z", "x"])
    assert series.names == ("z", "x") and series.values.tolist() == [[3, 1], [6, 4]]


def test_what_is_no_table(tmp_path):
    refused(tmp_path, "", "has no rows")
    refused(tmp_path, "x\n1\n", "1 row; a series needs two")
    refused(tmp_path, b"\x89PNG\r\n\0\0\0", "is no text")
    refused(tmp_path, "a,b\n1,2\n3\n4,5\n", r"row of 1 cells \(row 3 of the file\)")
    refused(tmp_path, "x" * 3_000_000, "a line of more than")
    with pytest.raises(FileError, match=r"cannot read .*nothing"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(FileError, match="cannot read"):
        read_table(tmp_path)


# Files of any size ---------------------------------------------------------------------------------------------------


def test_of_a_large_file_the_end_is_read_in_bounded_memory(tmp_path):
    """A sparse file of 2 GB whose last rows are a table: the same code path, and neither time nor memory grow."""
    path = tmp_path / "large.csv"
    with open(path, "wb") as file:
        file.write(b"time,x\n" + b"".join(b"%d,%d\n" % (k, k % 7) for k in range(150_000)))
        file.truncate(2 * 2**30)  # zeros, which no disk block holds
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + b"".join(b"%d,%d\n" % (k, k % 7) for k in range(50_000)))
    tracemalloc.start()
    series = read_table(path, last=1000, most_bytes=200_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(series) == 1000 and series.ts[-1] == 49_999 and series.names == ("x",)
    assert peak < 8e6
    assert any("last 0.2 MB" in note for note in series.notes) and any("last 1000 of" in n for n in series.notes)


# Writing -------------------------------------------------------------------------------------------------------------


def test_what_is_written_is_read_again(tmp_path):
    values = np.random.default_rng(0).normal(size=(5, 2)) * 1e-7
    path = write_table(tmp_path / "out.csv", [f"2024-01-{k + 1:02d}" for k in range(5)], values, ["a", "b, c"], "day")
    series = read_table(path)
    np.testing.assert_array_equal(series.values, values)
    assert series.names == ("a", "b, c") and series.time_name == "day"
    with pytest.raises(InputError, match="a row for each of 4 times"):
        write_table(tmp_path / "out.csv", ["1"] * 4, values, ["a", "b"])


# Times and numbers that were read wrongly once -----------------------------------------------------------------------


def test_months_before_1970(tmp_path):
    rows = (f"{1949 + k // 12}-{k % 12 + 1:02d},{k * k}" for k in range(40))
    series = read_table(write(tmp_path, lines("Month,x", *rows)))
    assert series.times()[0] == "1949-01-01" and series.times()[-1] == "1952-04-01"


def test_german_thousands_without_decimals(tmp_path):
    series = read_table(write(tmp_path, lines("t;x", "0;1.102,50", "1;2.000", "2;1.104,50", "3;1.105,75")))
    assert series.values[:, 0].tolist() == [1102.5, 2000.0, 1104.5, 1105.75]


def test_days_in_one_number(tmp_path):
    days = [str(day).replace("-", "") for day in DAYS]
    series = read_table(write(tmp_path, lines("date,x", *(f"{day},{k % 7}" for k, day in enumerate(days)))))
    assert not series.gaps and series.times()[-1] == str(DAYS[-1])


@pytest.mark.parametrize("step", ["0.001", "100"])
def test_times_keep_their_digits(tmp_path, step):
    """Milliseconds since 1970 differ in the thirteenth digit; ten rows a second have one second in common."""
    base = 1700000000412 if step == "100" else 1700000000.4
    rows = [f"{base + k * float(step):.13g},{k % 5}" for k in range(30)]
    series = read_table(write(tmp_path, lines("time,x", *rows)))
    assert len(set(series.times())) == 30
    assert float(series.times()[7]) == pytest.approx(base + 7 * float(step), rel=1e-13)


def test_wall_clocks_of_one_offset(tmp_path):
    stamps = [f"2024-01-01T{k:02d}:00:00+01:00" for k in range(20)]
    series = read_table(write(tmp_path, lines("time,x", *(f"{stamp},{k % 3}" for k, stamp in enumerate(stamps)))))
    assert series.times()[0].startswith("2024-01-01T00:00:00")


def test_a_column_of_times_does_not_become_data(tmp_path):
    refused(tmp_path, lines("t,x", "0,1", "1,2", "1,3", "2,5", "3,4"), "t")
    refused(tmp_path, lines("date,x", "2024-01-01,1", ",2", "2024-01-03,3", "2024-01-04,5"), "date")
    pandas = read_table(write(tmp_path, lines(",date,x", *(f"{k},{day},{k * k % 7}" for k, day in enumerate(DAYS)))))
    assert pandas.names == ("x",) and pandas.times()[0] == str(DAYS[0])


def test_line_ends_of_old_macintoshes(tmp_path):
    assert len(read_table(write(tmp_path, "t,x\r0,1\r1,4\r2,2\r3,5\r"))) == 4


def test_huge_numbers_are_refused_before_they_overflow(tmp_path):
    from attnflow.forecasting import study

    series = read_table(write(tmp_path, lines("t,x", *(f"{k},{1e200 * (k % 7)}" for k in range(80)))))
    with pytest.raises(InputError, match="above 1e100"):
        study(series, 4, 5)
