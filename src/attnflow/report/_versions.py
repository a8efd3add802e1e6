"""Which versions computed each cell, and which judged: one line where they agree, else what differs."""

from collections.abc import Mapping
from typing import Any

from .text import count, e

Versions = Mapping[str, str]


def listed(versions: Versions) -> str:
    """`python 3.11.2, jax 0.10.1, …`"""
    return ", ".join(f"{e(name)} {e(version)}" for name, version in versions.items())


def differing(then: Versions, now: Versions) -> str:
    """The differences: `jax 0.9.0 (now 0.10.1)`; empty where everything is."""
    names = [name for name in {**now, **then} if then.get(name) != now.get(name)]
    return ", ".join(f"{e(name)} {e(then.get(name, 'none'))} (now {e(now.get(name, 'none'))})" for name in names)


def computed_with(cell: Mapping[str, Any], now: Versions) -> str:
    """How the versions that computed a cell differ from those that judged it."""
    if "versions" not in cell:  # a record of an earlier release
        return "versions not recorded"
    return differing(cell["versions"], now) if cell["versions"] else ""  # a cell that crashed has none


def statement(record: Mapping[str, Any]) -> str:
    """One sentence for all cells, and a warning for those that other versions computed."""
    now = record["versions"]
    others = [note for cell in record["cells"] if (note := computed_with(cell, now))]
    if not others:
        return f"<p>Computed and judged with {listed(now)}.</p>"
    groups = "; ".join(f"{count(others.count(note), 'cell')}: {note}" for note in dict.fromkeys(others))
    return (
        f"<p>Judged with {listed(now)}.</p>"
        f'<p class="differs"><b>{len(others)} of {count(len(record["cells"]), "cell")} computed by other versions.</b>'
        f" {groups}.</p>"
    )


def outdated(record: Mapping[str, Any], present: Mapping[str, Versions]) -> str:
    """A warning where the verdicts were reached with other versions than those present now."""
    note = differing(record["versions"], present[record["id"]]) if record["id"] in present else ""
    if not note:
        return ""
    return f'<p class="differs"><b>Judged with other versions than the present ones.</b> {note}; run it again.</p>'
