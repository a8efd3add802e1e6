"""The report of `attnflow analyze`: pictures and tables of one text in one model, in one HTML file."""

import base64
import io
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import write_atomically
from .text import count, e, number

if TYPE_CHECKING:
    from ..language import Analysis

GROUPS = 12  # of the largest groups the text is shown
PIECES = 24  # tokens of a group that are shown


def write_analysis(analysis: "Analysis", path: Path) -> Path:
    """Write the report to `path`."""
    return write_atomically(path, analysis_page(analysis))


def analysis_page(analysis: "Analysis") -> str:
    """The report as text."""
    style = resources.files(__package__ or "attnflow.report").joinpath("style.css").read_text()
    summary = analysis.summary()
    title = f"{summary['model']}: {count(summary['tokens'], 'token')} through {count(summary['layers_run'], 'layer')}"
    figures = "".join(_figure(*drawn) for drawn in analysis.figures().values())
    changes = f"<p>Changed: {e(summary['changes'])}.</p>" if summary["changes"] else ""
    limits = "".join(
        f'<p class="differs">{e(sentence[:1].upper() + sentence[1:])}.</p>' for sentence in analysis.limits
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>attnflow: {e(title)}</title>
<style>
{style}
</style>
</head>
<body>
<header>
<p class="kicker">attnflow · tokens through the layers of a real model</p>
<h1>{e(title)}</h1>
<p>Family {e(summary["family"])}, {count(summary["depth"], "layer")}, computed in {e(summary["dtype"])}; files with
SHA-256 <code>{e(summary["weights"][:16])}</code>.</p>
{changes}
{limits}
</header>
<main>
{figures}
<h2>Layers</h2>
{_layers(summary)}
<h2>Groups at the end</h2>
{_groups(summary)}
</main>
</body>
</html>
"""


def _figure(figure: Any, caption: str) -> str:
    from ..plot import style

    data = io.BytesIO()
    with style():
        figure.savefig(data, format="png", dpi=160)
    source = f"data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}"
    return f'<figure><img src="{source}" alt="{e(caption)}"><figcaption>{e(caption)}</figcaption></figure>'


def _layers(summary: Mapping[str, Any]) -> str:
    names = {
        "layer": "Layer",
        "clusters": "Groups",
        "mean_cosine": "Mean cosine",
        "effective_rank": "Effective rank",
        "participation_ratio": "Participation ratio",
        "median_norm": "Median norm",
        "largest_norm": "Largest norm",
        "moved": "Moved",
    }
    head = "".join(f"<th>{name}</th>" for name in names.values()) + "<th>Most attention to</th>"
    body = ""
    for row in summary["layers"]:
        cells = "".join(f"<td class=num>{number(row[name], 3)}</td>" for name in names)
        leaders = ", ".join(f"{e(one['piece'])!s} {one['received']:.0%}" for one in row["leaders"][:3])
        body += f"<tr>{cells}<td>{leaders}</td></tr>"
    return f'<div class="wide"><table class="cells"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _groups(summary: Mapping[str, Any]) -> str:
    rows = ""
    several = [group for group in summary["groups_at_the_end"] if len(group["pieces"]) > 1]
    if not several:
        return f"<p>No two tokens are linked at the distance {summary['eps']:g}.</p>"
    for group in several[:GROUPS]:
        pieces = " · ".join(e(piece) for piece in group["pieces"][:PIECES])
        more = len(group["pieces"]) - PIECES
        pieces += f" · and {more} more" if more > 0 else ""
        rows += f"<tr><td class=num>{len(group['pieces'])}</td><td>{pieces}</td></tr>"
    head = "<th>Tokens</th><th>Text</th>"
    return f'<div class="wide"><table class="cells"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
