"""`python -m benchmarks [--save NAME]` prints the speed table; benchmarks/README.md says how to read it."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import attnflow as af
from attnflow.pairsums.native_library import native

from . import ensembles, explorer, profile, spectral, systems
from .machine import ceilings, description
from .timing import race

Case = tuple[str, dict[str, Callable[[], object]], float, float]


def cases() -> Iterator[Case]:
    """Name, contestants, pairs and compile seconds of each piece of work."""
    af.precision("float32")  # as who wants float32 would have it; the others draw in float32, too
    for d, realizations in profile.REALIZATIONS.items():
        yield f"ensemble n=32 d={d} float32", *ensembles.contestants(d, realizations, steps=300)
    af.precision("float64")
    for d in (3, 64):
        for dtype in ("float32", "float64"):
            yield f"one system n=8192 d={d} {dtype}", *systems.contestants(8192, d, dtype)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--save", metavar="NAME", help="also write benchmarks/results/NAME.json")
    arguments = parser.parse_args()
    console = Console() if sys.stdout.isatty() else Console(width=120)  # a file is not cut to a screen
    table = Table(title="attnflow, and how many times faster it is than others")
    for column in ("work", "Gpair/s", "of exp", "compile"):
        table.add_column(column, justify="left" if column == "work" else "right", no_wrap=True)
    rivals = ["NumPy", "PyTorch eager", "torch SDPA", "KeOps"]
    for rival in rivals:
        table.add_column(rival.split()[-1], justify="right", no_wrap=True)
    af.precision("float64")
    record: dict[str, Any] = {"machine": description(), "ceilings": ceilings(), "cases": []}
    for name, contestants, pairs, compile_seconds in cases():
        with console.status(f"{name} ..."):
            best = race(contestants)
        rate = {who: pairs / seconds / 1e9 for who, seconds in best.items()}
        exp_rate = record["ceilings"][f"exp {name.split()[-1]}"]
        ratios = {who: rate["attnflow"] / rate[who] for who in rivals if who in rate}
        record["cases"].append({"work": name, "gpairs": rate, "ratios": ratios, "compile_seconds": compile_seconds})
        shown = [f"{ratios[who]:.1f}x" if who in ratios else "-" for who in rivals]
        table.add_row(
            name, f"{rate['attnflow']:.2f}", f"{rate['attnflow'] / exp_rate:.0%}", f"{compile_seconds:.1f} s", *shown
        )
    console.print(table)
    af.precision("float32")
    record["profile"] = {"native": native().reason, "exponentials": (exponentials := profile.exponentials())}
    console.print(f"A pair that is an exponential and little else: {exponentials:.2f} Gpair/s")
    for d in profile.REALIZATIONS:
        rates = profile.profile(d, exponentials, record["ceilings"]["multiply-add float32"])
        record["profile"][f"ensemble n=32 d={d}"] = rates
        console.print(f"ensemble n=32 d={d}, Gpair/s: {', '.join(f'{who} {rate:.2f}' for who, rate in rates.items())}")
    af.precision("float64")
    record["spectral"] = []
    for case in spectral.results():
        record["spectral"].append(case)
        console.print(spectral.line(case))
    console.print(f"Spectral sums on the circle: seconds grow like n^{spectral.growth(record['spectral']):.2f}")
    console.print("Ceilings (G/s): " + ", ".join(f"{k} {v:.2f}" for k, v in record["ceilings"].items()))
    console.print(", ".join(f"{k} {v}" for k, v in record["machine"].items()))
    with console.status("the page ..."):
        record["page"] = explorer.measure()
    for name, numbers in record["page"].items():
        console.print(f"{name}: {explorer.summary(numbers)}")
    if arguments.save:
        path = Path(__file__).parent / "results" / f"{arguments.save}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(record, indent=1) + "\n")
        console.print(f"written: {path}")


if __name__ == "__main__":
    main()
