"""The whole page."""

import base64
import shlex
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from ..experiments.parameters import described
from ..files import write_atomically
from ._claims import badge, claim_table, is_observation
from ._versions import Versions, computed_with, outdated, statement
from .references import references
from .text import count, e, number, seconds

LARGEST_SVG = 400_000  # bytes; a heavier drawing is embedded as pixels
NOTHING: Mapping[str, Versions] = {}


def write_report(
    root: Path, records: list[dict[str, Any]], present: Mapping[str, Versions] = NOTHING, left: Sequence[str] = ()
) -> Path:
    """Write `report.html` about these records (see `attnflow.experiments`) into the run folder `root`.

    `present` has, by the id of an experiment, the versions with which it would be judged now: verdicts that were
    reached with others are marked. Experiments that are `left` to do, by name, are listed at the top.
    """
    return write_atomically(root / "report.html", page(root, records, present, left))


def page(
    root: Path, records: list[dict[str, Any]], present: Mapping[str, Versions] = NOTHING, left: Sequence[str] = ()
) -> str:
    """The report as text."""
    style = resources.files(__package__ or "attnflow.report").joinpath("style.css").read_text()
    title = records[0]["title"] if len(records) == 1 else "The theory, checked with numbers"
    places = [""] if len(records) == 1 else map(str, range(1, len(records) + 1))
    old = [outdated(record, present) for record in records]
    sections = "\n".join(_section(root, *each) for each in zip(records, places, old, strict=True))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>attnflow report: {e(title)}</title>
