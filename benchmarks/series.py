"""Public series that statsmodels ships, forecast: `python -m benchmarks.series [--save]`, for docs/forecasting.md.

Nobody chose them to suit a forecaster. The persistence of the last value and the mean of the season may win, and do.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attnflow as af
from attnflow.forecasting import read_table, study

RESULT = Path(__file__).parent / "results" / "public-series.json"


def tables() -> Iterator[tuple[str, Any, int, int]]:
    """Name, pandas table, delays and horizon."""
    from statsmodels.datasets import co2, elnino, macrodata, sunspots

    yield "sunspots", sunspots.load_pandas().data, 22, 11
    years = elnino.load_pandas().data
    months = years.set_index("YEAR").stack().rename_axis(["year", "month"]).rename("temperature").reset_index()
    places = months.groupby("year").cumcount() + 1
    months.insert(0, "date", [f"{int(y)}-{k:02d}" for y, k in zip(months["year"], places, strict=True)])
    yield "El Niño", months[["date", "temperature"]], 24, 12
    yield "CO2 at Mauna Loa", co2.load_pandas().data.rename_axis("date").reset_index(), 104, 52
    quarters = macrodata.load_pandas().data
    quarters.insert(0, "time", quarters["year"] + (quarters["quarter"] - 1) / 4)
    yield "US interest, unemployment, inflation", quarters[["time", "tbilrate", "unemp", "infl"]], 8, 4


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.series", description=__doc__)
    parser.add_argument("--save", action="store_true", help=f"also write {RESULT.name} into benchmarks/results")
    arguments = parser.parse_args()
    af.precision("float64")
    record = []
    with tempfile.TemporaryDirectory() as folder:
        for name, table, delays, horizon in tables():
            table.to_csv(path := Path(folder) / "series.csv", index=False)
            made = study(read_table(path), delays, horizon)
            errors = {who: made.comparison.nrmse(who) for who in made.comparison.errors}
            row = {"series": name, "rows": len(made.series), "delays": delays, "horizon": horizon, "nrmse": errors}
            record.append({**row, "written": made.model, "network": made.has_network, "notes": made.notes})
            print(f"{name:38}", "  ".join(f"{who} {error:.3g}" for who, error in errors.items()), "->", made.model)
            print("   ", made.verdict, flush=True)
    if arguments.save:
        RESULT.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
