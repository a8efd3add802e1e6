"""The claims of one experiment as a table."""

from typing import Any

from ._text import e, number

# Each status has its own sign, word and colour, so that none of the three is needed to tell them apart.
SIGNS = {"holds": "✓", "fails": "✗", "skipped": "–", "error": "!"}


def badge(status: str) -> str:
    return f'<span class="status {e(status)}"><b aria-hidden="true">{SIGNS.get(status, "?")}</b> {e(status)}</span>'


def claim_table(claims: list[dict[str, Any]]) -> str:
    """What was claimed, expected, allowed and measured."""
    rows = "".join(_row(claim) for claim in claims)
    head = "<th>Verdict</th><th>Claim</th><th>Expected</th><th>Measured</th><th>Tolerance</th>"
    return f'<div class="wide"><table class="claims"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _row(claim: dict[str, Any]) -> str:
    many = any(isinstance(claim[k], list) and len(claim[k]) > 2 for k in ("expected", "measured"))
    note = f'<p class="note">{e(_capital(claim["note"]))}.</p>' if claim["note"] else ""
    what = (
        f'<p>{e(claim["statement"])}</p>{note}<p class="source">{e(claim["source"])} · {e(claim["provenance"])}'
        f' · <code id="{e(claim["id"])}">{e(claim["id"])}</code></p>'
    )
    relation = {"at_most": "≤ ", "at_least": "≥ "}.get(claim["kind"], "")
    expected = "below" if many and isinstance(claim["expected"], list) else relation + _inline(claim["expected"])
    measured = "below" if many else _measured(claim)
    cells = f"<td>{badge(claim['status'])}</td><td>{what}</td><td class=num>{expected}</td>"
    cells += f"<td class=num>{measured}{_deviation(claim)}</td><td class=num>{_tolerance(claim)}</td>"
    row = f'<tr class="{"first" if many else ""}">{cells}</tr>'
    return row + (f'<tr class="more"><td></td><td colspan=4>{_list(claim)}</td></tr>' if many else "")


def _inline(value: Any) -> str:
    return ", ".join(map(number, value)) if isinstance(value, list) else number(value)


def _measured(claim: dict[str, Any]) -> str:
    value = _inline(claim["measured"])
    return value if claim["stderr"] is None else f"{value} ± {_short(claim['stderr'])}"


def _short(value: Any) -> str:
    return ", ".join(number(v, 2) for v in value) if isinstance(value, list) else number(value, 2)


def _tolerance(claim: dict[str, Any]) -> str:
    if claim["kind"] == "property":
        return "–"
    tau = number(claim["tolerance"], 4)
    if not claim["tolerance"]:
        return "none"
    return {"abs": f"± {tau}", "rel": f"± {tau} relative", "sigma": f"{tau} σ", "factor": f"factor {tau}"}[
        claim["tolerance_kind"]
    ]


def _pairs(claim: dict[str, Any]) -> list[tuple[Any, Any]]:
    measured, expected = claim["measured"], claim["expected"]
    measured = measured if isinstance(measured, list) else [measured]
    expected = expected if isinstance(expected, list) else [expected] * len(measured)
    return list(zip(measured, expected, strict=False))


def _deviation(claim: dict[str, Any]) -> str:
    """How far off an equality is: the number a careful reader would compute."""
    pairs = _pairs(claim)
    if claim["kind"] != "equal" or any(not isinstance(v, int | float) for pair in pairs for v in pair):
        return ""
    worst = max(abs(m - x) for m, x in pairs)
    return f'<p class="source">off by {"at most " if len(pairs) > 1 else ""}{number(float(worst), 2)}</p>'


def _list(claim: dict[str, Any]) -> str:
    """Long lists, one column for each entry."""
    rows = []
    if isinstance(claim["expected"], list):
        rows.append(("expected", claim["expected"]))
    if isinstance(claim["measured"], list):
        rows.append(("measured", claim["measured"]))
    body = "".join(
        f"<tr><th>{name}</th>" + "".join(f"<td>{_inline(v)}</td>" for v in values) + "</tr>" for name, values in rows
    )
    return f'<div class="wide"><table class="entries">{body}</table></div>'


def _capital(text: str) -> str:
    return (text[:1].upper() + text[1:]).rstrip(".")