<style>
{style}
</style>
</head>
<body>
<header>
<p class="kicker">attnflow · report of {_today()}</p>
<h1>{e(title)}</h1>
{_summary(records)}
{_not_present(old)}
{_unfinished(left)}
</header>
<main>
{_contents(records) if len(records) > 1 else ""}
{sections}
</main>
<footer>
<p>Every expected number comes from the theory or from an independent computation, but for observations: their
thresholds are ours, they guard against change and confirm no theory. The data behind this page lie
next to it, one NetCDF file for each computation; the figures are there as PNG and SVG.</p>
</footer>
</body>
</html>
"""


def _summary(records: list[dict[str, Any]]) -> str:
    statuses = Counter(claim["status"] for record in records for claim in record["claims"])
    judged = sum(statuses.values()) - statuses["skipped"]
    if not judged:
        verdict = "No claim was judged"
    elif statuses["holds"] < judged:
        verdict = f"{statuses['holds']} of {judged} claims hold"
    else:
        verdict = "All claims that were judged hold" if statuses["skipped"] else "All claims hold"
    tally = " ".join(f"{badge(s)} {statuses[s]}" for s in ("holds", "fails", "error", "skipped") if statuses[s])
    observed = sum(is_observation(claim) for record in records for claim in record["claims"])
    note = f" · {count(observed, 'observation')} among them" if observed else ""
    return f'<p class="verdict">{verdict}.</p><p class="tally">{tally}{note}</p>'


def _not_present(old: list[str]) -> str:
    """A warning beside the count of claims: some of them may not hold any more."""
    many = sum(map(bool, old))
    if not many:
        return ""
    note = f"{many} of {count(len(old), 'experiment')} judged with other versions than the present ones"
    return f'<p class="differs">{note}; run them again with <code>attnflow reproduce</code>.</p>'


def _unfinished(left: Sequence[str]) -> str:
    if not left:
        return ""
    return f'<p class="differs">Not finished when this page was written: {e(", ".join(left))}.</p>'


def _contents(records: list[dict[str, Any]]) -> str:
    rows = ""
    for record in records:
        link = f'<a href="#{e(record["name"])}">{e(record["title"])}</a>{_changed(record)}'
        held = sum(c["status"] == "holds" for c in record["claims"])
        judged = sum(c["status"] != "skipped" for c in record["claims"])
        status = _status(record)
        rows += (
            f"<tr><td>{badge(status)}</td><td>{link}</td>"
            f"<td class=num>{held} of {judged}</td><td class=num>{seconds(record['seconds'])}</td></tr>"
        )
    head = "<th>Verdict</th><th>Experiment</th><th>Claims that hold</th><th>Time</th>"
    return f'<nav><table class="contents"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></nav>'


def _changed(record: dict[str, Any]) -> str:
    """The parameters that are not those of the experiment."""
    text = ", ".join(f"{name} = {described(values)}" for name, values in record["parameters"].items())
    return f'<p class="note">With {e(text)}.</p>' if text else ""


def _status(record: dict[str, Any]) -> str:
    statuses = {c["status"] for c in record["claims"]} | ({"error"} if record["crash"] else set())
    return next((s for s in ("error", "fails", "holds") if s in statuses), "skipped")


def _section(root: Path, record: dict[str, Any], place: str, old: str) -> str:
    # The page of a single experiment has its title at the top.
    heading = f'<h2><span class="place">{place}</span> {e(record["title"])}</h2>' if place else ""
    crash = record["crash"]
    note = f'<p class="crash"><b>Not completed.</b> {e(crash["sentence"])}</p>' if crash else ""
    summary = f"<p>{e(record['summary'])}</p>" if record["summary"] else ""
    return f"""<section id="{e(record["name"])}">
{heading}
{_changed(record)}
{_references(record["paper"])}
{summary}
{note}
{old}
{_figures(root, record)}
<h3>Claims</h3>
{claim_table(record["claims"])}
{_computation(root, record)}
</section>"""


def _references(paper: str) -> str:
    lines = ""
    for r in references(paper):
        link = f'<a href="{e(r.url)}">{e(r.title)}</a>' if r.url else e(r.title)
        lines += f'<p class="reference">{e(r.authors)}. <cite>{link}</cite>. {e(r.place)}.</p>'
    return lines or f'<p class="reference">Paper: {e(paper)}</p>'


def _figures(root: Path, record: dict[str, Any]) -> str:
    shown = ""
    for i, figure in enumerate(record["figures"]):
        source = _embedded(root / record["name"] / "figures" / figure["name"])
        caption = figure["caption"]
        if source:
            shown += (
                f'<figure><img src="{source}" alt="{e(caption or figure["name"])}">'
                f"<figcaption><b>Figure {i + 1}.</b> {e(caption)}</figcaption></figure>"
            )
    return shown


def _embedded(stem: Path) -> str:
    svg, png = stem.with_suffix(".svg"), stem.with_suffix(".png")
    for path, kind in ((svg, "svg+xml"), (png, "png")):
        if path.is_file() and (path is png or path.stat().st_size <= LARGEST_SVG):
            return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
    return ""


def _computation(root: Path, record: dict[str, Any]) -> str:
    """Everything needed to do it again."""
    columns = list(dict.fromkeys(k for cell in record["cells"] for k in cell["parameters"] if k != "seed"))
    others = [computed_with(cell, record["versions"]) for cell in record["cells"]]
    head = "".join(f"<th>{e(name)}</th>" for name in columns) + "<th>seconds</th>"
    head += "<th>other versions</th>" if any(others) else ""
    rows = ""
    for cell, other in zip(record["cells"], others, strict=True):
        values = (cell["parameters"].get(name) for name in columns)
        rows += "<tr>" + "".join(f"<td>{'' if v is None else number(v)}</td>" for v in values)
        rows += f"<td class=num>{cell['seconds']:.2f}</td>" + (f"<td>{other}</td>" if any(others) else "") + "</tr>"
    folder = shlex.quote(str(root))  # as it was given
    changed = "".join(f" --set {name}={described(values, ',')}" for name, values in record["parameters"].items())
    run = f"attnflow reproduce {record['id']}{changed}"
    command = f"{run} --scale {record['scale']} --seed {record['seed']} --out {folder}"
    bibtex = "\n\n".join(r.bibtex for r in references(record["paper"]))
    cite = f"<details><summary>BibTeX</summary><pre>{e(bibtex)}</pre></details>" if bibtex else ""
    trace = record["crash"] and record["crash"]["traceback"]
    trace = f"<details><summary>Traceback</summary><pre>{e(trace)}</pre></details>" if trace else ""
    return f"""<h3>Computation</h3>
<p>{count(len(record["cells"]), "cell")} in {seconds(record["seconds"])}, at scale <em>{e(record["scale"])}</em>, seed
{e(record["seed"])}, {e(record["dtype"])}.</p>
{statement(record)}
<p>To run it again:</p>
<pre>{e(command)}</pre>
<details><summary>Parameters and time of each cell</summary>
<div class="wide"><table class="cells"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>
{cite}
{trace}"""


def _today() -> str:
    return f"{time.localtime().tm_mday} {time.strftime('%B %Y')}"
