"""The claims of one experiment as a table."""

from typing import Any

from .text import e, number

# Each status has its own sign, word and colour, so that each of the three distinguishes them.
SIGNS = {"holds": "✓", "fails": "✗", "skipped": "–", "error": "!"}


def badge(status: str) -> str:
    return f'<span class="status {e(status)}"><b aria-hidden="true">{SIGNS.get(status, "?")}</b> {e(status)}</span>'


def is_observation(claim: dict[str, Any]) -> bool:
    """Whether its threshold is ours, so that it guards against change and confirms no theory."""
    return claim["provenance"] == "observation"


def claim_table(claims: list[dict[str, Any]]) -> str:
    """A row for every claim: its text, expected value, tolerance and measurement."""
    rows = "".join(_row(claim) for claim in claims)
    head = "<th>Verdict</th><th>Claim</th><th>Expected</th><th>Measured</th><th>Tolerance</th>"
    return f'<div class="wide"><table class="claims"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _row(claim: dict[str, Any]) -> str:
    many = any(isinstance(claim[k], list) and len(claim[k]) > 1 for k in ("expected", "measured"))
    note = f'<p class="note">{e(_capital(claim["note"]))}.</p>' if claim["note"] else ""
    what = (
        f'<p>{e(claim["statement"])}</p>{note}<p class="source">{e(claim["source"])} · {e(claim["provenance"])}'
        f' · <code id="{e(claim["id"])}">{e(claim["id"])}</code></p>'
    )
    relation = {"at_most": "≤ ", "at_least": "≥ "}.get(claim["kind"], "")
    listed = isinstance(claim["expected"], list) and many
    expected = f"{len(claim['expected'])} numbers" if listed else relation + number(_only(claim["expected"]))
    cells = f"<td>{badge(claim['status'])}</td><td>{what}{_entries(claim) if many else ''}</td>"
    cells += f"<td class=num>{expected}</td><td class=num>{_worst(claim) if many else _measured(claim)}"
    cells += f"{_deviation(claim)}</td><td class=num>{_tolerance(claim)}</td>"
    return f"<tr>{cells}</tr>"


def _only(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _digits(claim: dict[str, Any]) -> int:
    """An equality is read digit by digit; of a bound the first few say how far away it is."""
    return 10 if claim["kind"] == "equal" else 3


def _measured(claim: dict[str, Any]) -> str:
    value = number(_only(claim["measured"]), _digits(claim))
    return value if claim["stderr"] is None else f"{value} ± {number(_only(claim['stderr']), 2)}"


def _worst(claim: dict[str, Any]) -> str:
    """Of many measured numbers the one that decides."""
    values = claim["measured"]
    if not isinstance(values, list) or any(v is None or isinstance(v, list) for v in values):
        return "–"
    if claim["kind"] == "property":
        return f"true in {sum(values)} of {len(values)}"
    if claim["kind"] == "equal":
        return f"{len(values)} numbers"
    return number(max(values) if claim["kind"] == "at_most" else min(values), 3)


def _tolerance(claim: dict[str, Any]) -> str:
    if claim["kind"] == "property":
        return "–"
    tau = number(claim["tolerance"], 4)
    if not claim["tolerance"]:
        return "none"
    shown = {"abs": f"± {tau}", "rel": f"± {tau} relative", "sigma": f"{tau} σ", "factor": f"factor {tau}"}
    smallest = claim.get("detects")  # records of earlier versions have none
    if smallest is None:
        return shown[claim["tolerance_kind"]]
    least = min(smallest) if isinstance(smallest, list) else smallest
    return f'{shown[claim["tolerance_kind"]]}<p class="source">detects {number(least, 3)}</p>'


def _pairs(claim: dict[str, Any]) -> list[tuple[Any, Any]]:
    measured, expected = claim["measured"], claim["expected"]
    measured = measured if isinstance(measured, list) else [measured]
    expected = expected if isinstance(expected, list) else [expected] * len(measured)
    return list(zip(measured, expected, strict=False))


def _deviation(claim: dict[str, Any]) -> str:
    """The deviation of a measured number from an equality."""
    pairs = _pairs(claim)
    if claim["kind"] != "equal" or any(not isinstance(v, int | float) for pair in pairs for v in pair):
        return ""
    worst = max(abs(m - x) for m, x in pairs)
    return f'<p class="source">off by {"at most " if len(pairs) > 1 else ""}{number(float(worst), 2)}</p>'


def _entries(claim: dict[str, Any]) -> str:
    """Every entry of a list: what was measured, under what was expected."""
    both = isinstance(claim["expected"], list)
    columns = ""
    for measured, expected in _pairs(claim):
        above = f"<span>{number(expected)}</span>" if both else ""
        columns += f"<li>{above}<span>{number(measured, _digits(claim))}</span></li>"
    label = "<li><i>expected</i><i>measured</i></li>" if both else "<li><i>measured</i></li>"
    return f'<ul class="entries">{label}{columns}</ul>' if columns else ""


def _capital(text: str) -> str:
    return (text[:1].upper() + text[1:]).rstrip(".")
