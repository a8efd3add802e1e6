"""`python -m benchmarks` prints the speed table; benchmarks/README.md says how to read it."""

import platform

import jax
from rich.console import Console
from rich.table import Table

import attnflow as af

from .pair_sums import measure


def main() -> None:
    af.precision("float64")
    console = Console()
    table = Table(title="One softmax pair sum, float64: attnflow against plain NumPy")
    for column in ("tokens", "dimension", "compile once", "attnflow", "NumPy", "NumPy / attnflow"):
        table.add_column(column, justify="right")
    for n, d in ((256, 3), (1024, 3), (4096, 3), (256, 64), (1024, 64), (4096, 64)):
        with console.status(f"{n} tokens in dimension {d} ..."):
            t = measure(n, d)
        times = [f"{1e3 * seconds:.3g} ms" for seconds in (t.compile, t.library, t.plain)]
        table.add_row(str(n), str(d), *times, f"{t.ratio:.2f}")
    console.print(table)
    device = jax.devices()[0].device_kind
    console.print(f"jax {jax.__version__} on {device}, {platform.machine()}, Python {platform.python_version()}")


if __name__ == "__main__":
    main()
