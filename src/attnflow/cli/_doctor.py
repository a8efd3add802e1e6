"""`attnflow doctor`."""

import json
from typing import Annotated, Any

import typer


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
) -> None:
    """Check the installation: versions, devices, precision, pair sums against NumPy, extras, cache.

    Leaves with 0 if all is well and with 1 otherwise.

    Example: [bold]attnflow doctor[/bold]
    """
    from ..doctor import diagnose

    diagnosis = diagnose()
    if as_json:
        print(json.dumps(diagnosis.as_json(), indent=1))
    else:
        _show(diagnosis)
    if not diagnosis.ok:
        raise typer.Exit(1)


MARKS = {"ok": ("✓", "green"), "info": ("·", "dim"), "warning": ("!", "yellow"), "fails": ("✗", "bold red")}


def _show(diagnosis: Any) -> None:
    """One screen: the versions that are as they should be together, everything else on a line of its own."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=False)
    versions = [c for c in diagnosis.checks if c.section == "versions" and c.status == "ok"]
    console.print(f"{_mark('ok')} " + ", ".join(f"{c.name} {c.detail}" for c in versions))
    table = Table.grid(padding=(0, 1))
    section = ""
    for check in (c for c in diagnosis.checks if c not in versions):
        title = "" if check.section == section else f"[bold]{check.section}[/bold]"
        section = check.section
        # Why other engines are passed over takes a paragraph: it is in the JSON.
        detail = check.detail.split(";")[0] if check.section == "engines" else check.detail
        table.add_row(_mark(check.status), title, check.name, detail)
    console.print(table)
    bad = [check.name for check in diagnosis.checks if check.status == "fails"]
    verdict = "[bold red]Not well:[/bold red] " + ", ".join(bad) if bad else "[green]All is well.[/green]"
    console.print(f"{verdict} ({diagnosis.seconds:.1f} s)")


def _mark(status: str) -> str:
    symbol, colour = MARKS[status]
    return f"[{colour}]{symbol}[/{colour}]"
